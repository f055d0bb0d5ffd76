//! The admin listener: health, metrics, and the command line's JSON over HTTP.

mod actions;
mod api;
mod auth;
mod health;
mod metrics;

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
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

/// The routes; reading is open (the listener is on loopback unless a token is set), changing takes
/// the bearer token.
pub fn router(admin: Admin) -> Router {
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::metrics))
        .route("/api/v1/status", get(api::status))
        .route("/api/v1/deliveries", get(api::deliveries))
        .route("/api/v1/deliveries/{hook}/{guid}", get(api::delivery))
        .route("/api/v1/deliveries/{hook}/{guid}/{action}", post(actions::act))
        .route("/api/v1/receipts", post(actions::receipts))
        .route("/api/v1/dead", get(actions::dead))
        .route("/api/v1/sweeps", post(api::sweep).get(api::sweeps))
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
