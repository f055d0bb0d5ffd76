//! The admin listener: health, metrics, and the command line's JSON over HTTP.

mod actions;
mod api;
mod auth;
mod health;
mod metrics;

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router, middleware,
    routing::{get, post},
};
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::SharedClock, config::Config, domain::ids::HookName, store::Store,
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
}

impl Admin {
    fn token(&self) -> Option<&SecretString> {
        self.config.admin.token.as_ref()
    }
}

/// The routes. Health and metrics are open. Reading the API is open on loopback only; changing
/// anything takes the bearer token everywhere.
pub fn router(admin: Admin) -> Router {
    let api = Router::new()
        .route("/status", get(api::status))
        .route("/deliveries", get(api::deliveries))
        .route("/deliveries/{hook}/{guid}", get(api::delivery))
        .route("/deliveries/{hook}/{guid}/{action}", post(actions::act))
        .route("/receipts", post(actions::receipts))
        .route("/dead", get(actions::dead))
        .route("/sweeps", post(api::sweep).get(api::sweeps))
        .route_layer(middleware::from_fn_with_state(admin.clone(), auth::off_loopback));
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::metrics))
        .nest("/api/v1", api)
        .with_state(admin)
}

/// Serves until `soft` is cancelled.
///
/// # Errors
/// When the listener fails for good.
pub async fn run(
    listener: TcpListener,
    admin: Admin,
    soft: CancellationToken,
) -> std::io::Result<()> {
    axum::serve(listener, router(admin)).with_graceful_shutdown(soft.cancelled_owned()).await
}
