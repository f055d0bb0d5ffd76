//! A server that answers from a script, one connection at a time, and remembers what it was asked.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// What to do with one request.
pub(super) enum Reply {
    /// Bytes to write before closing.
    Bytes(Vec<u8>),
    /// Bytes to write; the next request is expected on the same connection.
    KeepAlive(Vec<u8>),
    /// Close without a word.
    Hangup,
    /// Keep the connection open and say nothing.
    Silence,
}

/// A whole answer.
pub(super) fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
    let headers: String =
        headers.iter().flat_map(|(name, value)| [name, ": ", value, "\r\n"]).collect();
    let length = body.len();
    Reply::Bytes(
        format!(
            "HTTP/1.1 {status} X\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        )
        .into_bytes(),
    )
}

/// What one request said.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) line: String,
    headers: Vec<(String, String)>,
}

impl Asked {
    /// Every value of a header.
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }
}

pub(super) struct Server {
    /// `http://127.0.0.1:port`
    pub(super) origin: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// `script` is given the origin, for links. Requests beyond the script get a 599.
    pub(super) async fn start(script: impl FnOnce(&str) -> Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let mut script = VecDeque::from(script(&origin));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut silent = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                while let Some(request) = read_head(&mut stream).await {
                    log.lock().unwrap().push(request);
                    match script.pop_front().unwrap_or_else(|| reply(599, &[], "unscripted")) {
                        Reply::KeepAlive(bytes) => {
                            stream.write_all(&bytes).await.unwrap();
                            continue;
                        }
                        Reply::Bytes(bytes) => stream.write_all(&bytes).await.unwrap(),
                        Reply::Hangup => {}
                        Reply::Silence => silent.push(stream),
                    }
                    break;
                }
            }
        });
        Self { origin, asked }
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The request lines without the protocol version.
    pub(super) fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.line).collect()
    }
}

async fn read_head(stream: &mut TcpStream) -> Option<Asked> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let line = lines.next().unwrap().strip_suffix(" HTTP/1.1").unwrap().to_owned();
    let headers = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Some(Asked { line, headers })
}
