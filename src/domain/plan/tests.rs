//! Who is asked, and what a hook learns from what became of it.

use chrono::TimeDelta;
use proptest::{collection::vec, prelude::*};

use super::*;
use crate::domain::{
    delivery::{Delivery, Means, Outcome, Redelivery},
    policy::Trust,
    samples::*,
};

const PERIOD: TimeDelta = TimeDelta::minutes(2);

fn candidate(name: &str, nth: u32, expires: i64) -> Candidate {
    Candidate { guid: guid(name), attempt: id(1), nth, expires_at: at(expires) }
}

fn names(candidates: &[Candidate]) -> Vec<&str> {
    candidates.iter().map(|c| c.guid.as_str()).collect()
}

fn up(allowance: u32, last_batch: Option<i64>) -> Ramp {
    Ramp { allowance, last_batch_at: last_batch.map(at), down: None }
}

fn down(last_batch: Option<i64>, since: i64, next_probe: i64, pause: i64) -> Ramp {
    let down = Down { since: at(since), next_probe_at: at(next_probe), pause: secs(pause) };
    Ramp { down: Some(down), ..up(3, last_batch) }
}

fn facts(arrived: u32, failed: u32, pending: u32) -> BatchFacts {
    BatchFacts { arrived, failed, pending, ..BatchFacts::default() }
}

fn observe(ramp: Ramp, facts: BatchFacts, now: i64) -> Ramp {
    ramp.observe(&facts, &policy(), PERIOD, at(now))
}

fn fresh(facts: BatchFacts, arrival: i64) -> BatchFacts {
    BatchFacts { fresh_arrival: Some(at(arrival)), ..facts }
}

#[test]
fn those_nearest_to_their_end_go_first_and_the_rest_is_deferred() {
    let queue = vec![candidate("c", 1, 30), candidate("b", 1, 10), candidate("a", 9, 10)];
    let plan = plan(queue, &up(2, None), &policy(), at(0));
    assert_eq!(names(&plan.ask), ["a", "b"]);
    assert_eq!(names(&plan.deferred), ["c"]);
    assert!(plan.held_back.is_empty());
}

#[test]
fn the_budget_caps_the_allowance() {
    let tight = Policy { max_requests: 1, ..policy() };
    let plan = plan(vec![candidate("a", 1, 1), candidate("b", 1, 2)], &up(9, None), &tight, at(0));
    assert_eq!((names(&plan.ask), names(&plan.deferred)), (vec!["a"], vec!["b"]));
}

#[test]
fn a_dead_endpoint_gets_probes_only_and_only_in_time() {
    let queue: Vec<_> = ["a", "b", "c", "d"].map(|name| candidate(name, 1, 10)).to_vec();
    let early = plan(queue.clone(), &down(None, 0, 120, 120), &policy(), at(60));
    assert_eq!((early.ask.len(), early.held_back.len()), (0, 4));
    let in_time = plan(queue, &down(None, 0, 120, 120), &policy(), at(120));
    assert_eq!(names(&in_time.ask), ["a", "b", "c"]);
    assert_eq!(names(&in_time.held_back), ["d"]);
    assert!(in_time.deferred.is_empty());
}

#[test]
fn a_delivery_that_can_never_succeed_does_not_take_all_the_probes() {
    let queue = vec![candidate("hopeless", 7, 1), candidate("other", 1, 99)];
    let single = Policy { probes: 1, ..policy() };
    let plan = plan(queue, &down(None, 0, 0, 120), &single, at(60));
    assert_eq!(names(&plan.ask), ["other"]);
}

#[test]
fn arrivals_double_the_allowance_up_to_the_budget() {
    let mut ramp = Ramp::new(&policy());
    let mut allowances = vec![ramp.allowance];
    for sweep in 1..=9 {
        ramp = observe(ramp.asked(at(sweep * 120)), facts(1, 2, 3), sweep * 120 + 60);
        allowances.push(ramp.allowance);
    }
    assert_eq!(allowances, [3, 6, 12, 24, 48, 96, 192, 384, 500, 500]);
}

#[test]
fn pending_requests_change_nothing_while_they_have_time() {
    let ramp = up(48, Some(0));
    assert_eq!(observe(ramp.clone(), facts(0, 5, 1), 599), ramp);
}

#[test]
fn requests_made_meanwhile_join_an_undecided_batch() {
    assert_eq!(up(3, Some(10)).asked(at(130)), up(3, Some(10)));
    // So it is judged although something of it is always pending.
    let judged = observe(up(48, Some(10)), facts(0, 5, 1), 610);
    assert_eq!(judged, down(None, 610, 730, 120));
}

#[test]
fn a_batch_of_which_nothing_arrives_brings_the_endpoint_down() {
    let ramp = observe(up(192, Some(0)), facts(0, 100, 0), 120);
    assert_eq!(ramp, down(None, 120, 240, 120));
    assert_eq!(ramp.endpoint(), Endpoint::Down { next_probe_at: at(240) });
}

#[test]
fn a_batch_counts_once() {
    let ramp = observe(up(3, Some(0)), facts(0, 1, 0), 120);
    assert_eq!(observe(ramp.clone(), facts(0, 0, 0), 240), ramp);
}

#[test]
fn the_pause_between_probes_doubles_from_a_period_to_ten_minutes() {
    let mut ramp = observe(up(3, Some(0)), facts(0, 3, 0), 100);
    let mut pauses = Vec::new();
    for _ in 0..4 {
        let probe_at = ramp.down.clone().unwrap().next_probe_at;
        ramp = ramp.asked(probe_at);
        ramp = ramp.observe(&facts(0, 3, 0), &policy(), PERIOD, probe_at + PERIOD);
        let state = ramp.down.clone().unwrap();
        assert_eq!(state.since, at(100));
        assert_eq!(state.next_probe_at, probe_at + PERIOD + state.pause);
        pauses.push(state.pause.num_seconds());
    }
    assert_eq!(pauses, [240, 480, 600, 600]);
}

#[test]
fn probes_whose_answer_is_pending_are_not_followed_by_others_at_once() {
    let ramp = down(None, 0, 120, 240).asked(at(121));
    assert_eq!(ramp, down(Some(121), 0, 361, 240));
    assert_eq!(observe(ramp.clone(), facts(0, 0, 3), 240), ramp);
}

#[test]
fn an_arrived_probe_ends_it_without_a_burst() {
    assert_eq!(observe(down(Some(130), 0, 370, 240), facts(1, 2, 0), 240), up(6, None));
}

#[test]
fn a_fresh_arrival_ends_it_without_a_burst() {
    let dead = down(None, 100, 700, 600);
    assert_eq!(observe(dead.clone(), fresh(facts(0, 0, 0), 101), 240), up(3, None));
    assert_eq!(observe(dead.clone(), fresh(facts(0, 0, 0), 100), 240), dead);
    let probing = down(Some(200), 100, 700, 600);
    assert_eq!(observe(probing, fresh(facts(0, 0, 3), 210), 240), up(3, Some(200)));
}

#[test]
fn failures_among_fresh_arrivals_are_the_deliveries_fault() {
    // W9: so a single hopeless delivery is asked for by backoff, counted, and exhausts.
    let mut ramp = Ramp::new(&policy());
    for sweep in 1..=20 {
        let now = sweep * 120;
        ramp = observe(ramp.asked(at(now - 119)), fresh(facts(0, 1, 0), now - 60), now);
        assert_eq!(ramp, up(3, None));
    }
}

#[test]
fn refusals_stop_the_growth_but_prove_no_dead_endpoint() {
    let refused = BatchFacts { refused: 3, ..BatchFacts::default() };
    assert_eq!(observe(up(96, Some(0)), refused, 120), up(3, None));
    let dead = down(Some(121), 0, 361, 240);
    assert_eq!(observe(dead, refused, 240), down(None, 0, 361, 240));
}

#[test]
fn rest_returns_to_the_slow_start_and_keeps_what_is_known() {
    assert_eq!(up(500, None).rest(&policy()), up(3, None));
    assert_eq!(up(500, Some(1)).rest(&policy()), up(500, Some(1)));
    let dead = down(None, 0, 120, 120);
    assert_eq!(dead.clone().rest(&policy()), dead);
}

#[test]
fn a_batch_is_classified_by_what_became_of_its_last_requests() {
    let asked = |outcome| request(1, 1, 100, outcome);
    let with = |request: Redelivery, code: Option<Option<i32>>| {
        let mut delivery = Delivery { redeliveries: vec![request], ..attempted(500) };
        delivery.attempts.extend(code.map(|code| attempt(2, 105, code)));
        delivery
    };
    let count = |delivery: Delivery, policy: &Policy, now| {
        let facts = batch_facts(&[delivery], at(100), policy, &standing(), at(now));
        (facts.arrived, facts.failed, facts.pending, facts.refused)
    };
    let (arrived, failed, pending, refused) =
        ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1));
    let none = (0, 0, 0, 0);
    let github = Policy { trust: Trust::Github, ..policy() };
    let receipts = policy();

    let received = Delivery { receipt: Some(receipt(105)), ..with(asked(Outcome::Accepted), None) };
    assert_eq!(count(received.clone(), &receipts, 110), arrived);
    assert_eq!(count(with(asked(Outcome::Accepted), Some(Some(200))), &github, 110), arrived);
    // W18: another OK that the receiver never saw proves nothing.
    assert_eq!(count(with(asked(Outcome::Accepted), Some(Some(200))), &receipts, 110), failed);
    assert_eq!(count(with(asked(Outcome::Ambiguous), Some(Some(502))), &receipts, 110), failed);
    assert_eq!(count(with(asked(Outcome::Accepted), None), &receipts, 699), pending);
    assert_eq!(count(with(asked(Outcome::Accepted), None), &receipts, 700), failed);
    assert_eq!(count(with(asked(Outcome::Intended), Some(None)), &receipts, 699), pending);
    assert_eq!(count(with(asked(Outcome::Gone), None), &receipts, 110), refused);
    assert_eq!(count(with(asked(Outcome::Refused), None), &receipts, 110), refused);
    let fetch = Redelivery { means: Means::Fetch, ..asked(Outcome::Ambiguous) };
    assert_eq!(count(with(fetch, None), &receipts, 110), refused);
    assert_eq!(count(with(asked(Outcome::Deferred), None), &receipts, 110), none);
    let dismissed = Delivery { dismissed: true, ..received };
    assert_eq!(count(dismissed, &receipts, 110), none);
    assert_eq!(count(with(request(1, 1, 99, Outcome::Accepted), None), &receipts, 110), none);
}

#[test]
fn a_wrong_trust_never_gets_a_burst() {
    // 400 deliveries answered 200 by somebody else: each request "succeeds", no receipt ever comes.
    let mut ramp = Ramp::new(&policy());
    let mut asked = 0;
    for sweep in 1..=30 {
        let now = sweep * 120;
        ramp = observe(ramp, facts(0, asked, 0), now);
        let queue: Vec<_> = (0..400).map(|n| candidate(&format!("g{n}"), 1, 10_000)).collect();
        let plan = plan(queue, &ramp, &policy(), at(now));
        asked = u32::try_from(plan.ask.len()).unwrap();
        assert!(asked <= 3);
        ramp = if asked > 0 { ramp.asked(at(now)) } else { ramp.rest(&policy()) };
    }
}

fn ramps() -> impl Strategy<Value = Ramp> {
    (0..40u32, proptest::option::of(-100..100i64)).prop_map(|(allowance, probe)| match probe {
        Some(probe) => Ramp { allowance, ..down(None, -200, probe, 120) },
        None => up(allowance, None),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_plan_is_a_partition_within_the_budget(
        rows in vec((0..30u32, 1..9u32, 0..50i64), 0..40),
        ramp in ramps(),
        max_requests in 0..20u32,
        probes in 0..5u32,
    ) {
        let policy = Policy { probes, max_requests, ..policy() };
        let queue: Vec<_> =
            rows.into_iter().map(|(n, nth, end)| candidate(&format!("g{n}"), nth, end)).collect();
        let distinct: BTreeSet<_> = queue.iter().map(|c| c.guid.clone()).collect();
        let plan = plan(queue, &ramp, &policy, at(0));
        let planned: Vec<_> = [&plan.ask, &plan.deferred, &plan.held_back]
            .into_iter()
            .flatten()
            .map(|c| c.guid.clone())
            .collect();
        prop_assert_eq!(planned.len(), distinct.len());
        prop_assert_eq!(planned.into_iter().collect::<BTreeSet<_>>(), distinct);
        prop_assert!(plan.ask.len() <= usize::try_from(max_requests).unwrap());
        if ramp.down.is_some() {
            prop_assert!(plan.ask.len() <= usize::try_from(probes.max(1)).unwrap());
            prop_assert!(plan.deferred.is_empty());
        } else {
            prop_assert!(plan.held_back.is_empty());
        }
    }

    #[test]
    fn the_allowance_stays_between_the_slow_start_and_the_budget(
        seen in vec((0..3u32, 0..3u32, 0..3u32, any::<bool>(), any::<bool>()), 0..60),
    ) {
        let mut ramp = Ramp::new(&policy());
        let mut now = 0;
        for (arrived, failed, pending, fresh_one, rests) in seen {
            now += 120;
            let batch = facts(arrived, failed, pending);
            let batch = if fresh_one { fresh(batch, now - 1) } else { batch };
            ramp = observe(ramp, batch, now);
            prop_assert!((3..=500).contains(&ramp.allowance));
            if let Some(down) = &ramp.down {
                prop_assert_eq!(ramp.allowance, 3);
                prop_assert!(down.pause <= TimeDelta::minutes(10));
            }
            ramp = if rests { ramp.rest(&policy()) } else { ramp.asked(at(now + 1)) };
        }
    }
}
