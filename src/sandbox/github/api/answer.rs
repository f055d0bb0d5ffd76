//! Error bodies in GitHub's form, canned answers, and the headers that every answer carries.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use serde_json::json;

use super::super::{faults::Answer, limits::Primary, world::World};

/// The documentation link of errors that belong to no endpoint.
pub(super) const DOCS: &str = "https://docs.github.com/rest";

/// Marks an answer that must never be sent: the connection is closed instead.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Dropped;

/// An error with `message`, `documentation_url` and `status` (GITHUB.md section 1.4).
pub(super) fn error(status: u16, message: &str, docs: &str) -> Response {
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = json!({
        "message": message, "documentation_url": docs, "status": status.to_string(),
    });
    (code, Json(body)).into_response()
}

/// The answer of an exhausted budget; [`finish`] adds the numbers.
pub(super) fn primary_limit() -> Response {
    error(
        403,
        "API rate limit exceeded for this App.",
        "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api",
    )
}

/// The answer of a secondary limit.
pub(super) fn secondary_limit(status: u16, retry_after: Option<u32>) -> Response {
    let mut response = error(
        status,
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
        "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits",
    );
    if let Some(seconds) = retry_after {
        set(&mut response, "retry-after", &seconds.to_string());
    }
    response
}

/// The answer that a fault prescribes.
pub(super) fn canned(answer: &Answer) -> Response {
    match answer {
        Answer::Status(status) => error(*status, message_for(*status), DOCS),
        Answer::PrimaryLimit { reset } => {
            let mut response = primary_limit();
            budget(&mut response, &Primary::new(5000, 0, *reset));
            response
        }
        Answer::SecondaryLimit { status, retry_after } => secondary_limit(*status, *retry_after),
        Answer::WebPage => Html("<!doctype html><title>Welcome</title>").into_response(),
        Answer::Drop => {
            let mut response = StatusCode::IM_A_TEAPOT.into_response();
            response.extensions_mut().insert(Dropped);
            response
        }
    }
}

fn message_for(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        404 => "Not Found",
        410 => "Gone",
        422 => "Validation Failed",
        500..=599 => "Server Error",
        _ => "Refused",
    }
}

/// Adds what GitHub puts on every answer: its `Date`, its name, and the budget if there is one.
pub(in super::super) fn finish(world: &World, mut response: Response) -> Response {
    let now = world.now();
    let (date, primary) = {
        let state = world.state();
        (now + state.faults.api.date_offset, state.limits.primary.clone())
    };
    set(&mut response, "date", &date.format("%a, %d %b %Y %H:%M:%S GMT").to_string());
    set(&mut response, "server", "github.com");
    let told = response.headers().contains_key("x-ratelimit-limit");
    if let Some(primary) = primary.filter(|_| !told) {
        budget(&mut response, &primary);
    }
    response
}

fn budget(response: &mut Response, primary: &Primary) {
    set(response, "x-ratelimit-limit", &primary.limit.to_string());
    set(response, "x-ratelimit-remaining", &primary.remaining.to_string());
    set(response, "x-ratelimit-reset", &primary.reset.timestamp().to_string());
}

/// Sets one header; a value that no header can hold is left out.
pub(super) fn set(response: &mut Response, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(header::HeaderName::from_static(name), value);
    }
}
