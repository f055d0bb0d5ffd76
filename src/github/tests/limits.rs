//! When an answer is a rate limit, and how long it lasts.

use bytes::Bytes;
use chrono::TimeDelta;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::{
    attempt, client, noon,
    server::{Server, reply},
};
use crate::github::{GitHubError, PageRef, limits::limited_until, transport::Answer};

/// Seconds from noon until sending is allowed again.
fn wait(status: u16, headers: &[(&str, &str)], body: &str) -> Option<i64> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    let answer = Answer {
        status: StatusCode::from_u16(status).unwrap(),
        headers: map,
        body: Bytes::copy_from_slice(body.as_bytes()),
        cut: None,
        received_at: noon(),
    };
    limited_until(&answer).map(|until| (until - noon()).num_seconds())
}

const SPENT: (&str, &str) = ("x-ratelimit-remaining", "0");

#[test]
fn retry_after_goes_first() {
    let reset = (noon() + TimeDelta::minutes(30)).timestamp().to_string();
    let headers = [("retry-after", "17"), SPENT, ("x-ratelimit-reset", &reset)];
    assert_eq!(wait(403, &headers, ""), Some(17));
    assert_eq!(wait(429, &headers, ""), Some(17));
}

#[test]
fn retry_after_may_be_a_date_on_githubs_clock() {
    let at = ("retry-after", "Mon, 30 Nov 2026 12:05:00 GMT");
    assert_eq!(wait(429, &[at], ""), Some(300));
    assert_eq!(wait(429, &[at, ("date", "Mon, 30 Nov 2026 12:04:00 GMT")], ""), Some(60));
}

#[test]
fn a_reset_is_on_githubs_clock_and_counts_when_nothing_remains() {
    let reset = (noon() + TimeDelta::minutes(30)).timestamp().to_string();
    let reset = ("x-ratelimit-reset", reset.as_str());
    assert_eq!(wait(403, &[SPENT, reset], ""), Some(1800));
    // GitHub's clock is ten minutes ahead of ours.
    let date = ("date", "Mon, 30 Nov 2026 12:10:00 GMT");
    assert_eq!(wait(403, &[SPENT, reset, date], ""), Some(1200));
    // Something remains: the reset says nothing about this refusal.
    assert_eq!(wait(429, &[("x-ratelimit-remaining", "9"), reset], ""), Some(60));
}

#[test]
fn a_limit_that_names_no_time_waits_a_minute() {
    assert_eq!(wait(429, &[], ""), Some(60));
    assert_eq!(wait(403, &[SPENT], ""), Some(60));
    assert_eq!(
        wait(403, &[], r#"{"message":"You have exceeded a secondary rate limit"}"#),
        Some(60)
    );
    assert_eq!(
        wait(403, &[], r#"{"message":"You have triggered an abuse detection mechanism"}"#),
        Some(60)
    );
}

#[test]
fn absurd_times_are_bounded() {
    assert_eq!(wait(429, &[("retry-after", "99999999999999999999999")], ""), Some(86_400));
    assert_eq!(wait(429, &[("retry-after", "9223372036854775807")], ""), Some(86_400));
    assert_eq!(wait(429, &[("retry-after", "0")], ""), Some(1));
    assert_eq!(wait(429, &[("retry-after", "-5")], ""), Some(60));
    assert_eq!(wait(429, &[("retry-after", "soon")], ""), Some(60));
    assert_eq!(wait(403, &[SPENT, ("x-ratelimit-reset", "9223372036854775807")], ""), Some(60));
    assert_eq!(wait(403, &[SPENT, ("x-ratelimit-reset", "4102444800")], ""), Some(86_400));
    assert_eq!(wait(403, &[SPENT, ("x-ratelimit-reset", "1")], ""), Some(60));
}

#[test]
fn another_refusal_is_no_limit() {
    assert_eq!(wait(403, &[("x-ratelimit-remaining", "12")], "Resource not accessible"), None);
    assert_eq!(wait(422, &[SPENT], "rate limit"), None);
}

#[tokio::test]
async fn a_limit_stops_reads_and_redeliveries_without_another_try() {
    let server = Server::start(|_| {
        let limit = || reply(429, &[("Retry-After", "30")], r#"{"message":"slow down"}"#);
        vec![limit(), limit()]
    })
    .await;
    let client = client(&server.origin);
    let expected = GitHubError::RateLimited {
        until: noon() + TimeDelta::seconds(30),
        message: "slow down".to_owned(),
    };
    assert_eq!(client.list_attempts(&PageRef::Head).await.unwrap_err().error, expected);
    assert_eq!(client.redeliver(attempt(5)).await.unwrap_err().error, expected);
    assert_eq!(server.asked().len(), 2);
}
