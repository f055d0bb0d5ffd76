//! POST in, receipt on disk, 2xx out: the listener that GitHub's deliveries arrive at.
//!
//! Nothing the application does is in the path of an answer, and no 2xx leaves before the commit.

mod answer;
mod body;
mod head;
mod headers;
mod hook;
mod index;
mod record;
mod signature;
mod throttle;
mod webhook;

use std::{
    convert::Infallible,
    fmt,
    net::SocketAddr,
    pin::pin,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    body::{Budget, Limits},
    hook::Hooks,
    throttle::Throttle,
};
use crate::{
    clock::SharedClock,
    config,
    connections::{Admitted, Connections},
    store::Store,
    telemetry::Metrics,
};

/// Connections open at once. Below the usual 1,024 file descriptors of a process.
const MAX_CONNECTIONS: usize = 900;

/// The longest request head, and the largest piece a body is read in.
const MAX_HEAD: usize = 64 * 1024;

/// How old a connection gets before it is asked to end with its next answer.
const MAX_AGE: Duration = Duration::from_mins(10);

/// How long a connection may still take once it has been asked to end.
const LAST_REQUEST: Duration = Duration::from_mins(1);

/// After the word to stop: how long a connection may take to show a request already on its way.
const LATE_HEAD: Duration = Duration::from_millis(100);

/// The same for a connection that was made for a request which has not come yet.
const FIRST_HEAD: Duration = Duration::from_secs(1);

/// Connections that the kernel may have completed before the word to stop, on a socket of our own: its
/// queue's length. What else waits on an inherited one is left to whoever takes that over next.
const LATE_CONNECTIONS: usize = 1024;

/// After a failed accept: out of file descriptors or memory, which does not pass at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The receiver of all configured hooks.
pub struct Receiver {
    hooks: RwLock<Arc<Hooks>>,
    head_timeout: Duration,
    limits: Limits,
    budget: Arc<Budget>,
    connections: Arc<Connections>,
    store: Store,
    metrics: Arc<Metrics>,
    clock: SharedClock,
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Receiver {
    /// Prepares the receiver; nothing is accepted before [`serve`](Self::serve).
    pub fn new(
        settings: &config::Receiver,
        hooks: &[config::Hook],
        store: Store,
        metrics: Arc<Metrics>,
        clock: SharedClock,
    ) -> Self {
        Self {
            hooks: RwLock::new(Arc::new(Hooks::new(hooks, &metrics))),
            head_timeout: settings.head_timeout,
            limits: Limits { max: settings.max_body, within: settings.body_timeout },
            budget: Budget::new(settings.max_bodies_in_flight),
            connections: Connections::new(MAX_CONNECTIONS),
            store,
            metrics,
            clock,
        }
    }

    /// Takes new hooks (secrets, paths, filters) for the requests that begin from now on, without
    /// dropping a connection.
    pub fn reload(&self, hooks: &[config::Hook]) {
        let hooks = Arc::new(Hooks::new(hooks, &self.metrics));
        *self.hooks.write().unwrap_or_else(PoisonError::into_inner) = hooks;
    }

    fn hooks(&self) -> Arc<Hooks> {
        Arc::clone(&self.hooks.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Serves until `soft`, then stops accepting and finishes the requests in hand; `hard` drops
    /// those too. Returns when every connection is closed.
    pub async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        soft: CancellationToken,
        hard: CancellationToken,
    ) {
        let stop = Stop { soft, hard };
        let tasks = TaskTracker::new();
        let failures = Throttle::default();
        loop {
            let accepted = tokio::select! {
                biased;
                () = stop.asked() => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => self.admit(stream, peer, &stop, &tasks),
                Err(error) => {
                    if let Some(count) = failures.count(Instant::now()) {
                        tracing::error!(%error, count, "connections could not be accepted");
                    }
                    self.connections.make_room();
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        // What the kernel has already completed for us would be reset with the listener.
        for _ in 0..LATE_CONNECTIONS {
            let Ok(Ok((stream, peer))) = timeout(Duration::ZERO, listener.accept()).await else {
                break;
            };
            self.admit(stream, peer, &stop, &tasks);
        }
        drop(listener);
        tasks.close();
        tasks.wait().await;
    }

    fn admit(
        self: &Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        stop: &Stop,
        tasks: &TaskTracker,
    ) {
        // Without a place the stream is dropped here: closed.
        if let Some(admitted) = self.connections.admit() {
            tasks.spawn(Arc::clone(self).connection(stream, peer, admitted, stop.clone()));
        }
    }

    async fn connection(
        self: Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        admitted: Admitted,
        stop: Stop,
    ) {
        // Only slower without.
        let _ = stream.set_nodelay(true);
        let place = &admitted.place;
        let service = service_fn(|request| {
            let (receiver, place) = (&self, place);
            async move { Ok::<_, Infallible>(webhook::handle(receiver, place, peer, request).await) }
        });
        // Half-closed connections are served: the client may be done with sending, not with
        // waiting. It also means that a client that goes away does not undo the commit.
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.head_timeout)
            .half_close(true)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let dropped = async {
            tokio::select! {
                () = stop.hard.cancelled() => {}
                () = place.evicted.cancelled() => {}
            }
        };
        let mut dropped = pin!(dropped);
        // How a connection ends, and whether in order, is the client's affair.
        tokio::select! {
            biased;
            _ = connection.as_mut() => return,
            () = dropped.as_mut() => return,
            () = stop.asked() => {
                tokio::select! {
                    _ = connection.as_mut() => return,
                    () = dropped.as_mut() => return,
                    () = sleep(if place.is_fresh() { FIRST_HEAD } else { LATE_HEAD }) => {}
                }
            }
            () = sleep(MAX_AGE) => {}
        }
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            _ = connection.as_mut() => {}
            () = dropped => {}
            () = sleep(LAST_REQUEST) => {}
        }
    }
}

/// The two words to stop.
#[derive(Debug, Clone)]
struct Stop {
    soft: CancellationToken,
    hard: CancellationToken,
}

impl Stop {
    /// Until either is said.
    async fn asked(&self) {
        tokio::select! {
            () = self.soft.cancelled() => {}
            () = self.hard.cancelled() => {}
        }
    }
}
