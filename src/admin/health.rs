//! Alive, and ready: two questions that a service manager asks.

use axum::{Json, extract::State, http::StatusCode};
use chrono::TimeDelta;
use serde::Serialize;

use super::Admin;
use crate::domain::condition::overdue_after;

/// The answer of `/readyz`.
#[derive(Debug, Serialize)]
pub(super) struct Ready {
    /// `ready`, `degraded` or `unready`.
    status: &'static str,
    /// What is wrong, one line each.
    problems: Vec<String>,
}

/// The process answers; nothing else is claimed.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// 200 when arrivals can be stored; degraded, still 200, when the list has not been read to its
/// end for three sweep periods (GitHub unreachable, key refused).
pub(super) async fn readyz(State(admin): State<Admin>) -> (StatusCode, Json<Ready>) {
    let now = admin.clock.now();
    if let Err(error) = admin.store.check_writable(now).await {
        let ready = Ready { status: "unready", problems: vec![error.to_string()] };
        return (StatusCode::SERVICE_UNAVAILABLE, Json(ready));
    }
    let mut problems = Vec::new();
    for hook in &admin.config.hooks {
        match admin.store.hook(&hook.name).await {
            Err(error) => problems.push(format!("hook {}: {error}", hook.name)),
            Ok(memory) => {
                let overdue = overdue_after(admin.config.sweep.period) + TimeDelta::minutes(1);
                if memory.complete_at().is_none_or(|at| now - at > overdue) {
                    problems.push(format!("hook {}: no complete sweep lately", hook.name));
                }
            }
        }
    }
    let status = if problems.is_empty() { "ready" } else { "degraded" };
    (StatusCode::OK, Json(Ready { status, problems }))
}
