//! GitHub's clock and ours are twenty minutes apart: what is concluded is right all the same.

use chrono::TimeDelta;
use redeliverd::{clock::Clock, domain::policy::Trust, sandbox::github::Sending};

use crate::support::{Bench, PERIOD, minutes};

const OFF: TimeDelta = TimeDelta::minutes(20);

/// A hook that was adopted while GitHub's clock stood so far from ours.
async fn bench(githubs_minus_ours: TimeDelta) -> Bench {
    let bench = Bench::unadopted(|_, _| {}).await;
    bench.world.faults(|faults| faults.clock_skew = githubs_minus_ours);
    bench.sweep().await;
    bench.advance(PERIOD);
    bench
}

/// A fresh failure is left alone for its 30 seconds of `settle` and then asked for, however far our
/// clock is off.
async fn asked_after_its_grace(githubs_minus_ours: TimeDelta) {
    let mut bench = bench(githubs_minus_ours).await;
    let failed = bench.fail(1).await;
    bench.advance(TimeDelta::seconds(20));
    assert_eq!(bench.sweep().await.due, 0);
    assert_eq!(bench.verdict(&failed[0]).await, "waiting/grace");
    bench.advance(TimeDelta::seconds(20));
    assert_eq!(bench.sweep().await.requested, 1);
    bench.sweeps(1).await;
    assert_eq!(bench.verdict(&failed[0]).await, "settled/received");
}

#[tokio::test]
async fn with_our_clock_behind_a_failure_is_asked_for_after_settle_and_not_twenty_minutes_later() {
    asked_after_its_grace(OFF).await;
}

#[tokio::test]
async fn with_our_clock_ahead_a_fresh_failure_has_its_whole_grace() {
    asked_after_its_grace(-OFF).await;
}

// Recording began by our clock, attempts are made by GitHub's.
#[tokio::test]
async fn what_was_swallowed_after_recording_began_is_unseen_whichever_clock_is_ahead() {
    for skew in [OFF, -OFF] {
        let mut bench = bench(skew).await;
        let swallowed = bench.emit(1, Sending::Swallow).await;
        bench.advance(minutes(1));
        let report = bench.sweep().await;
        assert_eq!(report.requested, 1, "{skew}");
        assert_eq!(report.requests[0].reason, "unseen");
        assert!(bench.world.received_ok(&swallowed[0]));
    }
}

#[tokio::test]
async fn the_boundary_is_by_the_clock_that_is_behind_and_the_last_complete_pass_by_ours() {
    for skew in [OFF, -OFF] {
        let bench = bench(skew).await;
        let began = Clock::now(&*bench.clock);
        bench.sweep().await;
        let memory = bench.memory().await;
        let head = memory.listing.complete_at.unwrap();
        let behind = skew.min(TimeDelta::zero());
        assert!((head - (began + behind)).abs() <= TimeDelta::seconds(1), "{skew}: {head}");
        assert!((memory.complete_at().unwrap() - began).abs() <= TimeDelta::seconds(1), "{skew}");
        let adopted = memory.adopted_at.unwrap();
        let first_pass = began - PERIOD + behind;
        assert!((adopted - first_pass).abs() <= TimeDelta::seconds(1), "{skew}: {adopted}");
    }
}

/// A proxy with a wrong clock in one answer: what comes later is still read beyond the first page.
#[tokio::test]
async fn one_date_that_lies_by_a_day_leaves_no_gap() {
    let mut bench = Bench::unadopted(|hook, _| hook.policy.trust = Trust::Github).await;
    bench.fail(1).await;
    bench.world.faults(|faults| faults.api.date_offset = TimeDelta::days(1));
    assert_eq!(bench.sweep().await.new_attempts, 1);
    bench.world.faults(|faults| faults.api.date_offset = TimeDelta::zero());
    bench.advance(TimeDelta::minutes(10));
    bench.fail(150).await;
    bench.advance(TimeDelta::minutes(30));
    assert_eq!(bench.sweep().await.new_attempts, 150);
}

/// A proxy whose clock is five minutes ahead, which a token allows for: no row is passed over, and what
/// fails right after the first pass is no history.
#[tokio::test]
async fn a_date_that_is_minutes_ahead_hides_nothing() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    bench.world.faults(|faults| faults.api.date_offset = minutes(5));
    bench.sweep().await;
    bench.advance(TimeDelta::seconds(7));
    let mut failed = bench.fail(1).await;
    for _ in 0..3 {
        bench.advance(TimeDelta::seconds(10));
        failed.extend(bench.fail(250).await);
        bench.advance(TimeDelta::seconds(100));
        assert!(bench.sweep().await.complete);
    }
    for guid in &failed {
        let verdict = bench.verdict(guid).await;
        assert!(!["unjudged", "excused/adopted"].contains(&verdict.as_str()), "{verdict}");
    }
}

// The clock is set right between two sweeps.
#[tokio::test]
async fn a_clock_that_is_set_right_is_noticed_by_the_next_sweep() {
    let mut bench = Bench::unadopted(|hook, _| hook.policy.trust = Trust::Github).await;
    bench.world.faults(|faults| faults.clock_skew = OFF);
    bench.sweep().await;
    bench.world.faults(|faults| faults.clock_skew = TimeDelta::zero());
    bench.advance(OFF + PERIOD);
    let failed = bench.fail(1).await;
    bench.advance(TimeDelta::seconds(31));
    assert_eq!(bench.sweep().await.requested, 1);
    assert!(bench.world.received_ok(&failed[0]));
    assert_eq!(bench.memory().await.clock_offset.get(), TimeDelta::zero());
}
