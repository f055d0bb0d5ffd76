//! What holds for every delivery, whatever the facts.

use chrono::TimeDelta;
use proptest::{collection::vec, option, prelude::*, sample::select};

use super::*;
use crate::domain::{
    attempt::Attempt,
    clock_offset::ClockOffset,
    delivery::{Delivery, Means, Outcome, Redelivery},
    policy::{Endpoint, Policy, Repair, Standing, Trust},
    samples::*,
};

/// Later than every `until` that the generated facts can lead to.
const FAR: i64 = 40 * DAY;

fn attempts() -> impl Strategy<Value = Vec<Attempt>> {
    let code =
        prop_oneof![Just(None), select(vec![200, 202, 302, 404, 500, 502, 504]).prop_map(Some)];
    vec((0..4 * DAY, code), 1..6).prop_map(|rows| {
        (1..).zip(rows).map(|(n, (delivered, code))| attempt(n, delivered, code)).collect()
    })
}

fn requests() -> impl Strategy<Value = Vec<Redelivery>> {
    let rows = (1..6u64, 0..4 * DAY, select(Outcome::ALL), select(Means::ALL), any::<bool>());
    vec(rows, 0..10).prop_map(|rows| {
        (1..)
            .zip(rows)
            .map(|(nth, (of, asked, outcome, means, probe))| Redelivery {
                means,
                probe,
                ..request(nth, of, asked, outcome)
            })
            .collect()
    })
}

prop_compose! {
    fn deliveries()(
        attempts in attempts(),
        redeliveries in requests(),
        received in option::weighted(0.2, 0..4 * DAY),
        dismissed in prop::bool::weighted(0.1),
        asked_by_hand in any::<bool>(),
    ) -> Delivery {
        let receipt = received.map(receipt);
        Delivery { attempts, redeliveries, receipt, dismissed, asked_by_hand, ..delivery() }
    }
}

prop_compose! {
    fn policies()(
        trust in select(Trust::ALL),
        repair in select(Repair::ALL),
        max_redeliveries in 0..10u32,
        settle in 1..HOUR,
        confirm in 1..HOUR,
        waits in vec(1..12 * HOUR, 1..6),
    ) -> Policy {
        let backoff = waits.into_iter().map(secs).collect();
        let (settle, confirm_within) = (secs(settle), secs(confirm));
        Policy { trust, repair, settle, confirm_within, backoff, max_redeliveries, ..policy() }
    }
}

prop_compose! {
    fn standings()(
        recording in option::of(0..4 * DAY),
        adopted in option::of(0..DAY),
        probe in option::weighted(0.3, 0..5 * DAY),
        offset in -HOUR..HOUR,
    ) -> Standing {
        Standing {
            recording_since: recording.map(at),
            adopted_at: adopted.map(at),
            endpoint: probe.map_or(Endpoint::Up, |p| Endpoint::Down { next_probe_at: at(p) }),
            clock_offset: ClockOffset::new(secs(offset)),
        }
    }
}

fn counted(delivery: &Delivery) -> usize {
    delivery.redeliveries.iter().filter(|r| !r.probe && r.outcome != Outcome::Deferred).count()
}

fn concluded(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Settled(_) | Verdict::Excused(_) | Verdict::Abandoned(_))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_receipt_settles_whatever_else_is_known(
        d in deliveries(), p in policies(), s in standings(), now in 0..FAR,
    ) {
        let d = Delivery { receipt: Some(receipt(0)), dismissed: false, ..d };
        let p = Policy { trust: Trust::Receipt, ..p };
        prop_assert_eq!(judge(&d, &p, &s, at(now)), Verdict::Settled(Proof::Received));
    }

    #[test]
    fn the_order_of_the_facts_does_not_matter(
        (d, attempts, redeliveries) in deliveries().prop_flat_map(|d| {
            let attempts = Just(d.attempts.clone()).prop_shuffle();
            let redeliveries = Just(d.redeliveries.clone()).prop_shuffle();
            (Just(d), attempts, redeliveries)
        }),
        p in policies(), s in standings(), now in 0..5 * DAY,
    ) {
        let shuffled = Delivery { attempts, redeliveries, ..d.clone() };
        prop_assert_eq!(judge(&shuffled, &p, &s, at(now)), judge(&d, &p, &s, at(now)));
        prop_assert_eq!(means(&shuffled, &p), means(&d, &p));
    }

    #[test]
    fn nothing_is_due_beyond_the_cap_or_the_window(
        d in deliveries(), p in policies(), s in standings(), now in 0..8 * DAY,
    ) {
        if let Verdict::Due { attempt, nth, .. } = judge(&d, &p, &s, at(now)) {
            let newest = d.attempts.iter().max_by_key(|a| (a.delivered_at, a.id)).unwrap();
            prop_assert!(counted(&d) < usize::try_from(p.max_redeliveries).unwrap());
            let githubs_now = at(now) + s.clock_offset.get();
            prop_assert!(githubs_now - newest.delivered_at < p.window);
            prop_assert_eq!(attempt, newest.id);
            prop_assert!(nth >= 1);
        }
    }

    #[test]
    fn a_wait_lies_ahead_and_ends_in_few_hops(
        d in deliveries(), p in policies(), s in standings(), start in 0..5 * DAY,
    ) {
        let mut now = at(start);
        let mut hops = 0;
        let s = Standing { endpoint: Endpoint::Up, ..s };
        while let Verdict::Waiting { until, .. } = judge(&d, &p, &s, now) {
            prop_assert!(until > now);
            now = until;
            hops += 1;
            prop_assert!(hops <= 3);
        }
    }

    #[test]
    fn a_wait_lies_ahead_while_the_endpoint_is_down_too(
        d in deliveries(), p in policies(), s in standings(), now in 0..5 * DAY,
    ) {
        if let Verdict::Waiting { until, .. } = judge(&d, &p, &s, at(now)) {
            prop_assert!(until > at(now));
        }
    }

    #[test]
    fn before_its_time_a_wait_does_not_end_by_itself(
        d in deliveries(), p in policies(), s in standings(), now in 0..5 * DAY, share in 0..1000i32,
    ) {
        let s = Standing { endpoint: Endpoint::Up, ..s };
        let verdict = judge(&d, &p, &s, at(now));
        if let Verdict::Waiting { until, .. } = verdict {
            let between = at(now) + (until - at(now) - TimeDelta::nanoseconds(1)) / 1000 * share;
            prop_assert_eq!(judge(&d, &p, &s, between), verdict);
        }
    }

    #[test]
    fn one_more_failed_attempt_never_reopens_a_closed_delivery(
        d in deliveries(), p in policies(), s in standings(), now in 0..5 * DAY, later in 0..5 * DAY,
    ) {
        let before = judge(&d, &p, &s, at(now));
        if before.is_closed() {
            let mut more = d;
            more.attempts.push(attempt(99, later, Some(500)));
            prop_assert_eq!(judge(&more, &p, &s, at(now)), before);
        }
    }

    #[test]
    fn far_in_the_future_everything_is_concluded(
        d in deliveries(), p in policies(), s in standings(), listed in any::<bool>(),
    ) {
        let mut d = d;
        if !listed {
            d.attempts.clear();
            d.receipt = Some(receipt(0));
        }
        let verdict = judge(&d, &p, &s, at(FAR));
        prop_assert!(concluded(&verdict), "{:?}", verdict);
    }
}
