//! One row per line of the table, then its edges.

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
fn each_row_of_the_table_has_its_story() {
    let unwanted = Policy {
        filter: crate::domain::filter::Filter {
            exclude: vec![EventPattern { event: "push".to_owned(), action: None }],
            ..Default::default()
        },
        ..policy()
    };
    let late_adopter = Standing { adopted_at: Some(at(1)), ..standing() };
    let received = Delivery { receipt: Some(receipt(1)), ..attempted(504) };
    let in_flight =
        Delivery { redeliveries: vec![request(1, 1, 60, Outcome::Accepted)], ..attempted(500) };
    let capped = Policy { max_redeliveries: 1, ..policy() };
    let dismissed = Delivery { dismissed: true, ..received.clone() };

    let table: [(&str, &Delivery, &Policy, &Standing, i64, Verdict); 13] = [
        // 1: the operator's word goes before everything.
        ("dismissed", &dismissed, &policy(), &standing(), 60, Verdict::Excused(Excuse::Dismissed)),
        // 2 (D27): what the filter excludes is never missing.
        (
            "filtered",
            &attempted(500),
            &unwanted,
            &standing(),
            60,
            Verdict::Excused(Excuse::NotWanted),
        ),
        // 3 (W12, R7): GitHub gave up waiting, the event is here all the same.
        (
            "timed out but received",
            &received,
            &policy(),
            &standing(),
            60,
            Verdict::Settled(Proof::Received),
        ),
        // 4: nothing but GitHub's word to go by.
        (
            "ok by github",
            &attempted(200),
            &trusting(Trust::Github),
            &standing(),
            60,
            Verdict::Settled(Proof::GithubOk),
        ),
        // 5 (L18): older than the adoption.
        (
            "adopted",
            &attempted(500),
            &policy(),
            &late_adopter,
            60,
            Verdict::Excused(Excuse::Adopted),
        ),
        // 6: too fresh to conclude anything.
        ("fresh", &attempted(500), &policy(), &standing(), 10, waiting(Wait::Grace, 30)),
        // 7: asked, the attempt is not listed yet.
        ("in flight", &in_flight, &policy(), &standing(), 300, waiting(Wait::InFlight, 660)),
        // 8 (W20): older than GitHub redelivers.
        (
            "aged out",
            &attempted(500),
            &policy(),
            &standing(),
            3 * DAY,
            Verdict::Abandoned(Loss::Expired),
        ),
        // 9 (W9): asked as often as allowed.
        (
            "gave up",
            &failed_twice(),
            &capped,
            &standing(),
            HOUR,
            Verdict::Abandoned(Loss::Exhausted),
        ),
        // 10: a minute after the first request.
        ("backing off", &failed_twice(), &policy(), &standing(), 100, waiting(Wait::Backoff, 120)),
        // 11: nothing arrives at the endpoint.
        (
            "held back",
            &attempted(500),
            &policy(),
            &down_until(600),
            60,
            waiting(Wait::EndpointDown, 600),
        ),
        // 12 (W18): a proxy answered, the receiver never saw it.
        ("phantom ack", &attempted(200), &policy(), &standing(), 60, due(Fault::Unseen, 1, 1)),
        // 13: simply failed.
        ("failed", &failed_twice(), &policy(), &standing(), 120, due(Fault::Failed, 2, 2)),
    ];
    for (story, delivery, policy, standing, now, expected) in table {
        assert_eq!(judge(delivery, policy, standing, at(now)), expected, "{story}");
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

#[test]
fn missing_is_due_or_abandoned_or_waiting_for_anything_but_grace() {
    let cases = [
        (Verdict::Settled(Proof::Received), false),
        (waiting(Wait::Grace, 0), false),
        (waiting(Wait::InFlight, 0), true),
        (waiting(Wait::Backoff, 0), true),
        (waiting(Wait::EndpointDown, 0), true),
        (due(Fault::Failed, 1, 1), true),
        (Verdict::Abandoned(Loss::Expired), true),
        (Verdict::Excused(Excuse::Adopted), false),
    ];
    for (verdict, missing) in cases {
        assert_eq!(verdict.is_missing(), missing, "{verdict:?}");
    }
}

#[test]
fn the_words_are_stable() {
    let words: Vec<&str> = Proof::ALL
        .iter()
        .map(|w| w.as_str())
        .chain(Wait::ALL.iter().map(|w| w.as_str()))
        .chain(Fault::ALL.iter().map(|w| w.as_str()))
        .chain(Loss::ALL.iter().map(|w| w.as_str()))
        .chain(Excuse::ALL.iter().map(|w| w.as_str()))
        .collect();
    assert_eq!(
        words,
        [
            "received",
            "github_ok",
            "grace",
            "in_flight",
            "backoff",
            "endpoint_down",
            "unseen",
            "failed",
            "expired",
            "exhausted",
            "dismissed",
            "not_wanted",
            "adopted",
        ]
    );
    let verdicts = [
        Verdict::Settled(Proof::Received),
        waiting(Wait::Grace, 0),
        due(Fault::Failed, 1, 1),
        Verdict::Abandoned(Loss::Expired),
        Verdict::Excused(Excuse::Dismissed),
    ];
    let words: Vec<(&str, &str)> = verdicts.iter().map(|v| (v.word(), v.reason())).collect();
    assert_eq!(
        words,
        [
            ("settled", "received"),
            ("waiting", "grace"),
            ("due", "failed"),
            ("abandoned", "expired"),
            ("excused", "dismissed"),
        ]
    );
}

/// GitHub's clock is 20 minutes off ours; attempts at 0, 3600 and so on by GitHub's clock.
#[test]
fn attempts_are_judged_by_githubs_clock_and_our_own_acts_by_ours() {
    const OFF: i64 = 20 * MINUTE;
    let skewed = |offset| Standing { clock_offset: ClockOffset::new(secs(offset)), ..standing() };
    // By our clock: ours is 20 minutes behind, so what GitHub made at 0 was at -1200; and ahead.
    let (behind, ahead) = (skewed(OFF), skewed(-OFF));
    let recording = |since, standing: &Standing| Standing {
        recording_since: Some(at(since)),
        ..standing.clone()
    };
    let adopted =
        |since, standing: &Standing| Standing { adopted_at: Some(at(since)), ..standing.clone() };
    let ok = attempted(200);
    let failed = attempted(500);
    let by_github = Verdict::Settled(Proof::GithubOk);
    let old = Verdict::Excused(Excuse::Adopted);
    let expired = Verdict::Abandoned(Loss::Expired);
    let asked =
        Delivery { redeliveries: vec![request(1, 1, 60, Outcome::Accepted)], ..attempted(500) };
    let table: [(&str, &Delivery, Standing, i64, Verdict); 16] = [
        // 4: recording since a time of ours, attempted at one of GitHub's.
        ("ok before recording", &ok, recording(1 - OFF, &behind), HOUR, by_github.clone()),
        ("ok after it", &ok, recording(-OFF, &behind), HOUR, due(Fault::Unseen, 1, 1)),
        ("ok before recording, ahead", &ok, recording(OFF + 1, &ahead), HOUR, by_github),
        ("ok after it, ahead", &ok, recording(OFF, &ahead), HOUR, due(Fault::Unseen, 1, 1)),
        // 5: adoption is a time of GitHub's.
        ("adopted", &failed, adopted(1, &behind), HOUR, old.clone()),
        ("not adopted", &failed, adopted(0, &behind), HOUR, due(Fault::Failed, 1, 1)),
        ("adopted, ahead", &failed, adopted(1, &ahead), HOUR, old),
        ("not adopted, ahead", &failed, adopted(0, &ahead), HOUR, due(Fault::Failed, 1, 1)),
        // 6: a clock that is behind holds nothing back, one that is ahead shortens no grace.
        ("fresh", &failed, behind.clone(), 29 - OFF, waiting(Wait::Grace, 30 - OFF)),
        ("settled down", &failed, behind.clone(), 30 - OFF, due(Fault::Failed, 1, 1)),
        ("fresh, ahead", &failed, ahead.clone(), 29 + OFF, waiting(Wait::Grace, 30 + OFF)),
        ("settled down, ahead", &failed, ahead.clone(), 30 + OFF, due(Fault::Failed, 1, 1)),
        // 7: asked by our clock, looked at by our clock.
        ("in flight", &asked, behind.clone(), 60 + 599, waiting(Wait::InFlight, 660)),
        // 8: the window is GitHub's.
        ("expired", &failed, behind, 3 * DAY - OFF, expired.clone()),
        ("not yet, ahead", &failed, ahead.clone(), 3 * DAY + OFF - 1, due(Fault::Failed, 1, 1)),
        ("expired, ahead", &failed, ahead, 3 * DAY + OFF, expired),
    ];
    for (story, delivery, standing, now, expected) in table {
        assert_eq!(judge(delivery, &policy(), &standing, at(now)), expected, "{story}");
    }
}

#[test]
fn the_wait_after_a_request_runs_by_our_clock_alone() {
    let standing = Standing { clock_offset: ClockOffset::new(secs(-HOUR)), ..standing() };
    // Seen at 65 by GitHub's clock, which is an hour behind; asked at 3660 by ours.
    let delivery = Delivery {
        attempts: vec![attempt(1, 0, Some(500)), attempt(2, 65, Some(500))],
        redeliveries: vec![request(1, 1, HOUR + 60, Outcome::Accepted)],
        ..delivery()
    };
    let judged = |now| judge(&delivery, &policy(), &standing, at(now));
    assert_eq!(judged(HOUR + 119), waiting(Wait::Backoff, HOUR + 120));
    assert_eq!(judged(HOUR + 120), due(Fault::Failed, 2, 2));
}
