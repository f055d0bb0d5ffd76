//! An application that takes events over, answers as it is told, and remembers what it got.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use tokio::{net::TcpListener, sync::Semaphore};

/// One request that the application got, whole.
#[derive(Debug, Clone)]
pub struct Handed {
    pub at: Instant,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Handed {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub fn guid(&self) -> &str {
        self.header("x-github-delivery")
    }
}

/// How the application answers.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
    pub after: Duration,
}

impl Answer {
    pub fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: String::new(), after: Duration::ZERO }
    }
}

type Rule = dyn Fn(usize, &Handed) -> Answer + Send + Sync;

/// The application; cheap to clone.
#[derive(Clone)]
pub struct Application {
    inner: Arc<Inner>,
}

struct Inner {
    address: SocketAddr,
    handed: Mutex<Vec<Handed>>,
    rule: Mutex<Arc<Rule>>,
    /// Requests wait here while the application is held.
    gate: Semaphore,
    open: AtomicUsize,
    most: AtomicUsize,
}

impl Application {
    /// An application that takes everything.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let inner = Inner {
            address: listener.local_addr().unwrap(),
            handed: Mutex::default(),
            rule: Mutex::new(Arc::new(|_, _| Answer::status(200))),
            gate: Semaphore::new(1_000_000),
            open: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        };
        let application = Self { inner: Arc::new(inner) };
        let router = Router::new().fallback(take).with_state(application.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        application
    }

    pub fn url(&self) -> String {
        format!("http://{}/events", self.inner.address)
    }

    /// From now on it answers as `rule` says, of the number of requests before it and the request.
    pub fn answers(&self, rule: impl Fn(usize, &Handed) -> Answer + Send + Sync + 'static) {
        *self.inner.rule.lock().unwrap() = Arc::new(rule);
    }

    /// From now on it answers nobody, until [`Application::release`].
    pub fn hold(&self) {
        self.inner.gate.forget_permits(1_000_000);
    }

    pub fn release(&self) {
        self.inner.gate.add_permits(1_000_000);
    }

    /// All it got, in order.
    pub fn handed(&self) -> Vec<Handed> {
        self.inner.handed.lock().unwrap().clone()
    }

    /// How often it got each GUID.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for handed in self.handed() {
            *counts.entry(handed.guid().to_owned()).or_default() += 1;
        }
        counts
    }

    /// The most requests that were open at one moment.
    pub fn most_at_once(&self) -> usize {
        self.inner.most.load(Ordering::SeqCst)
    }
}

struct Closed<'a>(&'a AtomicUsize);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn take(
    State(application): State<Application>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let inner = &application.inner;
    let open = inner.open.fetch_add(1, Ordering::SeqCst) + 1;
    // Also when the client is killed and this future is dropped.
    let _closed = Closed(&inner.open);
    inner.most.fetch_max(open, Ordering::SeqCst);
    let handed = Handed { at: Instant::now(), path: uri.path().to_owned(), headers, body };
    let rule = Arc::clone(&inner.rule.lock().unwrap());
    let before = {
        let mut all = inner.handed.lock().unwrap();
        all.push(handed.clone());
        all.len() - 1
    };
    let answer = rule(before, &handed);
    if !answer.after.is_zero() {
        tokio::time::sleep(answer.after).await;
    }
    drop(inner.gate.acquire().await);
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap();
    for (name, value) in answer.headers {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response.into_response()
}
