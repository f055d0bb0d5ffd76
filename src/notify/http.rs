//! One POST to a channel: bounded in time, sent once, and its refusal understood.

use std::time::Duration;

use chrono::{DateTime, Utc};
use http::{HeaderMap, StatusCode, header};
use url::Url;

use super::Failure;

/// How long a channel may take to connect and to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longer than this nobody is left alone, whatever it asks for.
const LONGEST: Duration = Duration::from_hours(1);

/// A client for one channel. It follows no redirect, because secrets travel in what it sends.
pub(super) fn client(url: &Url) -> Result<reqwest::Client, String> {
    let builder = reqwest::Client::builder()
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .user_agent(concat!("redeliverd/", env!("CARGO_PKG_VERSION")));
    // Plain http is accepted for loopback addresses only, where no proxy belongs.
    let builder = if url.scheme() == "http" { builder.no_proxy() } else { builder };
    builder.build().map_err(|error| format!("the HTTP client cannot be set up: {error}"))
}

/// Sends one request, once.
pub(super) async fn send(
    request: reqwest::RequestBuilder,
    now: DateTime<Utc>,
) -> Result<(), Failure> {
    // The URL is often a secret in itself.
    let answer =
        request.send().await.map_err(|error| Failure::new(reason(&error.without_url())))?;
    if answer.status().is_success() {
        return Ok(());
    }
    Err(refusal(answer.status(), answer.headers(), now))
}

fn refusal(status: StatusCode, headers: &HeaderMap, now: DateTime<Utc>) -> Failure {
    let asked = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = asked.and_then(|text| retry_after(text, now));
    Failure { message: format!("it answered {status}"), retry_after }
}

/// `Retry-After`: seconds, also with a fraction, or a date.
fn retry_after(text: &str, now: DateTime<Utc>) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        let seconds = seconds.clamp(0.0, LONGEST.as_secs_f64());
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = DateTime::parse_from_rfc2822(text).ok()?;
    Some((at.with_timezone(&Utc) - now).to_std().unwrap_or_default().min(LONGEST))
}

/// What went wrong, down to its cause; reqwest's own text stops at "error sending request".
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", PATIENCE.as_secs());
    }
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date_and_never_for_ever() {
        let now: DateTime<Utc> = "2026-11-30T12:00:00Z".parse().unwrap();
        let table = [
            ("30", Some(30)),
            (" 1.0 ", Some(1)),
            ("Mon, 30 Nov 2026 12:02:00 GMT", Some(120)),
            ("Mon, 30 Nov 2026 11:00:00 GMT", Some(0)),
            ("99999999999", Some(3_600)),
            ("-5", Some(0)),
            ("NaN", None),
            ("soon", None),
        ];
        for (text, seconds) in table {
            assert_eq!(retry_after(text, now), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
