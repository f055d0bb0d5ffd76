//! A server on loopback that keeps what it is sent and answers as told.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use tokio::net::TcpListener;

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Taken {
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
}

/// What is answered once, instead of 200.
#[derive(Debug, Clone, Copy)]
pub struct Refusal {
    pub code: u16,
    pub retry_after: Option<&'static str>,
}

#[derive(Debug, Default)]
struct Inside {
    taken: Vec<Taken>,
    refusals: VecDeque<Refusal>,
}

/// The server; stops with the test.
#[derive(Debug, Clone)]
pub struct Sink {
    pub url: String,
    inside: Arc<Mutex<Inside>>,
}

impl Taken {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }
}

impl Sink {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let inside = Arc::<Mutex<Inside>>::default();
        let app = Router::new().fallback(take).with_state(Arc::clone(&inside));
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, inside }
    }

    /// Answers the next requests so, one each.
    pub fn refuse(&self, refusals: impl IntoIterator<Item = Refusal>) {
        self.inside.lock().unwrap().refusals.extend(refusals);
    }

    /// Everything that came, refused or not.
    pub fn taken(&self) -> Vec<Taken> {
        self.inside.lock().unwrap().taken.clone()
    }

    /// What came on this path.
    pub fn at(&self, path: &str) -> Vec<Taken> {
        self.taken().into_iter().filter(|taken| taken.path == path).collect()
    }
}

async fn take(
    State(inside): State<Arc<Mutex<Inside>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mut inside = inside.lock().unwrap();
    inside.taken.push(Taken {
        path: uri.path().to_owned(),
        headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    });
    let Some(refusal) = inside.refusals.pop_front() else { return "ok".into_response() };
    let mut answer = StatusCode::from_u16(refusal.code).unwrap().into_response();
    if let Some(seconds) = refusal.retry_after {
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(seconds));
    }
    answer
}
