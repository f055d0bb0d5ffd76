//! Whether an answer is a rate limit, and until when.

use chrono::{DateTime, TimeDelta, Utc};
use http::{StatusCode, header};

use super::{
    headers::{http_date, number},
    transport::Answer,
};

/// How long to wait when GitHub names no time. Growing it on repetition is the caller's part.
const DEFAULT_WAIT: TimeDelta = TimeDelta::minutes(1);
/// Nothing that GitHub sends makes us wait longer, nor shorter than a second.
const MAX_WAIT: TimeDelta = TimeDelta::hours(24);
const MIN_WAIT: TimeDelta = TimeDelta::seconds(1);

/// When sending is allowed again, on our clock; `None` when the answer is no limit.
/// `retry-after` goes first, then `x-ratelimit-reset` if nothing remains, then a minute.
pub(super) fn limited_until(answer: &Answer) -> Option<DateTime<Utc>> {
    let refused = matches!(answer.status, StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS);
    if !refused {
        return None;
    }
    let spent = number(&answer.headers, "x-ratelimit-remaining") == Some(0);
    let known = if answer.headers.contains_key(header::RETRY_AFTER) {
        Some(retry_after(answer))
    } else if spent {
        Some(reset(answer))
    } else {
        None
    };
    let said = answer.status == StatusCode::TOO_MANY_REQUESTS || is_about_limits(answer);
    let wait = match known {
        Some(wait) => wait.unwrap_or(DEFAULT_WAIT),
        None if said => DEFAULT_WAIT,
        None => return None,
    };
    Some(answer.received_at + wait.clamp(MIN_WAIT, MAX_WAIT))
}

fn retry_after(answer: &Answer) -> Option<TimeDelta> {
    let text = answer.headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        // More digits than an i64 holds are absurd, but still a request to wait.
        return Some(text.parse().ok().and_then(TimeDelta::try_seconds).unwrap_or(MAX_WAIT));
    }
    http_date(text).map(|at| at - answer.github_now())
}

fn reset(answer: &Answer) -> Option<TimeDelta> {
    let at = DateTime::from_timestamp(number(&answer.headers, "x-ratelimit-reset")?, 0)?;
    // A moment that has passed says nothing about the limit that was just hit.
    Some(at - answer.github_now()).filter(|wait| *wait > TimeDelta::zero())
}

fn is_about_limits(answer: &Answer) -> bool {
    let body = String::from_utf8_lossy(&answer.body).to_ascii_lowercase();
    ["rate limit", "abuse"].iter().any(|sign| body.contains(sign))
}
