//! `/api/v1`: what the command line prints, over HTTP.

use std::time::Duration;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use super::{
    Admin,
    body::{Asked, Body},
};
use crate::{
    config::{self, Hook},
    domain::{
        ids::{EventName, Guid},
        verdict::Verdict,
    },
    report::{self, DeliveryList, ListQuery, Shown, Status},
    store::StoreError,
    sweeper::{Request, Sweep, SweepReport, Trigger},
};

/// How long a sweep asked for over HTTP waits for one of another process.
const PATIENCE: Duration = Duration::from_mins(1);

/// A refused or failed request: `{"error": "..."}`.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    message: String,
}

impl Problem {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(super) fn unauthorized(message: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, message)
    }

    pub(super) fn forbidden(message: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        tracing::warn!(error = %error, "an admin request failed");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, Json(serde_json::json!({ "error": self.message }))).into_response()
    }
}

/// The query of `/deliveries`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeliveriesQuery {
    missing: Option<String>,
    hook: Option<String>,
    verdict: Option<String>,
    event: Option<String>,
    since: Option<String>,
    limit: Option<usize>,
}

/// The body of `POST /sweeps`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SweepBody {
    hook: Option<String>,
    since: Option<String>,
    dry_run: bool,
}

/// `{"sweeps": [...]}`, as `sweep --json` prints it.
#[derive(Debug, Serialize)]
pub(super) struct Sweeps {
    sweeps: Vec<SweepReport>,
}

/// `GET /status`
pub(super) async fn status(State(admin): State<Admin>) -> Result<Json<Status>, Problem> {
    Ok(Json(report::status(&admin.store, &admin.config, admin.clock.now()).await?))
}

/// `GET /deliveries`
pub(super) async fn deliveries(
    State(admin): State<Admin>,
    Asked(query): Asked<DeliveriesQuery>,
) -> Result<Json<DeliveryList>, Problem> {
    let now = admin.clock.now();
    let hook = query.hook.as_deref().map(|name| known(&admin, name)).transpose()?;
    if let Some(word) = query.verdict.as_deref().filter(|word| !Verdict::WORDS.contains(word)) {
        let words = Verdict::WORDS.join(", ");
        return Err(Problem::usage(format!("verdict is {word:?}; it is one of {words}")));
    }
    if let Some(Err(why)) = query.event.as_deref().map(EventName::new) {
        return Err(Problem::usage(format!("the event {why}")));
    }
    let missing = match query.missing.as_deref() {
        Some("" | "1" | "true") => true,
        None | Some("0" | "false") => false,
        Some(word) => {
            return Err(Problem::usage(format!("missing is {word:?}; it is true or false")));
        }
    };
    let query = ListQuery {
        hook: hook.map(|hook| hook.name.clone()),
        missing,
        verdict: query.verdict,
        event: query.event,
        since: query.since.as_deref().map(span).transpose()?.map(|span| now - span),
        limit: query.limit.unwrap_or(100).min(10_000),
        depth: report::DEPTH,
    };
    Ok(Json(report::list(&admin.store, &admin.config, &query, now).await?))
}

/// `GET /deliveries/{hook}/{guid}`
pub(super) async fn delivery(
    State(admin): State<Admin>,
    Path((hook, guid)): Path<(String, String)>,
) -> Result<Json<Shown>, Problem> {
    let hook = known(&admin, &hook)?;
    let id = Guid::new(&guid).map_err(|why| Problem::usage(format!("the GUID {why}")))?;
    report::show(&admin.store, hook, &id, admin.clock.now())
        .await?
        .map(Json)
        .ok_or_else(|| Problem::not_found("this delivery is unknown"))
}

/// `GET /sweeps`: history, newest first.
pub(super) async fn sweeps(State(admin): State<Admin>) -> Result<Json<serde_json::Value>, Problem> {
    let rows = admin.store.sweeps(None, 100).await?;
    let views: Vec<SweepReport> = rows.iter().map(SweepReport::from_history).collect();
    Ok(Json(serde_json::json!({ "sweeps": views })))
}

/// `POST /sweeps`: one pass by hand, answered when it is done.
pub(super) async fn sweep(
    State(admin): State<Admin>,
    Body(body): Body<SweepBody>,
) -> Result<Json<Sweeps>, Problem> {
    let since = body.since.as_deref().map(span).transpose()?;
    let hooks: Vec<&Hook> = match body.hook.as_deref() {
        Some(name) => vec![known(&admin, name)?],
        None => admin.config.hooks.iter().collect(),
    };
    let mut sweeps = Vec::new();
    for hook in hooks {
        let request = Request {
            trigger: Trigger::Manual,
            since: since.map(|span| admin.clock.now() - span),
            dry_run: body.dry_run,
            patience: PATIENCE,
        };
        let handle = admin
            .sweepers
            .get(&hook.name)
            .ok_or_else(|| Problem::not_found("this hook has no sweeper"))?;
        match handle.sweep(request).await {
            Ok(Sweep::Done(report)) => sweeps.push(*report),
            Ok(Sweep::Skipped { owner, until }) => {
                let message = format!("another sweep runs: {owner} holds its lease until {until}");
                return Err(Problem::new(StatusCode::CONFLICT, message));
            }
            Err(error) => {
                return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()));
            }
        }
    }
    Ok(Json(Sweeps { sweeps }))
}

/// The answer of `POST /reload`.
#[derive(Debug, Serialize)]
pub(super) struct ReloadView {
    hooks: usize,
    needs_restart: Vec<&'static str>,
}

/// `POST /reload`: as SIGHUP, answered when the new configuration is in force.
pub(super) async fn reload(State(admin): State<Admin>) -> Result<Json<ReloadView>, Problem> {
    let reloaded = admin.reload.reload().await.map_err(|why| {
        let why = format!("refused; the old configuration stays: {why}");
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, why)
    })?;
    Ok(Json(ReloadView { hooks: reloaded.hooks, needs_restart: reloaded.needs_restart }))
}

/// A path that means nothing.
pub(super) async fn wrong_path() -> Problem {
    Problem::not_found("there is nothing at this path")
}

/// A known path, asked in the wrong way.
pub(super) async fn wrong_method() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this path takes another method")
}

pub(super) fn known<'a>(admin: &'a Admin, name: &str) -> Result<&'a Hook, Problem> {
    admin
        .config
        .hooks
        .iter()
        .find(|hook| hook.name.as_str() == name)
        .ok_or_else(|| Problem::not_found(format!("no hook is named {name}")))
}

fn span(text: &str) -> Result<TimeDelta, Problem> {
    config::span(text).map_err(|why| Problem::usage(format!("since {why}")))
}
