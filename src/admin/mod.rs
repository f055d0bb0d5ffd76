//! The admin listener: health, metrics, and the command line's JSON over HTTP.

mod actions;
mod api;
mod auth;
mod body;
mod health;
mod limits;
mod listener;
mod metrics;

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    extract::FromRef,
    middleware,
    routing::{get, post},
};
use secrecy::SecretString;
use tokio::{net::TcpListener, sync::watch};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::SharedClock, config::Config, domain::ids::HookName, lifecycle::Ask, store::Store,
    sweeper::worker::Handle, telemetry::Metrics,
};

/// What the handlers share.
#[derive(Debug, Clone)]
pub struct Admin {
    /// The running configuration.
    pub config: Arc<Config>,
    /// The store.
    pub store: Store,
    /// The metric families.
    pub metrics: Arc<Metrics>,
    /// The clock.
    pub clock: SharedClock,
    /// How each hook's sweeper is asked for a sweep.
    pub sweepers: Arc<BTreeMap<HookName, Handle>>,
    /// How a reload is asked for.
    pub reload: Ask,
}

/// What the handlers share at the moment: a reload changes it, a request keeps what it began with.
#[derive(Debug, Clone)]
struct Live(watch::Receiver<Admin>);

impl FromRef<Live> for Admin {
    fn from_ref(live: &Live) -> Self {
        live.0.borrow().clone()
    }
}

impl Admin {
    fn token(&self) -> Option<&SecretString> {
        self.config.admin.token.as_ref()
    }
}

/// The routes. Health and metrics are open. Reading the API is open on loopback only; changing
/// anything takes the bearer token everywhere, and before anything else is looked at.
fn router(live: Live, loopback: bool) -> Router {
    let guard = auth::Guard { live: live.clone(), loopback };
    let api = Router::new()
        .route("/status", get(api::status))
        .route("/deliveries", get(api::deliveries))
        .route("/deliveries/{hook}/{guid}", get(api::delivery))
        .route("/deliveries/{hook}/{guid}/{action}", post(actions::act))
        .route("/receipts", post(actions::receipts))
        .route("/dead", get(actions::dead))
        .route("/reload", post(api::reload))
        .route("/sweeps", post(api::sweep).get(api::sweeps))
        .method_not_allowed_fallback(api::wrong_method)
        .fallback(api::wrong_path)
        .layer(middleware::from_fn(limits::bounded))
        .layer(middleware::from_fn_with_state(guard, auth::guard));
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::metrics))
        .layer(middleware::from_fn(limits::bounded))
        .nest("/api/v1", api)
        .with_state(live)
}

/// Serves until `soft` is cancelled, then finishes the requests in hand.
pub async fn run(listener: TcpListener, admin: watch::Receiver<Admin>, soft: CancellationToken) {
    let loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    listener::serve(listener, router(Live(admin), loopback), soft).await;
}
