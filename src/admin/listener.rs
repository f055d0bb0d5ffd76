//! Connections to the admin listener: how many, how slow, how old.

use std::{pin::pin, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::sleep,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Connections open at once; more wait in the kernel. A client that says nothing gives its place
/// back after [`HEAD`].
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
    let (tasks, places) = (TaskTracker::new(), Arc::new(Semaphore::new(MAX_CONNECTIONS)));
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await.ok()?;
            Some((listener.accept().await, place))
        };
        let (accepted, place) = tokio::select! {
            biased;
            () = soft.cancelled() => break,
            Some(accepted) = accepted => accepted,
            else => break,
        };
        match accepted {
            Ok((stream, _peer)) => {
                let served = connection(stream, router.clone(), soft.clone());
                tasks.spawn(async move {
                    served.await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "an admin connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
}

async fn connection(stream: TcpStream, router: Router, soft: CancellationToken) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    // How a connection ends, and whether in order, is the client's affair.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = soft.cancelled() => {}
        () = sleep(MAX_AGE) => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        _ = connection => {}
        () = sleep(LAST_REQUEST) => {}
    }
}
