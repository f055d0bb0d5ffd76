//! The application of the story: takes what is handed over, and notes it by idempotency key.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aws_lc_rs::digest::{SHA256, digest};
use axum::{Router, extract::State, http::HeaderMap, http::StatusCode};
use bytes::Bytes;
use serde::Serialize;
use tokio::{net::TcpListener, task::JoinHandle};

/// Of so many new events one is refused at first, as by an application that is busy.
const BUSY: u32 = 10;

/// A loopback application; dropping it ends it. Like the simulated GitHub it outlives the daemon.
#[derive(Debug)]
pub(super) struct Application {
    pub(super) address: SocketAddr,
    books: Books,
    task: JoinHandle<()>,
}

type Books = Arc<Mutex<Taken>>;

#[derive(Debug, Default)]
struct Taken {
    /// By idempotency key: the digest of the bytes that were taken first.
    events: BTreeMap<String, Vec<u8>>,
    /// Keys that were refused once.
    refused: BTreeSet<String>,
    seen: u32,
    requests: u32,
    repeated: u32,
}

/// What reached the application.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HandedOver {
    /// Different idempotency keys: what an application that minds them has acted upon.
    pub events: u32,
    /// Requests in all.
    pub requests: u32,
    /// Requests that it refused at first, to get them again.
    pub refused: u32,
    /// Requests with a key that it had taken before; it did not act upon them.
    pub repeated: u32,
}

impl Application {
    pub(super) async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let books = Books::default();
        let router = Router::new().fallback(take).with_state(Arc::clone(&books));
        let task = tokio::spawn(async move {
            // It ends only by being dropped.
            let _ended = axum::serve(listener, router).await;
        });
        Ok(Self { address, books, task })
    }

    pub(super) fn handed_over(&self) -> HandedOver {
        let taken = lock(&self.books);
        HandedOver {
            events: u32::try_from(taken.events.len()).unwrap_or(u32::MAX),
            requests: taken.requests,
            refused: u32::try_from(taken.refused.len()).unwrap_or(u32::MAX),
            repeated: taken.repeated,
        }
    }

    /// Whether the event with this key was taken, with exactly these bytes.
    pub(super) fn took(&self, key: &str, body: &[u8]) -> bool {
        lock(&self.books).events.get(key).is_some_and(|known| known == digest_of(body).as_slice())
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn take(State(books): State<Books>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let key = headers.get("idempotency-key").and_then(|value| value.to_str().ok());
    let Some(key) = key.map(str::to_owned) else { return StatusCode::BAD_REQUEST };
    let mut taken = lock(&books);
    taken.requests += 1;
    if taken.events.contains_key(&key) {
        taken.repeated += 1;
        return StatusCode::OK;
    }
    if !taken.refused.contains(&key) {
        taken.seen += 1;
        if taken.seen.is_multiple_of(BUSY) {
            taken.refused.insert(key);
            return StatusCode::SERVICE_UNAVAILABLE;
        }
    }
    taken.events.insert(key, digest_of(&body));
    StatusCode::OK
}

fn digest_of(body: &[u8]) -> Vec<u8> {
    digest(&SHA256, body).as_ref().to_vec()
}

fn lock(books: &Books) -> MutexGuard<'_, Taken> {
    books.lock().unwrap_or_else(PoisonError::into_inner)
}
