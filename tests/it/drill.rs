//! The promise as a whole: outages and random misfortune over virtual days, then the books compared.

use std::{collections::BTreeMap, time::Duration};

use chrono::TimeDelta;
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use redeliverd::{
    domain::delivery::Outcome,
    sandbox::github::{Answer, Redelivering, Sending},
    sweeper::{Request, Trigger},
};
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, PERIOD, minutes};

/// Every event is received, or reported as given up with its reason; none was asked for more often
/// than allowed; and GitHub's count of requests equals ours.
async fn the_books_agree(bench: &Bench, guids: &[String], clean: bool) {
    let cap = bench.settings.hook.policy.max_redeliveries as usize;
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    for guid in guids {
        let known = bench.delivery(guid).await.delivery;
        let asked: Vec<_> =
            known.redeliveries.iter().filter(|r| r.outcome != Outcome::Deferred).collect();
        assert!(asked.iter().filter(|r| !r.probe).count() <= cap, "{guid} was asked for too often");
        let ours = asked.len();
        let theirs = usize::try_from(bench.world.redelivery_posts(guid)).unwrap();
        if clean {
            assert_eq!(theirs, ours, "{guid}: GitHub counted {theirs} requests, we {ours}");
        } else {
            // A kill between intent and request leaves one that counts and never left.
            assert!(theirs <= ours, "{guid}: GitHub counted {theirs} requests, we {ours}");
        }
        if known.receipt.is_some() {
            assert_eq!(bench.verdict(guid).await, "settled/received", "{guid}");
            assert!(bench.world.received_ok(guid), "{guid} was never really sent");
        } else {
            *left.entry(bench.verdict(guid).await).or_default() += 1;
        }
    }
    let reported = |verdict: &&String| verdict.starts_with("abandoned/");
    let silent: Vec<_> = left.keys().filter(|verdict| !reported(verdict)).collect();
    assert!(silent.is_empty(), "neither received nor given up: {left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_outage_of_hours_every_event_is_received() {
    let mut bench = Bench::new().await;
    let mut guids = bench.emit(20, Sending::Deliver).await;
    bench.sweeps(5).await;
    // Five hours: the receiver answers 503 to everything.
    bench.refuse_with(503);
    for _ in 0..30 {
        guids.extend(bench.emit(3, Sending::Deliver).await);
        bench.sweeps(5).await;
    }
    bench.refuse_with(0);
    guids.extend(bench.emit(5, Sending::Deliver).await);
    guids.extend(bench.emit(4, Sending::Swallow).await);
    bench.sweeps(60).await;
    the_books_agree(&bench, &guids, true).await;
    for guid in &guids {
        assert_eq!(bench.verdict(guid).await, "settled/received", "{guid}");
    }
}

/// GitHub takes every request and never makes an attempt: the original rows grow old.
#[tokio::test(flavor = "multi_thread")]
async fn what_no_request_brings_back_is_reported_as_lost_when_its_window_ends() {
    let mut bench = Bench::new().await;
    bench.world.faults(|faults| faults.api.redeliver = Redelivering::Forget);
    let guids = bench.fail(4).await;
    let mut lost = 0;
    for hour in 0..75 {
        bench.advance(minutes(60));
        let report = bench.sweep().await;
        assert_eq!(report.missing, 4, "missing is told in hour {hour}");
        lost += report.lost;
    }
    assert_eq!(lost, 4);
    the_books_agree(&bench, &guids, true).await;
    for guid in &guids {
        assert_eq!(bench.verdict(guid).await, "abandoned/expired", "{guid}");
    }
}

/// One step of misfortune.
async fn misfortune(bench: &mut Bench, rng: &mut StdRng, guids: &mut Vec<String>) {
    let sendings = [
        Sending::Deliver,
        Sending::Deliver,
        Sending::FailToConnect,
        Sending::Swallow,
        Sending::Answer(500),
        Sending::TimeOut { after_delivering: true },
        Sending::TimeOut { after_delivering: false },
        Sending::Reset { after_delivering: true },
    ];
    match rng.random_range(0..10) {
        0..4 => {
            let sending = *sendings.choose(rng).unwrap();
            let count = rng.random_range(1..5);
            guids.extend(bench.emit(count, sending).await);
        }
        4 => bench.refuse_with(if rng.random_bool(0.5) { 503 } else { 0 }),
        5 => bench.world.faults(|faults| {
            faults.api.list_next.extend([Answer::Status(502), Answer::Status(502), Answer::Drop]);
        }),
        6 => {
            let fate = [
                Redelivering::TakeAndAnswer(Answer::Drop),
                Redelivering::TakeAndAnswer(Answer::Status(500)),
                Redelivering::Forget,
                Redelivering::Refuse(Answer::Status(500)),
            ];
            let fate = fate.choose(rng).unwrap().clone();
            bench.world.faults(|faults| faults.api.redeliver_next.push_back(fate));
        }
        7 => bench.advance(minutes(rng.random_range(1..45))),
        8 => {
            // A kill: the sweep is dropped wherever it is, its lease left behind.
            bench.advance(PERIOD);
            let request = Request::new(Trigger::Scheduled);
            let cancel = CancellationToken::new();
            let killed = bench.sweeper.sweep(&request, &cancel);
            let after = Duration::from_micros(rng.random_range(100..20_000));
            let _ = tokio::time::timeout(after, killed).await;
            bench.world.settled().await;
        }
        _ => {
            bench.sweeps(1).await;
        }
    }
}

async fn survive(seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut bench = Bench::new().await;
    let mut guids = Vec::new();
    for _ in 0..60 {
        misfortune(&mut bench, &mut rng, &mut guids).await;
    }
    bench.refuse_with(0);
    bench.world.faults(|faults| {
        faults.api.list_next.clear();
        faults.api.redeliver_next.clear();
    });
    // Fresh traffic shows that the endpoint is well again; then two virtual days of sweeps.
    guids.extend(bench.emit(1, Sending::Deliver).await);
    for _ in 0..40 {
        bench.sweeps(1).await;
    }
    for _ in 0..30 {
        bench.advance(TimeDelta::minutes(58));
        bench.sweeps(1).await;
    }
    the_books_agree(&bench, &guids, false).await;
    for guid in &guids {
        assert_eq!(bench.verdict(guid).await, "settled/received", "{guid}");
    }
}

/// Seeds that once failed stay in the list.
#[tokio::test(flavor = "multi_thread")]
async fn random_misfortune_from_a_seed_loses_nothing() {
    let fresh: u64 = rand::random_range(0..1_000_000);
    for seed in [1, 2, fresh] {
        println!("seed {seed}");
        survive(seed).await;
    }
}
