//! GitHub's API as far as an App's webhook goes: the routes, and who is let in.

mod answer;
mod app;
mod deliveries;

use std::sync::Arc;

use axum::{
    Router,
    extract::FromRequestParts,
    http::{Method, header, request::Parts},
    response::Response,
    routing::{get, post},
};

pub(super) use self::answer::{Dropped, finish};
use super::{auth, hook::HookRef, limits::Exceeded, world::World};

/// What the handlers work on.
#[derive(Debug, Clone)]
pub(super) struct Api {
    pub(super) world: World,
    /// The URL all routes are under, without trailing slash.
    pub(super) base_url: Arc<str>,
}

/// The routes, relative to the base URL.
pub(super) fn routes() -> Router<Api> {
    Router::new()
        .route("/app", get(app::show))
        .route("/app/hook/config", get(app::config).patch(app::configure))
        .route("/app/hook/deliveries", get(deliveries::list))
        .route("/app/hook/deliveries/{id}", get(deliveries::detail))
        .route("/app/hook/deliveries/{id}/attempts", post(deliveries::redeliver))
}

/// The answer for everything that is no route.
pub(super) async fn not_found() -> Response {
    answer::error(404, "Not Found", answer::DOCS)
}

/// An App whose JWT was verified, and who is within the limits. A handler that takes it cannot be
/// reached otherwise.
pub(super) struct Caller(pub(super) HookRef);

impl FromRequestParts<Api> for Caller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Response> {
        let authorization = parts.headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok());
        let now = api.world.now();
        let points = if parts.method == Method::GET { 1 } else { 5 };
        let mut state = api.world.state();
        state.counters.api_calls += 1;
        if let Some(fault) = &state.faults.api.all {
            return Err(answer::canned(fault));
        }
        let refused = auth::unverified(authorization).and_then(|(token, issuer, claims)| {
            let app = state
                .hooks
                .iter()
                .position(|h| h.setup.client_id == issuer || h.setup.app_id.to_string() == issuer);
            let setup = app.and_then(|i| state.hooks.get(i)).map(|h| &h.setup);
            if setup.is_some_and(|s| state.faults.api.revoked.contains(&s.name)) {
                return Err(auth::revoked());
            }
            auth::check(token, &claims, setup.map(|s| &s.key), now)?;
            Ok(app)
        });
        let caller = match refused {
            Ok(Some(app)) => Self(HookRef(app)),
            Ok(None) => return Err(answer::error(404, "Not Found", answer::DOCS)),
            Err(refusal) => {
                state.counters.unauthorized += 1;
                return Err(answer::error(refusal.status, refusal.message, answer::DOCS));
            }
        };
        state.limits.charge(points, now).map_err(|exceeded| {
            state.counters.limited += 1;
            match exceeded {
                Exceeded::Primary => answer::primary_limit(),
                Exceeded::Secondary { status, retry_after } => {
                    answer::secondary_limit(status, retry_after)
                }
            }
        })?;
        Ok(caller)
    }
}
