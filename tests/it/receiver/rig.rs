//! One receiver per test, and requests as a client writes them on the wire.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use aws_lc_rs::hmac;
use chrono::TimeDelta;
use redeliverd::{
    clock::SystemClock,
    config::{self, Credential},
    domain::{
        filter::Filter,
        ids::{Guid, HookName},
        policy::{Policy, Repair, Trust},
    },
    receiver::Receiver,
    store::{Store, types::StoredReceipt},
    telemetry::Metrics,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::support::backends::{self, Backend};

/// GitHub's published example of a secret (GITHUB.md section 5).
pub const SECRET: &str = "It's a Secret to Everybody";

/// The longest that any answer is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// A receiver that serves until the test ends.
pub struct Rig {
    pub address: SocketAddr,
    pub backend: Backend,
    pub store: Store,
    pub metrics: Arc<Metrics>,
    pub receiver: Arc<Receiver>,
}

/// A hook at a path, with the defaults of the configuration.
pub fn hook(name: &str, path: &str, secrets: &[&str]) -> config::Hook {
    config::Hook {
        name: HookName::new(name).unwrap(),
        api: config::Api {
            base: "https://api.github.com".parse().unwrap(),
            credential: Credential::App { issuer: "1".to_owned(), private_key: "not used".into() },
        },
        path: path.to_owned(),
        secrets: secrets.iter().map(|secret| (*secret).into()).collect(),
        allow_sha1: false,
        first_run: TimeDelta::zero(),
        forward: None,
        policy: Policy {
            trust: Trust::Receipt,
            repair: Repair::Redeliver,
            filter: Filter::default(),
            window: TimeDelta::days(3),
            settle: TimeDelta::seconds(30),
            confirm_within: TimeDelta::minutes(10),
            backoff: vec![TimeDelta::minutes(1)],
            max_redeliveries: 8,
            probes: 3,
            max_requests: 500,
        },
    }
}

/// The defaults of the configuration.
pub fn settings() -> config::Receiver {
    config::Receiver {
        listen: ([127, 0, 0, 1], 0).into(),
        max_body: 26_214_400,
        max_bodies_in_flight: 268_435_456,
        head_timeout: Duration::from_secs(10),
        body_timeout: Duration::from_secs(10),
    }
}

impl Rig {
    /// One hook `ci` at `/webhook`.
    pub async fn new() -> Self {
        Self::with(&settings(), &[hook("ci", "/webhook", &[SECRET])]).await
    }

    pub async fn with(settings: &config::Receiver, hooks: &[config::Hook]) -> Self {
        Self::on(backends::sqlite(), settings, hooks).await
    }

    pub async fn on(backend: Backend, settings: &config::Receiver, hooks: &[config::Hook]) -> Self {
        let store = backend.open().await;
        let metrics = Arc::new(Metrics::default());
        let receiver = Arc::new(Receiver::new(
            settings,
            hooks,
            store.clone(),
            Arc::clone(&metrics),
            Arc::new(SystemClock),
        ));
        let listener = TcpListener::bind(settings.listen).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (soft, hard) = (CancellationToken::new(), CancellationToken::new());
        tokio::spawn(Arc::clone(&receiver).serve(listener, soft, hard));
        Self { address, backend, store, metrics, receiver }
    }

    pub async fn send(&self, post: &Post) -> Answer {
        self.raw(&post.bytes()).await
    }

    /// Writes everything, then reads until the receiver closes.
    pub async fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        Answer::read(&mut stream).await
    }

    pub async fn receipt(&self, hook: &str, guid: &str) -> Option<StoredReceipt> {
        let (hook, guid) = (HookName::new(hook).unwrap(), Guid::new(guid).unwrap());
        self.store.receipt(&hook, &guid).await.unwrap()
    }
}

/// One request; the connection is to be closed after its answer.
#[derive(Clone)]
pub struct Post {
    pub method: &'static str,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Post {
    /// Signed with [`SECRET`], as GitHub sends it.
    pub fn new(guid: &str, event: &str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let headers = [
            ("Content-Type", "application/json"),
            ("User-Agent", "GitHub-Hookshot/0a1b2c3"),
            ("X-GitHub-Delivery", guid),
            ("X-GitHub-Event", event),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Self { method: "POST", target: "/webhook".to_owned(), headers, body }.signed(SECRET)
    }

    pub fn signed(self, secret: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let tag = hex::encode(hmac::sign(&key, &self.body));
        self.header("X-Hub-Signature-256", &format!("sha256={tag}"))
    }

    /// Sets a header.
    pub fn header(self, name: &str, value: &str) -> Self {
        let mut post = self.without(name);
        post.headers.push((name.to_owned(), value.to_owned()));
        post
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    pub fn to(mut self, target: &str) -> Self {
        target.clone_into(&mut self.target);
        self
    }

    /// The head without its last, empty line and without a length.
    pub fn head(&self) -> String {
        let Self { method, target, .. } = self;
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n");
        for (name, value) in &self.headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        head
    }

    pub fn bytes(&self) -> Vec<u8> {
        let length = self.body.len();
        let mut bytes = format!("{}Content-Length: {length}\r\n\r\n", self.head()).into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// The body in chunks of so many bytes, its length not declared.
    pub fn chunked(&self, size: usize) -> Vec<u8> {
        let mut bytes = format!("{}Transfer-Encoding: chunked\r\n\r\n", self.head()).into_bytes();
        for chunk in self.body.chunks(size) {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    }
}

/// One complete response; status 0: closed without one.
#[derive(Debug, Default)]
pub struct Answer {
    pub status: u16,
    head: String,
    pub body: String,
}

impl Answer {
    /// Reads until the end of the connection, and checks that the body is as long as declared.
    pub async fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("an end").unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            assert_eq!(text, "", "half an answer");
            return Self::default();
        };
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let answer = Self { status, head: head.to_ascii_lowercase(), body: body.to_owned() };
        assert_eq!(answer.header("content-length"), Some(body.len().to_string().as_str()));
        answer
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find_map(|(known, value)| (known == name).then_some(value))
    }

    /// Status and body.
    pub fn told(&self) -> (u16, &str) {
        (self.status, &self.body)
    }
}

pub const ACCEPTED: (u16, &str) = (202, r#"{"status":"accepted"}"#);
