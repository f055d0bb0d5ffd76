//! The HTTP server of the simulated GitHub on a loopback listener.

use std::{convert::Infallible, io, sync::Arc};

use axum::{Router, extract::Request, response::Response};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::DropGuard;
use tower::ServiceExt;

use super::{
    api::{self, Api, Dropped},
    control,
    world::World,
};

/// A running simulated GitHub. Dropping it stops the server and all sending.
#[derive(Debug)]
pub struct SimulatedGithub {
    /// Where its API is, without trailing slash; ends in `/api/v3` for Enterprise Server.
    pub base_url: String,
    /// Where the server is: the control interface is under `/_sandbox` here.
    pub origin: String,
    /// The world it serves.
    pub world: World,
    _stop: DropGuard,
}

impl SimulatedGithub {
    /// Serves `world` on `listener`.
    ///
    /// # Errors
    /// When the listener has no address.
    pub fn start(world: World, listener: TcpListener) -> io::Result<Self> {
        let origin = format!("http://{}", listener.local_addr()?);
        let prefix = if world.0.settings.enterprise { "/api/v3" } else { "" };
        let base_url = format!("{origin}{prefix}");
        let api = Api { world: world.clone(), base_url: Arc::from(base_url.as_str()) };
        let nested = if prefix.is_empty() {
            api::routes()
        } else {
            Router::new().nest(prefix, api::routes())
        };
        let router = nested
            .merge(control::routes(world.0.settings.seed))
            .fallback(api::not_found)
            .with_state(api);
        let stop = world.0.stop.clone();
        world.0.tasks.spawn(accept(world.clone(), listener, router));
        Ok(Self { base_url, origin, world, _stop: stop.drop_guard() })
    }

    /// Stops the server and all sending, and waits for their tasks.
    pub async fn shutdown(self) {
        self.world.stop().await;
    }
}

async fn accept(world: World, listener: TcpListener, router: Router) {
    loop {
        let stream = tokio::select! {
            () = world.0.stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        // A failed accept concerns one client; the next one may be fine.
        let Ok((stream, _)) = stream else { continue };
        world.0.tasks.spawn(serve(world.clone(), stream, router.clone()));
    }
}

async fn serve(world: World, stream: TcpStream, router: Router) {
    let service = service_fn(|request| answer(&world, router.clone(), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        () = world.0.stop.cancelled() => {}
        // An error here is a client that went away, or an answer that was to be lost.
        _ = connection => {}
    }
}

async fn answer(
    world: &World,
    router: Router,
    request: Request<Incoming>,
) -> Result<Response, io::Error> {
    let response = router.oneshot(request).await.unwrap_or_else(|never: Infallible| match never {});
    if response.extensions().get::<Dropped>().is_some() {
        // hyper closes the connection when a service fails: the caller sees no answer.
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
    Ok(api::finish(world, response))
}
