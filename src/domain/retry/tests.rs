use chrono::TimeZone;

use super::*;

fn now() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 3, 1, 12, 0, 0).unwrap()
}

fn policy() -> RetryPolicy {
    RetryPolicy { max_attempts: 4, backoff: vec![Duration::from_secs(10), Duration::from_mins(1)] }
}

fn wait_after(attempt: u32, jitter: f64) -> i64 {
    match next(&policy(), HandoverResult::Failed, attempt, None, jitter, now()) {
        Next::Again { due_at } => (due_at - now()).num_milliseconds(),
        other @ (Next::Done | Next::Dead) => panic!("{other:?}"),
    }
}

#[test]
fn the_wait_follows_the_schedule_and_its_last_value_repeats() {
    assert_eq!([1, 2, 3].map(|n| wait_after(n, 0.5)), [10_000, 60_000, 60_000]);
}

#[test]
fn jitter_spreads_the_wait_by_a_fifth_to_both_sides() {
    assert_eq!(wait_after(1, 0.0), 8_000);
    assert_eq!(wait_after(1, 1.0), 12_000);
    assert_eq!(wait_after(1, 7.0), 12_000, "a number out of range is cut");
}

#[test]
fn the_last_allowed_attempt_makes_an_event_dead_whatever_failed() {
    // S20
    for result in [
        HandoverResult::Failed,
        HandoverResult::Timeout,
        HandoverResult::Unreachable,
        HandoverResult::Expired,
    ] {
        assert_eq!(next(&policy(), result, 4, None, 0.5, now()), Next::Dead);
        assert_ne!(next(&policy(), result, 3, None, 0.5, now()), Next::Dead);
    }
}

#[test]
fn success_is_done_even_at_the_last_attempt_and_gone_is_dead_at_the_first() {
    assert_eq!(next(&policy(), HandoverResult::Processed, 9, None, 0.5, now()), Next::Done);
    assert_eq!(next(&policy(), HandoverResult::Gone, 1, None, 0.5, now()), Next::Dead);
    assert_eq!(next(&policy(), HandoverResult::Unsendable, 1, None, 0.5, now()), Next::Dead);
}

#[test]
fn what_the_application_asks_for_replaces_the_schedule_within_a_second_and_a_day() {
    for (asked, obeyed) in [(0, 1), (3, 3), (7_200, 7_200), (999_999, 86_400)] {
        let asked = Some(TimeDelta::seconds(asked));
        assert_eq!(
            next(&policy(), HandoverResult::Failed, 1, asked, 0.0, now()),
            Next::Again { due_at: now() + TimeDelta::seconds(obeyed) }
        );
    }
}

#[test]
fn only_2xx_is_taken() {
    for status in [200, 201, 204, 299] {
        assert_eq!(classify(status), HandoverResult::Processed, "{status}");
    }
    for status in [100, 199, 300, 301, 304, 400, 404, 409, 411, 429, 500, 503] {
        assert_eq!(classify(status), HandoverResult::Failed, "{status}");
    }
    assert_eq!(classify(410), HandoverResult::Gone);
}

#[test]
fn retry_after_is_read_in_both_forms() {
    let seconds = |value| retry_after(value, now()).map(|wait| wait.num_seconds());
    assert_eq!(seconds("120"), Some(120));
    assert_eq!(seconds(" 0 "), Some(0));
    assert_eq!(seconds("99999999999999999999"), Some(i64::from(u32::MAX)));
    assert_eq!(seconds("Sun, 01 Mar 2026 12:01:30 GMT"), Some(90));
    assert_eq!(seconds("Sunday, 01-Mar-26 12:01:30 GMT"), Some(90));
    assert_eq!(seconds("Sun Mar  1 12:01:30 2026"), Some(90));
    assert_eq!(seconds("Sun, 01 Mar 2026 11:00:00 GMT"), Some(0), "a date in the past");
    for nonsense in ["", "soon", "-5", "1.5", "2026-03-01T12:00:00Z", "12 s"] {
        assert_eq!(seconds(nonsense), None, "{nonsense}");
    }
}

#[test]
fn neither_fresh_events_nor_retries_get_all_slots() {
    assert_eq!(share_of_retries(8, 0), 4);
    assert_eq!([share_of_retries(1, 0), share_of_retries(1, 1)], [0, 1]);
    assert_eq!([share_of_retries(3, 0), share_of_retries(3, 1)], [1, 2]);
    assert_eq!(share_of_retries(0, 1), 0);
}
