//! One sweep at a time: leases, fencing, overlap, shutdown, and what a kill leaves behind.

use std::time::Duration;

use chrono::TimeDelta;
use redeliverd::{
    clock::Clock,
    domain::{
        delivery::{Means, Outcome},
        ids::Guid,
    },
    store::types::{Acquired, Intent},
    sweeper::{Ending, Request, Sweep, SweepError, Trigger, worker},
};
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, PERIOD, minutes};

/// Somebody else takes the lease for a minute of domain time, as configured.
async fn occupy(bench: &Bench) -> redeliverd::store::types::Lease {
    let now = bench.clock.now();
    match bench.store.acquire(&bench.name, "somebody", now, now + minutes(1)).await.unwrap() {
        Acquired::Held(lease) => lease,
        Acquired::Busy { owner, .. } => panic!("{owner} holds it"),
    }
}

// S25
#[tokio::test]
async fn a_sweep_that_finds_another_says_who_it_is() {
    let bench = Bench::new().await;
    let lease = occupy(&bench).await;
    let request = Request::new(Trigger::Scheduled);
    match bench.sweeper.sweep(&request, &CancellationToken::new()).await.unwrap() {
        Sweep::Skipped { owner, until } => {
            assert_eq!((owner.as_str(), until), ("somebody", bench.clock.now() + minutes(1)));
        }
        Sweep::Done(_) => panic!("two sweeps at once"),
    }
    bench.store.release(&lease).await.unwrap();
    assert!(bench.sweep().await.complete);
}

#[tokio::test]
async fn a_patient_sweep_waits_for_the_running_one() {
    let bench = Bench::new().await;
    let lease = occupy(&bench).await;
    let store = bench.store.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        store.release(&lease).await.unwrap();
    });
    let request = Request { patience: Duration::from_secs(10), ..Request::new(Trigger::Manual) };
    assert!(bench.request(request).await.complete);
}

#[tokio::test]
async fn an_expired_lease_is_taken_over_and_the_old_holder_cannot_write() {
    let bench = Bench::new().await;
    let old = occupy(&bench).await;
    bench.advance(PERIOD);
    assert!(bench.sweep().await.complete);
    // S16
    let memory = bench.memory().await;
    let late =
        bench.store.save_page(&old, &[], &memory.listing, bench.clock.now(), bench.clock.now());
    assert!(late.await.is_err());
}

// S16: the lease is lost in the middle of a sweep that takes its time.
#[tokio::test]
async fn a_sweep_whose_lease_is_lost_stops_at_once() {
    let mut bench = Bench::with(|_, sweep| {
        sweep.min_interval = Duration::from_millis(400);
        sweep.lease = Duration::from_millis(300);
    })
    .await;
    bench.fail(3).await;
    bench.advance(PERIOD);
    let sweeper = bench.sweeper.clone();
    let running = tokio::spawn(async move {
        sweeper.sweep(&Request::new(Trigger::Scheduled), &CancellationToken::new()).await
    });
    // The first request has left; before the next one, the clock passes the lease.
    while bench.world.counters().redelivery_posts == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    bench.advance(TimeDelta::seconds(10));
    occupy(&bench).await;
    match running.await.unwrap() {
        Err(SweepError::Store(error)) => assert!(error.to_string().contains("lost"), "{error}"),
        Ok(Sweep::Done(report)) => assert_eq!(report.ending, Ending::Stopped),
        other => panic!("{other:?}"),
    }
    assert_eq!(bench.world.counters().redelivery_posts, 1);
}

#[tokio::test]
async fn a_shutdown_ends_a_sweep_between_two_requests_with_everything_recorded() {
    let mut bench = Bench::with(|_, sweep| sweep.min_interval = Duration::from_secs(5)).await;
    let guids = bench.fail(3).await;
    bench.advance(PERIOD);
    let cancel = CancellationToken::new();
    let (sweeper, token) = (bench.sweeper.clone(), cancel.clone());
    let running =
        tokio::spawn(async move { sweeper.sweep(&Request::new(Trigger::Scheduled), &token).await });
    while bench.world.counters().redelivery_posts == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    cancel.cancel();
    let Sweep::Done(report) = running.await.unwrap().unwrap() else { panic!("skipped") };
    assert_eq!((report.requested, report.deferred, report.ending), (1, 2, Ending::Stopped));
    for guid in &guids {
        let left = bench.redeliveries(guid).await;
        assert!(left.iter().all(|r| r.outcome != Outcome::Intended));
    }
    // The lease is free again.
    bench.sweeper = bench.second(|settings| settings.sweep.min_interval = Duration::ZERO);
    assert_eq!(bench.sweeps(1).await[0].requested, 2);
}

#[tokio::test]
async fn an_intent_left_by_a_kill_counts_as_asked() {
    let mut bench = Bench::new().await;
    let guids = bench.fail(1).await;
    bench.advance(PERIOD);
    let request = Request { dry_run: true, ..Request::new(Trigger::Manual) };
    bench.request(request).await;
    let known = bench.delivery(&guids[0]).await.delivery;
    let intent = Intent {
        hook: bench.name.clone(),
        guid: Guid::new(&guids[0]).unwrap(),
        means: Means::Redeliver,
        attempt: known.newest().unwrap().id,
        probe: false,
        sweep: Some(1),
        asked_at: bench.clock.now(),
    };
    bench.store.intend(&intent, None).await.unwrap();
    let report = bench.sweeps(1).await.remove(0);
    assert_eq!(report.requested, 0);
    assert_eq!(bench.verdict(&guids[0]).await, "waiting/in_flight");
    bench.advance(minutes(11));
    assert_eq!(bench.sweep().await.requested, 1);
}

// L20: a restart with another handle goes on where the killed one was.
#[tokio::test]
async fn every_committed_page_survives_a_kill() {
    let mut bench = Bench::with(|_, sweep| sweep.max_pages = 1).await;
    bench.advance(minutes(30));
    bench.history(450, 502, bench.clock.now() - minutes(1));
    assert_eq!(bench.sweep().await.new_attempts, 100);
    let store = bench.reopen().await;
    let memory = store.hook(&bench.name).await.unwrap();
    assert_eq!(memory.listing.gaps.len(), 1);
    let new: u32 = bench.sweeps(12).await.iter().map(|r| r.new_attempts).sum();
    assert!(new >= 350, "{new}");
}

#[tokio::test]
async fn the_worker_sweeps_at_start_at_ticks_and_by_hand_and_never_twice_at_once() {
    let bench = Bench::unadopted(|_, _| {}).await;
    let (handle, worker) = worker::worker(bench.sweeper.clone());
    let cancel = CancellationToken::new();
    let running = tokio::spawn(worker.run(cancel.clone()));
    let by_hand = handle.sweep(Request::new(Trigger::Manual)).await.unwrap();
    assert!(matches!(by_hand, Sweep::Done(_)));
    handle.ticks().send(()).await.unwrap();
    let ticked = async {
        loop {
            let rows = bench.store.sweeps(Some(&bench.name), 10).await.unwrap();
            if rows.len() == 3 && rows.iter().all(|row| row.finished_at.is_some()) {
                break rows;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let rows = tokio::time::timeout(Duration::from_secs(20), ticked).await.unwrap();
    let triggers: Vec<_> = rows.iter().rev().map(|row| row.trigger.as_str()).collect();
    assert_eq!(triggers, ["startup", "manual", "scheduled"]);
    cancel.cancel();
    running.await.unwrap();
    assert!(matches!(handle.sweep(Request::new(Trigger::Manual)).await, Err(SweepError::Ended)));
}

// S25
#[tokio::test]
async fn a_tick_that_finds_a_sweep_running_is_counted_and_not_made_up_for() {
    let mut bench = Bench::with(|_, sweep| sweep.min_interval = Duration::from_millis(300)).await;
    bench.fail(3).await;
    bench.advance(PERIOD);
    let (handle, worker) = worker::worker(bench.sweeper.clone());
    let cancel = CancellationToken::new();
    let running = tokio::spawn(worker.run(cancel.clone()));
    while bench.world.counters().redelivery_posts == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    handle.ticks().try_send(()).unwrap();
    let by_hand = handle.sweep(Request::new(Trigger::Manual)).await.unwrap();
    assert!(matches!(by_hand, Sweep::Done(_)));
    cancel.cancel();
    running.await.unwrap();
    let rows = bench.store.sweeps(Some(&bench.name), 10).await.unwrap();
    assert!(rows[..2].iter().all(|row| row.trigger != "scheduled"), "{rows:?}");
    let metrics = bench.metrics.render().unwrap();
    assert!(metrics.contains("redeliverd_sweep_ticks_skipped_total{hook=\"ci\"} 1"), "{metrics}");
}
