//! Connections to the admin listener: how many, how slow, how old.

use std::{pin::pin, sync::Arc, time::Duration};

use axum::Router;
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    time::sleep,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;

use crate::connections::{Admitted, Connections};

/// Connections open at once; for one more the one goes that has waited for its client the longest.
const MAX_CONNECTIONS: usize = 64;

/// How long a request head may take, also on a connection that was used before.
const HEAD: Duration = Duration::from_secs(10);

/// The longest request head.
const MAX_HEAD: usize = 32 * 1024;

/// How old a connection gets before it is asked to end with its next answer, and how long it may
/// still take then. Together more than the longest request.
const MAX_AGE: Duration = Duration::from_mins(10);
const LAST_REQUEST: Duration = Duration::from_mins(31);

/// After a failed accept: out of file descriptors or memory, which does not pass at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `soft`, then finishes the requests in hand. Returns when every connection is
/// closed.
pub(super) async fn serve(listener: TcpListener, router: Router, soft: CancellationToken) {
    let (tasks, connections) = (TaskTracker::new(), Connections::new(MAX_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            biased;
            () = soft.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            // Without a place the stream is dropped here: closed.
            Ok((stream, _peer)) => {
                if let Some(admitted) = connections.admit() {
                    let connections = Arc::clone(&connections);
                    let (router, soft) = (router.clone(), soft.clone());
                    tasks.spawn(connection(stream, router, connections, admitted, soft));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "an admin connection could not be accepted");
                connections.make_room();
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
}

async fn connection(
    stream: TcpStream,
    router: Router,
    connections: Arc<Connections>,
    admitted: Admitted,
    soft: CancellationToken,
) {
    let place = &admitted.place;
    let service = service_fn(|mut request: Request<Incoming>| {
        // For whoever reads the body: only with it is the request complete.
        request.extensions_mut().insert(Arc::clone(place));
        let (connections, answer) = (&connections, router.clone().oneshot(request));
        async move {
            let answer = answer.await;
            connections.answered(place);
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    // How a connection ends, and whether in order, is the client's affair.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = place.evicted.cancelled() => return,
        () = soft.cancelled() => {}
        () = sleep(MAX_AGE) => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        _ = connection => {}
        () = place.evicted.cancelled() => {}
        () = sleep(LAST_REQUEST) => {}
    }
}
