//! The control interface for people: simple JSON under `/_sandbox`, without credentials.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    Extension, Json, Router,
    body::Bytes,
    extract::{FromRequest, Query, Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use chrono::{SecondsFormat, TimeDelta};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    api::Api,
    events::Generator,
    faults::{Answer, Faults, Redelivering, Sending, Unsettled},
    hook::{ContentType, HookRef},
    world::World,
};

type Events = Extension<Arc<Mutex<Generator>>>;

/// The routes. Events come from a generator with this seed.
pub(super) fn routes(seed: u64) -> Router<Api> {
    Router::new()
        .route("/_sandbox/emit", post(emit))
        .route("/_sandbox/faults", post(faults))
        .route("/_sandbox/hook", post(hook))
        .route("/_sandbox/log", get(log))
        .layer(Extension(Arc::new(Mutex::new(Generator::new(seed)))))
}

/// `POST /_sandbox/emit`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EmitRequest {
    #[serde(default = "one")]
    count: u32,
    event: Option<String>,
    action: Option<String>,
    /// Without it, every hook gets the events.
    hook: Option<String>,
}

fn one() -> u32 {
    1
}

async fn emit(
    State(api): State<Api>,
    Extension(events): Events,
    Typed(request): Typed<EmitRequest>,
) -> Response {
    let Some(hooks) = chosen(&api.world, request.hook.as_deref()) else { return no_hook() };
    let mut guids = Vec::new();
    for _ in 0..request.count.min(10_000) {
        let event = {
            let mut events = events.lock().unwrap_or_else(PoisonError::into_inner);
            match &request.event {
                Some(name) => events.of(name, request.action.as_deref()),
                None => Some(events.any()),
            }
        };
        let Some(event) = event else { return refuse("no such event or action") };
        guids.push(api.world.emit_in_background(&hooks, event));
    }
    (StatusCode::ACCEPTED, Json(json!({ "guids": guids }))).into_response()
}

/// `POST /_sandbox/faults`. What is left out stays as it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultsRequest {
    /// Everything is made well first.
    #[serde(default)]
    reset: bool,
    /// How attempts are made: `deliver`, `fail_to_connect`, `time_out`, `time_out_delivered`,
    /// `reset`, `swallow`, or a code that a gateway answers with.
    sender: Option<Value>,
    /// `sender` is meant for so many attempts only.
    next: Option<usize>,
    /// Rows are listed so many seconds late.
    list_lag_seconds: Option<u32>,
    /// Rows are listed without a status code for so many seconds.
    in_flight_seconds: Option<u32>,
    /// How redelivery requests are treated: `honest`, `forget`, `lose_answer`, or a code.
    redeliver: Option<Value>,
    /// The next list calls are answered with these codes.
    #[serde(default)]
    list_answers: Vec<u16>,
    /// GitHub's clock runs ahead by so many seconds.
    clock_skew_seconds: Option<i64>,
}

async fn faults(State(api): State<Api>, Typed(request): Typed<FaultsRequest>) -> Response {
    let sender = match request.sender.as_ref().map(sending) {
        Some(None) => return refuse("unknown sender"),
        Some(known) => known,
        None => None,
    };
    let redeliver = match request.redeliver.as_ref().map(redelivering) {
        Some(None) => return refuse("unknown redeliver"),
        Some(known) => known,
        None => None,
    };
    let seconds = |n: Option<u32>| n.map(|n| TimeDelta::seconds(i64::from(n)));
    api.world.faults(|faults| {
        if request.reset {
            *faults = Faults::default();
        }
        match (sender, request.next) {
            (Some(sender), Some(n)) => {
                faults.sender_next.extend(std::iter::repeat_n(sender, n.min(10_000)));
            }
            (Some(sender), None) => faults.sender = sender,
            (None, _) => {}
        }
        if let Some(redeliver) = redeliver {
            faults.api.redeliver = redeliver;
        }
        if let Some(lag) = seconds(request.list_lag_seconds) {
            faults.list_lag = lag;
        }
        if let Some(time) = seconds(request.in_flight_seconds) {
            faults.unsettled = (!time.is_zero()).then_some((time, Unsettled::Null));
        }
        if let Some(skew) = request.clock_skew_seconds.and_then(TimeDelta::try_seconds) {
            faults.clock_skew = skew;
        }
        faults.api.list_next.extend(request.list_answers.into_iter().map(Answer::Status));
    });
    StatusCode::NO_CONTENT.into_response()
}

fn sending(value: &Value) -> Option<Sending> {
    if let Some(code) = code(value) {
        return Some(Sending::Answer(code));
    }
    match value.as_str()? {
        "deliver" => Some(Sending::Deliver),
        "fail_to_connect" => Some(Sending::FailToConnect),
        "time_out" => Some(Sending::TimeOut { after_delivering: false }),
        "time_out_delivered" => Some(Sending::TimeOut { after_delivering: true }),
        "reset" => Some(Sending::Reset { after_delivering: false }),
        "swallow" => Some(Sending::Swallow),
        _ => None,
    }
}

fn redelivering(value: &Value) -> Option<Redelivering> {
    if let Some(code) = code(value) {
        return Some(Redelivering::Refuse(Answer::Status(code)));
    }
    match value.as_str()? {
        "honest" => Some(Redelivering::Honest),
        "forget" => Some(Redelivering::Forget),
        "lose_answer" => Some(Redelivering::TakeAndAnswer(Answer::Drop)),
        _ => None,
    }
}

fn code(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|n| u16::try_from(n).ok()).filter(|n| (200..=599).contains(n))
}

/// `POST /_sandbox/hook`. Without a name, every hook changes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HookRequest {
    hook: Option<String>,
    url: Option<String>,
    secret: Option<String>,
    content_type: Option<String>,
}

async fn hook(State(api): State<Api>, Typed(request): Typed<HookRequest>) -> Response {
    let Some(hooks) = chosen(&api.world, request.hook.as_deref()) else { return no_hook() };
    let content_type = match request.content_type.as_deref().map(ContentType::from_word) {
        Some(None) => return refuse("content_type is json or form"),
        Some(known) => known,
        None => None,
    };
    for hook in hooks {
        api.world.configure(hook, |config| {
            if let Some(url) = &request.url {
                config.url.clone_from(url);
            }
            if let Some(secret) = &request.secret {
                config.secret = secret.clone().into();
            }
            config.content_type = content_type.unwrap_or(config.content_type);
        });
    }
    StatusCode::NO_CONTENT.into_response()
}

/// `GET /_sandbox/log`
#[derive(Deserialize)]
struct LogQuery {
    limit: Option<usize>,
}

/// A JSON body whatever its declared type: people type these requests by hand, and `curl -d` says
/// form.
struct Typed<T>(T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Typed<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let body =
            Bytes::from_request(request, state).await.map_err(IntoResponse::into_response)?;
        let body: &[u8] = if body.is_empty() { b"{}" } else { &body };
        serde_json::from_slice(body).map(Self).map_err(|error| refuse(&error.to_string()))
    }
}

async fn log(State(api): State<Api>, Query(query): Query<LogQuery>) -> Json<Value> {
    let limit = query.limit.unwrap_or(100);
    let state = api.world.state();
    let hooks: Vec<Value> = state
        .hooks
        .iter()
        .map(|hook| {
            let attempts: Vec<Value> = hook
                .log
                .newest_first()
                .take(limit)
                .map(|row| {
                    let posts = state.posts.get(&row.guid).map_or(&[][..], Vec::as_slice);
                    let post = posts.iter().find(|post| post.attempt == row.id);
                    json!({
                        "id": row.id.to_string(), "guid": row.guid, "event": row.event.name,
                        "action": row.event.action, "redelivery": row.redelivery,
                        "delivered_at": row.delivered_at.to_rfc3339_opts(SecondsFormat::Millis, true),
                        "status": row.status, "status_code": row.code,
                        "really_sent": post.is_some(), "really_answered": post.and_then(|p| p.answer),
                    })
                })
                .collect();
            json!({
                "name": hook.setup.name, "app_id": hook.setup.app_id, "hook_id": hook.hook_id(),
                "url": hook.setup.config.url, "content_type": hook.setup.config.content_type.as_str(),
                "attempts": attempts,
            })
        })
        .collect();
    let counters = &state.counters;
    Json(json!({
        "hooks": hooks,
        "counters": {
            "api_calls": counters.api_calls, "unauthorized": counters.unauthorized,
            "limited": counters.limited, "list_calls": counters.list_calls,
            "detail_calls": counters.detail_calls, "redelivery_posts": counters.redelivery_posts,
            "attempts_made": counters.attempts_made,
        },
    }))
}

fn chosen(world: &World, name: Option<&str>) -> Option<Vec<HookRef>> {
    match name {
        Some(name) => world.hook(name).map(|hook| vec![hook]),
        None => Some(world.hooks()),
    }
}

fn no_hook() -> Response {
    (StatusCode::NOT_FOUND, Json(json!({ "error": "no such hook" }))).into_response()
}

fn refuse(why: &str) -> Response {
    (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({ "error": why }))).into_response()
}
