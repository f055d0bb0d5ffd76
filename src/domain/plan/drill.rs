//! Judge, plan and ramp together over virtual days, against an endpoint that dies and returns.

use chrono::TimeDelta;

use super::*;
use crate::domain::{
    delivery::{Delivery, Means, Outcome, Receipt, Redelivery, Via},
    policy::{Repair, Standing},
    samples::*,
    verdict::{Loss, Verdict, judge, means},
};

const PERIOD: i64 = 2 * MINUTE;

/// One hook, its deliveries, and an endpoint that takes what `takes` says.
struct Drill {
    policy: Policy,
    deliveries: Vec<Delivery>,
    ramp: Ramp,
    next_id: u64,
    fresh_arrival: Option<DateTime<Utc>>,
    /// Requests per sweep.
    bursts: Vec<usize>,
}

impl Drill {
    /// This many deliveries that failed at the fixed moment.
    fn new(count: u64) -> Self {
        let failed = |n| Delivery {
            guid: guid(&format!("g{n}")),
            attempts: vec![attempt(n, 0, Some(502))],
            ..delivery()
        };
        Self {
            policy: policy(),
            deliveries: (1..=count).map(failed).collect(),
            ramp: Ramp::new(&policy()),
            next_id: count + 1,
            fresh_arrival: None,
            bursts: Vec::new(),
        }
    }

    fn verdicts(&self, standing: &Standing, now: i64) -> Vec<Verdict> {
        self.deliveries.iter().map(|d| judge(d, &self.policy, standing, at(now))).collect()
    }

    /// One sweep as the sweeper makes it; GitHub delivers what was asked within five seconds.
    fn sweep(&mut self, now: i64, takes: impl Fn(&str) -> bool) {
        let (policy, standing) = (self.policy.clone(), standing());
        let facts = self.ramp.last_batch_at.map_or(BatchFacts::default(), |since| {
            batch_facts(&self.deliveries, since, &policy, &standing, at(now))
        });
        let facts = BatchFacts { fresh_arrival: self.fresh_arrival, ..facts };
        let period = TimeDelta::seconds(PERIOD);
        self.ramp = self.ramp.clone().observe(&facts, &policy, period, at(now));
        let due: Vec<Candidate> = self
            .deliveries
            .iter()
            .filter_map(|delivery| match judge(delivery, &policy, &standing, at(now)) {
                Verdict::Due { attempt, nth, .. } => Some(Candidate {
                    guid: delivery.guid.clone(),
                    attempt,
                    nth,
                    expires_at: delivery.expires_at(policy.window).unwrap(),
                }),
                Verdict::Settled(_)
                | Verdict::Waiting { .. }
                | Verdict::Abandoned(_)
                | Verdict::Excused(_) => None,
            })
            .collect();
        if due.is_empty() {
            self.ramp = self.ramp.clone().rest(&policy);
        }
        let plan = plan(due, &self.ramp, &policy, at(now));
        self.bursts.push(plan.ask.len());
        if !plan.ask.is_empty() {
            self.ramp = self.ramp.clone().asked(at(now));
        }
        let probe = self.ramp.down.is_some();
        for candidate in plan.ask {
            let arrives = takes(candidate.guid.as_str());
            let code = if arrives { 202 } else { 502 };
            let delivery = self.deliveries.iter_mut().find(|d| d.guid == candidate.guid).unwrap();
            let means = means(delivery, &policy);
            let request = request(candidate.nth, 1, now, Outcome::Accepted);
            delivery.redeliveries.push(Redelivery {
                means,
                attempt: candidate.attempt,
                probe,
                ..request
            });
            if means == Means::Fetch {
                delivery.receipt = Some(Receipt { via: Via::Api, ..receipt(now) });
                continue;
            }
            delivery.attempts.push(attempt(self.next_id, now + 5, Some(code)));
            delivery.receipt = arrives.then(|| receipt(now + 5));
            self.next_id += 1;
        }
    }

    fn counted(&self) -> Vec<usize> {
        self.deliveries.iter().map(|d| d.counted().count()).collect()
    }
}

#[test]
fn a_long_outage_exhausts_nothing_and_its_end_brings_no_burst() {
    let mut drill = Drill::new(200);
    for now in (PERIOD..2 * DAY).step_by(120) {
        drill.sweep(now, |_| false);
    }
    assert!(drill.counted().into_iter().all(|counted| counted <= 1));
    assert!(drill.bursts.iter().all(|asked| *asked <= 3));
    // Two sweeps asking three each, then at most three in each ten minutes.
    assert!(drill.bursts.iter().sum::<usize>() < 3 * (2 * 24 * 6 + 10));

    drill.bursts.clear();
    for now in (2 * DAY..2 * DAY + 2 * HOUR).step_by(120) {
        drill.sweep(now, |_| true);
    }
    drill.bursts.retain(|asked| *asked > 0);
    assert_eq!(drill.bursts, [3, 6, 12, 24, 48, 96, 11]);
    let open = drill.verdicts(&standing(), 3 * DAY).into_iter().filter(|v| !v.is_closed()).count();
    assert_eq!(open, 0);
}

#[test]
fn a_hopeless_delivery_among_fresh_arrivals_stops_at_the_cap() {
    // W9
    let mut drill = Drill::new(1);
    for now in (PERIOD..3 * DAY).step_by(120) {
        drill.fresh_arrival = Some(at(now - 1));
        drill.sweep(now, |_| false);
    }
    assert_eq!(drill.counted(), [8]);
    assert_eq!(drill.bursts.iter().sum::<usize>(), 8);
    let verdicts = drill.verdicts(&standing(), 3 * DAY);
    assert_eq!(verdicts, [Verdict::Abandoned(Loss::Exhausted)]);
}

#[test]
fn hopeless_deliveries_on_a_quiet_hook_do_not_keep_the_others_waiting() {
    let mut drill = Drill::new(40);
    for now in (PERIOD..DAY).step_by(120) {
        drill.sweep(now, |name| !matches!(name, "g1" | "g10" | "g11"));
    }
    let settled = drill.verdicts(&standing(), DAY).iter().filter(|v| v.is_closed()).count();
    assert_eq!(settled, 37);
    assert!(drill.counted().into_iter().all(|counted| counted <= 8));
}

#[test]
fn what_is_read_through_the_api_does_not_make_a_dead_endpoint_look_well() {
    let mut drill = Drill::new(200);
    drill.policy.repair = Repair::RedeliverThenFetch;
    for now in (PERIOD..2 * DAY).step_by(120) {
        drill.sweep(now, |_| false);
    }
    assert!(drill.bursts.iter().all(|asked| *asked <= 3), "{:?}", drill.bursts);
    assert!(drill.ramp.down.is_some());
    let read = drill.verdicts(&standing(), 2 * DAY).iter().filter(|v| v.is_closed()).count();
    assert!(read > 100, "{read} of 200 were read");
}

#[test]
fn a_hook_that_only_reads_gets_faster_as_it_succeeds() {
    let mut drill = Drill::new(40);
    drill.policy.repair = Repair::Fetch;
    for now in (PERIOD..6 * PERIOD).step_by(120) {
        drill.sweep(now, |_| false);
    }
    assert_eq!(drill.bursts, [3, 6, 12, 19, 0]);
}
