//! The delivery log over HTTP: pages, details, redelivery (GITHUB.md sections 1 to 3).

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    super::{
        faults::{Faults, Link, Redelivering},
        hook::HookRef,
        log::LoggedAttempt,
        world::State as WorldState,
    },
    Api, Caller,
    answer::{canned, error, set},
};

const LIST_DOCS: &str =
    "https://docs.github.com/rest/apps/webhooks#list-deliveries-for-an-app-webhook";
const DETAIL_DOCS: &str =
    "https://docs.github.com/rest/apps/webhooks#get-a-delivery-for-an-app-webhook";
const REDELIVER_DOCS: &str =
    "https://docs.github.com/rest/apps/webhooks#redeliver-a-delivery-for-an-app-webhook";

/// The query of a list call; unknown parameters, `page` among them, are ignored.
#[derive(Deserialize)]
pub(super) struct ListQuery {
    per_page: Option<String>,
    cursor: Option<String>,
    status: Option<String>,
}

/// The `status` filter: ranges of codes, so that a 3xx counts as success (GITHUB.md section 1.2).
#[derive(Clone, Copy)]
enum StatusFilter {
    Success,
    Failure,
}

impl StatusFilter {
    fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
        }
    }

    fn takes(self, code: Option<i32>) -> bool {
        match self {
            Self::Success => code.is_some_and(|c| (200..=399).contains(&c)),
            Self::Failure => code.is_some_and(|c| (400..=599).contains(&c)),
        }
    }
}

/// `GET /app/hook/deliveries`
pub(super) async fn list(
    State(api): State<Api>,
    Caller(hook): Caller,
    Query(query): Query<ListQuery>,
) -> Response {
    let now = api.world.now();
    let view = api.world.view(now);
    let per_page = page_size(query.per_page.as_deref());
    let mut state = api.world.state();
    let WorldState { hooks, faults, counters, .. } = &mut *state;
    let Some(hook) = hooks.get_mut(hook.0) else { return error(404, "Not Found", LIST_DOCS) };
    counters.list_calls += 1;
    counters.per_page.push(per_page);
    let page_number = if query.cursor.is_some() { hook.page + 1 } else { 1 };
    let canned_answer =
        faults.api.list_next.pop_front().or_else(|| faults.api.page_answer(page_number));
    if let Some(answer) = canned_answer {
        return canned(&answer);
    }
    // Only now: a page that failed is asked for again under the same number.
    hook.page = page_number;
    let filter = match query.status.as_deref() {
        None => None,
        Some("success") => Some(StatusFilter::Success),
        Some("failure") => Some(StatusFilter::Failure),
        Some(_) => return error(422, "Validation Failed", LIST_DOCS),
    };
    let cursor = match query.cursor.as_deref().map(parse_cursor) {
        Some(_) if faults.api.cursor.is_some() => {
            return error(faults.api.cursor.unwrap_or(422), "Invalid cursor", LIST_DOCS);
        }
        Some(None) => return error(422, "Invalid cursor", LIST_DOCS),
        Some(known) => known,
        None => None,
    };
    let mut rows: Vec<&LoggedAttempt> = hook
        .log
        .listed(cursor, view)
        .filter(|row| !faults.hidden.contains(&row.guid))
        .filter(|row| filter.is_none_or(|f| f.takes(row.shown(now).1)))
        .take(per_page as usize + 1)
        .collect();
    let more = rows.len() > per_page as usize;
    rows.truncate(per_page as usize);
    let last = rows.last().filter(|_| more).map(|row| row.id);
    let link = &faults.api.link;
    let link = next_link(&api.base_url, per_page, filter, cursor, last, link, page_number);
    let mut response = Json(page(rows, faults, now)).into_response();
    if let Some(link) = link {
        set(&mut response, "link", &format!("<{link}>; rel=\"next\""));
    }
    response
}

/// GitHub's reading of `per_page`: 30 unless it is a number, never more than 100.
fn page_size(text: Option<&str>) -> u32 {
    match text.and_then(|t| t.parse::<u32>().ok()) {
        None | Some(0) => 30,
        Some(n) => n.min(100),
    }
}

/// The position that a cursor names: the rows below this id follow.
fn parse_cursor(text: &str) -> Option<i64> {
    text.strip_prefix("v1_")?.trim_end_matches('=').parse().ok()
}

fn next_link(
    base: &str,
    per_page: u32,
    filter: Option<StatusFilter>,
    cursor: Option<i64>,
    last: Option<i64>,
    link: &Link,
    page: u32,
) -> Option<String> {
    let position = match (link, cursor, last) {
        (Link::Foreign(url), _, Some(_)) => return Some(url.clone()),
        (Link::Looping | Link::Renewed, Some(here), _) => here,
        (Link::Honest | Link::Looping | Link::Renewed, _, Some(last)) => last,
        (Link::Missing, _, _)
        | (Link::Honest | Link::Looping | Link::Renewed | Link::Foreign(_), _, None) => {
            return None;
        }
    };
    // Any number of equals signs names the same position.
    let end = "%3D".repeat(if *link == Link::Renewed { page as usize } else { 1 });
    let status = filter.map_or_else(String::new, |f| format!("&status={}", f.word()));
    Some(format!(
        "{base}/app/hook/deliveries?per_page={per_page}{status}&cursor=v1_{position}{end}"
    ))
}

fn page(mut rows: Vec<&LoggedAttempt>, faults: &Faults, now: DateTime<Utc>) -> Vec<Value> {
    if faults.api.disordered {
        for pair in rows.chunks_exact_mut(2) {
            pair.reverse();
        }
    }
    let mut page: Vec<Value> = rows.into_iter().map(|row| Value::Object(item(row, now))).collect();
    let after_first = page.len().min(1);
    page.splice(after_first..after_first, faults.api.garbage.iter().cloned());
    page
}

/// One list row, field for field as GitHub's `OpenAPI` description has it, plus the `url` that real
/// rows carry (GITHUB.md section 1.3).
fn item(row: &LoggedAttempt, now: DateTime<Utc>) -> Map<String, Value> {
    let (status, code) = row.shown(now);
    let fields = [
        ("id", json!(row.id)),
        ("guid", json!(row.guid)),
        ("delivered_at", json!(stamp(row.delivered_at))),
        ("redelivery", json!(row.redelivery)),
        ("duration", json!(row.duration)),
        ("status", json!(status)),
        ("status_code", json!(code)),
        ("event", json!(row.event.name)),
        ("action", json!(row.event.action)),
        ("installation_id", json!(row.event.installation_id)),
        ("repository_id", json!(row.event.repository_id)),
        ("throttled_at", json!(row.throttled_at.map(stamp))),
        ("url", json!("")),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn stamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// `GET /app/hook/deliveries/{id}`
pub(super) async fn detail(
    State(api): State<Api>,
    Caller(hook): Caller,
    Path(id): Path<String>,
) -> Response {
    let now = api.world.now();
    let view = api.world.view(now);
    let mut state = api.world.state();
    let WorldState { hooks, faults, counters, .. } = &mut *state;
    counters.detail_calls += 1;
    if let Some(answer) = faults.api.detail_next.pop_front() {
        return canned(&answer);
    }
    let row = id.parse().ok().and_then(|id| hooks.get(hook.0)?.log.visible(id, view));
    let Some(row) = row
        .filter(|row| !faults.hidden.contains(&row.guid))
        .filter(|row| fresh_enough(row, faults.api.detail_lag, now))
    else {
        return error(404, "Not Found", DETAIL_DOCS);
    };
    let pairs = |headers: &[(String, String)]| -> Map<String, Value> {
        headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect()
    };
    let mut body = item(row, now);
    body.insert("url".to_owned(), json!(row.url));
    // Parsed and written anew, as GitHub does: the bytes that were sent are not to be had here.
    let payload = serde_json::from_slice::<Value>(&row.event.payload).ok();
    body.insert(
        "request".to_owned(),
        json!({ "headers": pairs(&row.headers), "payload": payload.filter(Value::is_object) }),
    );
    body.insert(
        "response".to_owned(),
        json!({
            "headers": row.answer.as_ref().map(|a| pairs(&a.headers)).unwrap_or_default(),
            "payload": row.answer.as_ref().map(|a| a.body.as_str()),
        }),
    );
    Json(body).into_response()
}

fn fresh_enough(row: &LoggedAttempt, lag: TimeDelta, now: DateTime<Utc>) -> bool {
    row.delivered_at + lag <= now
}

/// `POST /app/hook/deliveries/{id}/attempts`. What GitHub answers for an unknown or too old id is
/// not known; here it is 404.
pub(super) async fn redeliver(
    State(api): State<Api>,
    Caller(hook): Caller,
    Path(id): Path<String>,
) -> Response {
    let Ok(id) = id.parse::<i64>() else { return error(404, "Not Found", REDELIVER_DOCS) };
    let view = api.world.view(api.world.now());
    let (guid, event, treatment) = {
        let mut state = api.world.state();
        let WorldState { hooks, faults, counters, .. } = &mut *state;
        counters.redelivery_posts += 1;
        *counters.redelivery_posts_of_attempt.entry(id).or_default() += 1;
        let log = hooks.get(hook.0).map(|h| &h.log);
        if let Some(known) = log.and_then(|l| l.get(id)) {
            *counters.redelivery_posts_of_guid.entry(known.guid.clone()).or_default() += 1;
        }
        let treatment = faults.api.next_redelivering(id);
        if let Redelivering::Refuse(answer) = &treatment {
            return canned(answer);
        }
        let row = log.and_then(|l| l.visible(id, view));
        let Some(row) = row.filter(|row| !faults.hidden.contains(&row.guid)) else {
            return error(404, "Not Found", REDELIVER_DOCS);
        };
        (row.guid.clone(), Arc::clone(&row.event), treatment)
    };
    take(&api, hook, &guid, &event, treatment)
}

fn take(
    api: &Api,
    hook: HookRef,
    guid: &str,
    event: &Arc<super::super::events::Event>,
    treatment: Redelivering,
) -> Response {
    let attempt = || {
        if let Some(job) = api.world.begin(hook, guid, event, true, None) {
            drop(api.world.carry_out_in_background(job));
        }
    };
    match treatment {
        Redelivering::Honest => attempt(),
        Redelivering::Forget => {}
        Redelivering::Hold => {
            api.world.state().held.push((hook, guid.to_owned(), Arc::clone(event)));
        }
        Redelivering::TakeAndAnswer(answer) => {
            attempt();
            return canned(&answer);
        }
        Redelivering::Refuse(answer) => return canned(&answer),
    }
    (StatusCode::ACCEPTED, Json(json!({}))).into_response()
}
