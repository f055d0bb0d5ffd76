//! The edges of the table of verdicts; its rows, its words and its clocks beside them.

mod clocks;
mod table;
mod words;

use super::*;
use crate::domain::{
    clock_offset::ClockOffset,
    delivery::{Delivery, Means, Outcome, Redelivery},
    filter::EventPattern,
    policy::{Endpoint, Policy, Repair, Standing, Trust},
    samples::*,
};

fn verdict(delivery: &Delivery, now: i64) -> Verdict {
    judge(delivery, &policy(), &standing(), at(now))
}

fn waiting(why: Wait, until: i64) -> Verdict {
    Verdict::Waiting { why, until: at(until) }
}

fn due(why: Fault, attempt: u64, nth: u32) -> Verdict {
    Verdict::Due { why, attempt: id(attempt), nth }
}

fn trusting(trust: Trust) -> Policy {
    Policy { trust, ..policy() }
}

fn down_until(next_probe_at: i64) -> Standing {
    Standing { endpoint: Endpoint::Down { next_probe_at: at(next_probe_at) }, ..standing() }
}

/// Failed at 0, asked at 60, failed again at 65.
fn failed_twice() -> Delivery {
    Delivery {
        attempts: vec![attempt(1, 0, Some(500)), attempt(2, 65, Some(500))],
        redeliveries: vec![request(1, 1, 60, Outcome::Accepted)],
        ..delivery()
    }
}

#[test]
fn a_later_success_settles_an_earlier_failure_where_github_is_trusted() {
    // W1, W8: fail, fail, OK of one GUID.
    let delivery = Delivery {
        attempts: vec![
            attempt(3, 90, Some(202)),
            attempt(1, 0, Some(500)),
            attempt(2, 60, Some(502)),
        ],
        ..delivery()
    };
    let verdict = judge(&delivery, &trusting(Trust::Github), &standing(), at(HOUR));
    assert_eq!(verdict, Verdict::Settled(Proof::GithubOk));
}

#[test]
fn a_success_followed_by_a_failure_stays_settled() {
    let delivery = Delivery {
        attempts: vec![attempt(1, 0, Some(200)), attempt(2, 60, Some(500))],
        ..delivery()
    };
    let verdict = judge(&delivery, &trusting(Trust::Github), &standing(), at(HOUR));
    assert_eq!(verdict, Verdict::Settled(Proof::GithubOk));
}

#[test]
fn a_redirect_is_a_failure() {
    let verdict = judge(&attempted(302), &trusting(Trust::Github), &standing(), at(60));
    assert_eq!(verdict, due(Fault::Failed, 1, 1));
}

#[test]
fn both_witnesses_are_needed_where_trust_is_both() {
    let both = trusting(Trust::Both);
    let only_received = Delivery { receipt: Some(receipt(1)), ..attempted(500) };
    let agreed = Delivery { receipt: Some(receipt(1)), ..attempted(200) };
    assert_eq!(judge(&attempted(200), &both, &standing(), at(60)), due(Fault::Unseen, 1, 1));
    assert_eq!(judge(&only_received, &both, &standing(), at(60)), due(Fault::Failed, 1, 1));
    assert_eq!(judge(&agreed, &both, &standing(), at(60)), Verdict::Settled(Proof::Received));
}

#[test]
fn github_decides_what_was_attempted_before_recording_began() {
    let began = |since| Standing { recording_since: since, ..standing() };
    let settled = Verdict::Settled(Proof::GithubOk);
    assert_eq!(judge(&attempted(200), &policy(), &began(Some(at(1))), at(60)), settled);
    assert_eq!(judge(&attempted(200), &policy(), &began(None), at(60)), settled);
    assert_eq!(
        judge(&attempted(200), &policy(), &began(Some(at(0))), at(60)),
        due(Fault::Unseen, 1, 1)
    );
    assert_eq!(judge(&attempted(500), &policy(), &began(None), at(60)), due(Fault::Failed, 1, 1));
}

#[test]
fn what_was_asked_for_by_hand_is_not_excused_by_adoption() {
    let by_hand = Delivery { asked_by_hand: true, ..attempted(500) };
    let adopted = |since| Standing { adopted_at: since, ..standing() };
    assert_eq!(judge(&by_hand, &policy(), &adopted(Some(at(1))), at(60)), due(Fault::Failed, 1, 1));
    assert_eq!(judge(&attempted(500), &policy(), &adopted(None), at(60)), due(Fault::Failed, 1, 1));
}

#[test]
fn an_attempt_without_a_code_is_waited_for_and_then_counts_as_failed() {
    // W17
    let unknown = Delivery { attempts: vec![attempt(1, 0, None)], ..delivery() };
    assert_eq!(verdict(&unknown, 31), waiting(Wait::Grace, 600));
    assert_eq!(verdict(&unknown, 600), due(Fault::Failed, 1, 1));
}

#[test]
fn a_long_settle_also_covers_attempts_without_a_code() {
    let slow = Policy { settle: secs(HOUR), ..policy() };
    let unknown = Delivery { attempts: vec![attempt(1, 0, None)], ..delivery() };
    assert_eq!(judge(&unknown, &slow, &standing(), at(600)), waiting(Wait::Grace, HOUR));
}

#[test]
fn in_flight_ends_by_identity_even_if_githubs_clock_is_behind() {
    // The new attempt is listed with a time before our request.
    let mut delivery = failed_twice();
    delivery.attempts = vec![attempt(1, 0, Some(500)), attempt(2, 5, Some(500))];
    assert_eq!(verdict(&delivery, 100), waiting(Wait::Backoff, 120));
}

#[test]
fn only_requests_that_may_bring_an_attempt_are_in_flight() {
    for &outcome in Outcome::ALL {
        let delivery =
            Delivery { redeliveries: vec![request(1, 1, 60, outcome)], ..attempted(500) };
        let expected = match outcome {
            Outcome::Intended | Outcome::Accepted | Outcome::Ambiguous => {
                waiting(Wait::InFlight, 660)
            }
            Outcome::Gone => Verdict::Abandoned(Loss::Expired),
            Outcome::Refused => waiting(Wait::Backoff, 120),
            Outcome::Deferred => due(Fault::Failed, 1, 1),
        };
        assert_eq!(verdict(&delivery, 100), expected, "{outcome:?}");
    }
}

#[test]
fn a_refusal_does_not_hide_an_earlier_request_in_flight() {
    let delivery = Delivery {
        redeliveries: vec![
            request(2, 1, 70, Outcome::Refused),
            request(1, 1, 60, Outcome::Accepted),
        ],
        ..attempted(500)
    };
    assert_eq!(verdict(&delivery, 100), waiting(Wait::InFlight, 660));
}

#[test]
fn a_request_that_brought_nothing_is_repeated_after_its_time() {
    let delivery =
        Delivery { redeliveries: vec![request(1, 1, 60, Outcome::Ambiguous)], ..attempted(500) };
    assert_eq!(verdict(&delivery, 660), due(Fault::Failed, 1, 2));
}

#[test]
fn gone_holds_until_a_newer_attempt_is_listed() {
    // W10
    let mut delivery =
        Delivery { redeliveries: vec![request(1, 1, 60, Outcome::Gone)], ..attempted(500) };
    assert_eq!(verdict(&delivery, HOUR), Verdict::Abandoned(Loss::Expired));
    delivery.attempts.push(attempt(2, 90, Some(500)));
    assert_eq!(verdict(&delivery, HOUR), due(Fault::Failed, 2, 2));
}

#[test]
fn the_last_backoff_repeats() {
    let requests: Vec<Redelivery> = (1..=7)
        .map(|nth| request(nth, u64::from(nth), 60 * i64::from(nth), Outcome::Accepted))
        .collect();
    let delivery = Delivery {
        attempts: (1..=8).map(|n| attempt(n, 70 * i64::try_from(n).unwrap(), Some(500))).collect(),
        redeliveries: requests,
        ..delivery()
    };
    assert_eq!(verdict(&delivery, HOUR), waiting(Wait::Backoff, 420 + 12 * HOUR));
}

#[test]
fn probes_and_deferred_requests_use_up_nothing() {
    let probe =
        |nth, asked| Redelivery { probe: true, ..request(nth, 1, asked, Outcome::Accepted) };
    let delivery = Delivery {
        attempts: vec![attempt(1, 0, Some(500)), attempt(2, 200, Some(500))],
        redeliveries: vec![probe(1, 60), probe(2, 120), request(3, 1, 130, Outcome::Deferred)],
        ..delivery()
    };
    let capped = Policy { max_redeliveries: 1, ..policy() };
    // The number is the next free one all the same.
    assert_eq!(judge(&delivery, &capped, &standing(), at(230)), due(Fault::Failed, 2, 3));
}

#[test]
fn a_probe_is_in_flight_like_any_request() {
    let probe = Redelivery { probe: true, ..request(1, 1, 60, Outcome::Accepted) };
    let delivery = Delivery { redeliveries: vec![probe], ..attempted(500) };
    assert_eq!(verdict(&delivery, 100), waiting(Wait::InFlight, 660));
}

#[test]
fn held_back_deliveries_are_looked_at_again_soon_when_probes_may_go() {
    let verdict = judge(&attempted(500), &policy(), &down_until(30), at(60));
    assert_eq!(verdict, waiting(Wait::EndpointDown, 61));
}

#[test]
fn no_wait_reaches_beyond_the_window() {
    let late = 3 * DAY - 10;
    let verdict = judge(&attempted(500), &policy(), &down_until(4 * DAY), at(late));
    assert_eq!(verdict, waiting(Wait::EndpointDown, 3 * DAY));
}

#[test]
fn what_github_has_not_listed_is_given_time() {
    assert_eq!(verdict(&delivery(), 100), waiting(Wait::Grace, 130));
    let received = Delivery { receipt: Some(receipt(10)), ..delivery() };
    assert_eq!(verdict(&received, 100), Verdict::Settled(Proof::Received));
    let both = trusting(Trust::Both);
    let judged = |now| judge(&received, &both, &standing(), at(now));
    assert_eq!(judged(100), waiting(Wait::Grace, 3 * DAY + 10));
    assert_eq!(judged(3 * DAY + 10), Verdict::Abandoned(Loss::Expired));
}

#[test]
fn a_receipt_settles_what_was_abandoned() {
    let late = Delivery { receipt: Some(receipt(5 * DAY)), ..attempted(500) };
    assert_eq!(verdict(&late, 5 * DAY), Verdict::Settled(Proof::Received));
}

#[test]
fn times_at_the_end_of_the_calendar_do_not_panic() {
    let policy =
        Policy { window: chrono::TimeDelta::MAX, settle: chrono::TimeDelta::MAX, ..policy() };
    let verdict = judge(&attempted(500), &policy, &standing(), at(60));
    let until = chrono::DateTime::<chrono::Utc>::MAX_UTC;
    assert_eq!(verdict, Verdict::Waiting { why: Wait::Grace, until });
}

#[test]
fn the_means_follow_the_repair_policy() {
    let repairing = |repair| Policy { repair, ..policy() };
    let asked = |fetches: &[u32], asks: &[u32]| {
        let requests = asks.iter().map(|&nth| request(nth, 1, 0, Outcome::Accepted));
        let fetches = fetches
            .iter()
            .map(|&nth| Redelivery { means: Means::Fetch, ..request(nth, 1, 0, Outcome::Refused) });
        Delivery { redeliveries: requests.chain(fetches).collect(), ..attempted(500) }
    };
    let mixed = repairing(Repair::RedeliverThenFetch);
    assert_eq!(means(&asked(&[], &[1, 2]), &repairing(Repair::Redeliver)), Means::Redeliver);
    assert_eq!(means(&asked(&[], &[]), &repairing(Repair::Fetch)), Means::Fetch);
    assert_eq!(means(&asked(&[], &[1]), &mixed), Means::Redeliver);
    assert_eq!(means(&asked(&[], &[1, 2]), &mixed), Means::Fetch);
    assert_eq!(means(&asked(&[3], &[1, 2]), &mixed), Means::Redeliver);
    assert_eq!(means(&asked(&[3], &[1, 2, 4, 5]), &mixed), Means::Fetch);
    let mut deferred = asked(&[], &[1]);
    deferred.redeliveries.push(request(2, 1, 0, Outcome::Deferred));
    assert_eq!(means(&deferred, &mixed), Means::Redeliver);
}
