//! A client that writes every byte itself, so that a test can send what no library would.

use aws_lc_rs::hmac::{self, HMAC_SHA1_FOR_LEGACY_USE_ONLY, HMAC_SHA256, Key};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::rig::{Rig, SECRET};

pub const GUID: &str = "72d3162e-cc78-11e3-81ab-4c9367dc0958";

/// One request, as GitHub would send it until a test changes it.
#[derive(Clone)]
pub struct Post {
    pub method: &'static str,
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    head: String,
    pub body: Vec<u8>,
}

pub fn sha256(secret: &str, body: &[u8]) -> String {
    let tag = hmac::sign(&Key::new(HMAC_SHA256, secret.as_bytes()), body);
    format!("sha256={}", hex::encode(tag))
}

pub fn sha1(secret: &str, body: &[u8]) -> String {
    let tag = hmac::sign(&Key::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret.as_bytes()), body);
    format!("sha1={}", hex::encode(tag))
}

impl Post {
    /// A signed JSON delivery to the first hook.
    pub fn new(guid: &str, event: &str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let headers = vec![
            ("Host", "hooks.example".to_owned()),
            ("User-Agent", "GitHub-Hookshot/0a1b2c3".to_owned()),
            ("Accept", "*/*".to_owned()),
            ("Content-Type", "application/json".to_owned()),
            ("X-GitHub-Delivery", guid.to_owned()),
            ("X-GitHub-Event", event.to_owned()),
            ("X-Hub-Signature-256", sha256(SECRET, &body)),
        ];
        Self { method: "POST", path: "/webhook".to_owned(), headers, body }
    }

    pub fn to(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub fn method(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    /// Replaces a header, or adds it.
    pub fn set(self, name: &'static str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// Adds a header, even if it is already there.
    pub fn and(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self
    }

    pub fn signed_with(self, secret: &str) -> Self {
        let signature = sha256(secret, &self.body);
        self.set("X-Hub-Signature-256", &signature)
    }

    /// The request up to the empty line, with these last headers.
    pub fn head(&self, last: &str) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        format!("{head}{last}\r\n").into_bytes()
    }

    /// The request as bytes, its length declared.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head(&format!("Content-Length: {}\r\n", self.body.len()));
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// The request as bytes, in chunks of this size.
    pub fn chunked(&self, size: usize) -> Vec<u8> {
        let mut bytes = self.head("Transfer-Encoding: chunked\r\n");
        for chunk in self.body.chunks(size) {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    }

    /// Sends it on a new connection, the whole of it before the answer is read.
    pub async fn send(&self, rig: &Rig) -> Reply {
        let mut stream = rig.connect().await;
        stream.write_all(&self.bytes()).await.unwrap();
        reply(&mut stream).await
    }
}

/// Reads one whole answer.
pub async fn reply(stream: &mut TcpStream) -> Reply {
    try_reply(stream).await.expect("a complete answer")
}

/// Reads one answer; `None` when the connection ends before it is complete.
pub async fn try_reply(stream: &mut TcpStream) -> Option<Reply> {
    let mut bytes = Vec::new();
    loop {
        if let Some(reply) = parse(&bytes) {
            return Some(reply);
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn parse(bytes: &[u8]) -> Option<Reply> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut reply = Reply { status, head, body: Vec::new() };
    let length: usize = reply.header("content-length").map_or(0, |text| text.parse().unwrap());
    reply.body = bytes.get(end..end + length)?.to_vec();
    Some(reply)
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let line =
            |line: &str| line.split_once(':').is_some_and(|(n, _)| n.eq_ignore_ascii_case(name));
        self.head.lines().find(|l| line(l)).and_then(|l| l.split_once(':')).map(|(_, v)| v.trim())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Status code and the word under `status` or `error`.
    pub fn words(&self) -> (u16, String) {
        let json = self.json();
        let word = json.get("status").or(json.get("error")).and_then(Value::as_str).unwrap();
        (self.status, word.to_owned())
    }
}

/// What `words` of a reply should be.
pub fn said(status: u16, word: &str) -> (u16, String) {
    (status, word.to_owned())
}
