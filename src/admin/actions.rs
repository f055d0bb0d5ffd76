//! What changes something, over HTTP: the command line's verbs for one delivery, and receipts that an
//! application reports which receives webhooks itself. All of it takes the bearer token.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Admin,
    api::{Problem, known},
    body::{Asked, Body},
};
use crate::{
    config::Hook,
    domain::{
        delivery::Via,
        ids::{EventName, Guid, HookName},
        retry::HandoverState,
    },
    report::{self, DeadList},
    store::types::{Arrival, Recorded, Replay},
    sweeper::ByHandError,
};

/// Dead letters in one answer.
const DEAD: usize = 10_000;

/// The query of `/dead`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeadQuery {
    hook: Option<String>,
    limit: Option<usize>,
}

/// The body of `POST /deliveries/{hook}/{guid}/{action}`: all optional.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ActionBody {
    times: Option<u32>,
    note: Option<String>,
}

/// The body of `POST /receipts`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReceiptBody {
    hook: String,
    guid: String,
    event: Option<String>,
    received_at: Option<DateTime<Utc>>,
}

/// `GET /dead`
pub(super) async fn dead(
    State(admin): State<Admin>,
    Asked(query): Asked<DeadQuery>,
) -> Result<Json<DeadList>, Problem> {
    let hook = match query.hook.as_deref() {
        Some(name) => Some(known_or_trace(&admin, name).await?),
        None => None,
    };
    let limit = query.limit.unwrap_or(1_000).min(DEAD);
    Ok(Json(report::dead(&admin.store, &admin.config, hook.as_ref(), limit).await?))
}

/// `POST /deliveries/{hook}/{guid}/{redeliver|fetch|replay|dismiss|requeue|discard}`
pub(super) async fn act(
    State(admin): State<Admin>,
    Path((hook, guid, action)): Path<(String, String, String)>,
    Body(body): Body<ActionBody>,
) -> Result<Json<Value>, Problem> {
    let guid = guid_of(&guid)?;
    let (store, now) = (&admin.store, admin.clock.now());
    if action == "discard" {
        let hook = known_or_trace(&admin, &hook).await?;
        return changed(store.discard(&hook, &guid, now).await?, "discarded", NOT_DEAD);
    }
    let hook = known(&admin, &hook)?;
    match action.as_str() {
        "redeliver" | "fetch" => ask(&admin, hook, &guid, action == "fetch").await,
        "replay" => replay(&admin, hook, &guid, body.times.unwrap_or(1)).await,
        "dismiss" => {
            let note = body.note.as_deref();
            let done = store.dismiss(&hook.name, &guid, note, now).await?;
            changed(done, "dismissed", "GitHub's list does not show this delivery")
        }
        "requeue" => {
            takes_part(hook)?;
            changed(store.requeue(&hook.name, &guid, now).await?, "requeued", NOT_DEAD)
        }
        _ => Err(Problem::not_found(
            "no such action: redeliver, fetch, replay, dismiss, requeue or discard",
        )),
    }
}

const NOT_DEAD: &str = "this delivery is no dead letter";

fn changed(done: bool, word: &str, otherwise: &str) -> Result<Json<Value>, Problem> {
    if done {
        Ok(Json(json!({ "status": word })))
    } else {
        Err(Problem::new(StatusCode::CONFLICT, otherwise))
    }
}

fn guid_of(text: &str) -> Result<Guid, Problem> {
    Guid::new(text).map_err(|why| Problem::usage(format!("the GUID {why}")))
}

/// A hook that is configured, or has left a trace: dead letters outlive their hook's configuration.
async fn known_or_trace(admin: &Admin, name: &str) -> Result<HookName, Problem> {
    let traces = admin.store.known_hooks().await?;
    match traces.into_iter().find(|trace| trace.as_str() == name) {
        Some(trace) => Ok(trace),
        None => known(admin, name).map(|hook| hook.name.clone()),
    }
}

/// What waits at a hook without an application would wait for ever.
fn takes_part(hook: &Hook) -> Result<(), Problem> {
    let lacking = "this hook hands nothing over; it has no [hooks.forward]";
    hook.forward.as_ref().map(|_| ()).ok_or_else(|| Problem::new(StatusCode::CONFLICT, lacking))
}

async fn replay(
    admin: &Admin,
    hook: &Hook,
    guid: &Guid,
    times: u32,
) -> Result<Json<Value>, Problem> {
    takes_part(hook)?;
    if !(1..=10_000).contains(&times) {
        return Err(Problem::usage("times must be 1 to 10000"));
    }
    match admin.store.replay(&hook.name, guid, times, admin.clock.now()).await? {
        Replay::Queued { from } => Ok(Json(json!({
            "status": "queued",
            "times": times,
            "from": from.map(HandoverState::as_str),
        }))),
        Replay::Unknown => Err(Problem::not_found("this delivery never arrived")),
        Replay::NoPayload => {
            Err(Problem::new(StatusCode::CONFLICT, "its payload is not stored (any more)"))
        }
    }
}

async fn ask(admin: &Admin, hook: &Hook, guid: &Guid, fetch: bool) -> Result<Json<Value>, Problem> {
    let handle = admin
        .sweepers
        .get(&hook.name)
        .ok_or_else(|| Problem::not_found("this hook has no sweeper"))?;
    let asked = if fetch {
        handle.sweeper().fetch_one(guid).await
    } else {
        handle.sweeper().ask_one(guid).await
    };
    match asked {
        Ok(request) => Ok(Json(json!({ "requests": [request] }))),
        Err(error @ ByHandError::Unknown { .. }) => Err(Problem::not_found(error.to_string())),
        Err(error @ ByHandError::NoAttempt { .. }) => {
            Err(Problem::new(StatusCode::CONFLICT, error.to_string()))
        }
        Err(error @ ByHandError::Refused(_)) => {
            Err(Problem::new(StatusCode::BAD_GATEWAY, error.to_string()))
        }
        Err(error @ (ByHandError::Limited(_) | ByHandError::Store(_))) => {
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()))
        }
    }
}

/// `POST /receipts`: an application that receives webhooks itself says that it has one. The receipt
/// has no bytes, so it can be neither handed over nor replayed, unless the event arrives here too.
pub(super) async fn receipts(
    State(admin): State<Admin>,
    Body(body): Body<ReceiptBody>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let hook = known(&admin, &body.hook)?;
    let guid = guid_of(&body.guid)?;
    let listed = admin.store.delivery(&hook.name, &guid).await?.map(|open| open.delivery);
    if listed.as_ref().is_some_and(|delivery| delivery.receipt.is_some()) {
        return Ok((StatusCode::OK, Json(json!({ "status": "duplicate" }))));
    }
    let event = match (&body.event, &listed) {
        (Some(named), _) => {
            EventName::new(named).map_err(|why| Problem::usage(format!("the event {why}")))?
        }
        (None, Some(listed)) => listed.event.clone(),
        (None, None) => EventName::unnamed(),
    };
    let now = admin.clock.now();
    let arrival = Arrival {
        hook: hook.name.clone(),
        guid,
        event,
        action: listed.as_ref().and_then(|it| it.action.clone()),
        installation_id: listed.as_ref().and_then(|it| it.installation_id),
        repository_id: listed.as_ref().and_then(|it| it.repository_id),
        via: Via::Delivery,
        received_at: body.received_at.map_or(now, |at| at.min(now)),
        wanted: true,
        forward: false,
        headers: Vec::new(),
        body: Bytes::new(),
    };
    Ok(match admin.store.record(arrival).await? {
        Recorded::New => (StatusCode::ACCEPTED, Json(json!({ "status": "accepted" }))),
        Recorded::Again | Recorded::Conflict => {
            (StatusCode::OK, Json(json!({ "status": "duplicate" })))
        }
    })
}
