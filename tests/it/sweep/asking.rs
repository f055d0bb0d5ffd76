//! How GitHub is asked: what its answers mean, pace, limits, caps, and a dead endpoint.

use std::time::Duration;

use chrono::TimeDelta;
use redeliverd::{
    clock::Clock,
    domain::{delivery::Outcome, ids::Guid},
    report,
    sandbox::github::{Answer, Redelivering, Sending},
    sweeper::Ending,
};
use tokio::time::Instant;

use crate::support::{Bench, PERIOD, minutes};

// W14
#[tokio::test]
async fn every_answer_of_the_two_hundreds_means_accepted() {
    let mut bench = Bench::new().await;
    bench.world.faults(|faults| {
        let answer = |code| Redelivering::TakeAndAnswer(Answer::Status(code));
        faults.api.redeliver_next = [answer(200), answer(204), Redelivering::Honest].into();
    });
    bench.fail(3).await;
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!(report.requested, 3);
    assert!(report.requests.iter().all(|r| r.outcome == "accepted"), "{:?}", report.requests);
}

// W10
#[tokio::test]
async fn one_poisoned_item_stops_no_other() {
    let mut bench = Bench::with(|hook, _| hook.policy.probes = 10).await;
    let guids = bench.fail(5).await;
    let poisoned = bench.world.attempts(bench.hook).iter().find(|a| a.guid == guids[2]).unwrap().id;
    bench.world.faults(|faults| {
        let refuse = Redelivering::Refuse(Answer::Status(422));
        faults.api.redeliver_by_id.insert(poisoned, refuse);
    });
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.requested, report.complete, report.ending), (5, true, Ending::Complete));
    let refused: Vec<_> = report.requests.iter().filter(|r| r.outcome == "refused").collect();
    assert_eq!(refused.len(), 1);
    assert!(refused[0].guid == guids[2] && refused[0].detail.is_some());
    let metrics = bench.metrics.render().unwrap();
    let counted = "redeliverd_redeliveries_total{hook=\"ci\",outcome=\"refused\"} 1";
    assert!(metrics.contains(counted), "{metrics}");
    let (guid, now) = (Guid::new(&guids[2]).unwrap(), Clock::now(&*bench.clock));
    let shown =
        report::show(&bench.store, &bench.settings.hook, &guid, now).await.unwrap().unwrap();
    assert_eq!(shown.redelivery_rows[0].outcome, "refused");
    assert_eq!(report.lost, 1);
    assert_eq!(bench.verdict(&guids[2]).await, "abandoned/expired");
    for guid in [&guids[0], &guids[1], &guids[3], &guids[4]] {
        assert!(bench.world.received_ok(guid));
    }
    bench.sweeps(3).await;
    assert_eq!(bench.world.redelivery_posts(&guids[2]), 1);
}

/// W10: what is forbidden for one delivery (its installation is suspended, say) stops no other, and
/// is asked for again only after a wait.
#[tokio::test]
async fn one_forbidden_item_stops_no_other() {
    let mut bench = Bench::new().await;
    let guids = bench.fail(3).await;
    let first = bench.world.attempts(bench.hook).iter().find(|a| a.guid == guids[0]).unwrap().id;
    bench.world.faults(|faults| {
        let refuse = Redelivering::Refuse(Answer::Status(403));
        faults.api.redeliver_by_id.insert(first, refuse);
    });
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.requested, report.ending, report.error), (3, Ending::Complete, None));
    let outcomes: Vec<_> = report.requests.iter().map(|r| r.outcome).collect();
    assert_eq!(outcomes, ["refused", "accepted", "accepted"]);
    assert!(bench.world.received_ok(&guids[1]) && bench.world.received_ok(&guids[2]));
    assert_eq!(bench.verdict(&guids[0]).await, "waiting/backoff");
    bench.sweeps(60).await;
    let posts = bench.world.redelivery_posts(&guids[0]);
    assert!((2..=5).contains(&posts), "{posts} requests in two hours");
}

#[tokio::test]
async fn when_everything_is_forbidden_it_is_the_credential() {
    let mut bench = Bench::with(|hook, _| hook.policy.probes = 10).await;
    let guids = bench.fail(8).await;
    bench.world.faults(|faults| faults.api.redeliver = Redelivering::Refuse(Answer::Status(403)));
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.requested, report.deferred, report.ending), (3, 5, Ending::Unauthorized));
    assert!(report.error.unwrap().contains("refused the credential (403"));
    bench.world.faults(|faults| faults.api.redeliver = Redelivering::Honest);
    bench.sweeps(2).await;
    assert!(guids.iter().all(|guid| bench.world.received_ok(guid)));
}

/// All of it within a millisecond, which is as fine as GitHub's times are.
#[tokio::test]
async fn a_story_is_told_in_the_order_of_cause_and_effect() {
    let mut bench = Bench::new().await;
    let guids = bench.fail(1).await;
    bench.advance(PERIOD + TimeDelta::microseconds(700));
    bench.sweep().await;
    bench.sweeps(1).await;
    let (guid, now) = (Guid::new(&guids[0]).unwrap(), Clock::now(&*bench.clock));
    let shown = report::show(&bench.store, &bench.settings.hook, &guid, now).await.unwrap();
    let told: Vec<_> = shown.unwrap().timeline.iter().map(|event| event.what).collect();
    assert_eq!(told, ["attempt", "redelivery", "attempt", "receipt"]);
}

// W9
#[tokio::test]
async fn an_event_that_always_fails_is_given_up_after_its_requests() {
    let mut bench = Bench::with(|hook, _| hook.policy.max_redeliveries = 3).await;
    let bad = bench.fail(1).await;
    bench.world.faults(|faults| {
        faults.sender_by_guid.insert(bad[0].clone(), Sending::Answer(500));
    });
    for _ in 0..60 {
        // The endpoint is well otherwise.
        bench.advance(TimeDelta::seconds(1));
        bench.emit(1, Sending::Deliver).await;
        bench.sweeps(1).await;
    }
    assert_eq!(bench.verdict(&bad[0]).await, "abandoned/exhausted");
    let asked = bench.redeliveries(&bad[0]).await;
    assert_eq!(bench.world.redelivery_posts(&bad[0]), 3, "{asked:?}");
    let mut at: Vec<_> = asked.iter().map(|r| r.asked_at).collect();
    at.sort();
    assert!(at[1] - at[0] >= minutes(1) && at[2] - at[1] >= minutes(5), "{at:?}");
}

// L21
#[tokio::test]
async fn a_budget_of_requests_works_off_a_backlog_over_passes() {
    let mut bench = Bench::with(|hook, _| {
        hook.policy.probes = 25;
        hook.policy.max_requests = 25;
    })
    .await;
    let guids = bench.fail(180).await;
    let reports = bench.sweeps(8).await;
    assert!(reports.iter().all(|r| r.requested <= 25));
    assert_eq!((reports[0].due, reports[0].requested, reports[0].deferred), (180, 25, 155));
    assert!(guids.iter().all(|guid| bench.world.redelivery_posts(guid) == 1));
}

#[tokio::test]
async fn a_repair_starts_slowly_and_doubles_while_it_works() {
    let mut bench = Bench::new().await;
    bench.fail(40).await;
    let asked: Vec<_> = bench.sweeps(5).await.iter().map(|r| r.requested).collect();
    assert_eq!(asked, [3, 6, 12, 19, 0]);
}

#[tokio::test]
async fn a_dead_endpoint_gets_probes_only_and_exhausts_nothing() {
    let mut bench = Bench::new().await;
    let guids = bench.fail(30).await;
    bench.world.faults(|faults| faults.sender = Sending::FailToConnect);
    let reports = bench.sweeps(30).await;
    assert!(reports.iter().all(|r| r.requested <= 3), "{reports:?}");
    let posts = bench.world.counters().redelivery_posts;
    assert!((9..=36).contains(&posts), "{posts} requests in an hour");
    let mut down = 0;
    for guid in &guids {
        down += u32::from(bench.verdict(guid).await == "waiting/endpoint_down");
    }
    assert!(down >= 20, "{down}");
    bench.world.faults(|faults| faults.sender = Sending::Deliver);
    bench.sweeps(30).await;
    for guid in &guids {
        assert_eq!(bench.verdict(guid).await, "settled/received");
    }
}

#[tokio::test]
async fn an_answer_that_is_lost_counts_as_asked() {
    let mut bench = Bench::new().await;
    let guids = bench.fail(1).await;
    bench.world.faults(|faults| {
        faults.api.redeliver = Redelivering::TakeAndAnswer(Answer::Drop);
    });
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.requested, report.requests[0].outcome), (1, "ambiguous"));
    bench.sweeps(2).await;
    assert_eq!(bench.world.redelivery_posts(&guids[0]), 1);
    assert_eq!(bench.verdict(&guids[0]).await, "settled/received");
}

#[tokio::test]
async fn a_limit_stops_asking_and_is_kept_by_everybody_with_this_credential() {
    let mut bench = Bench::with(|hook, _| hook.policy.probes = 10).await;
    let guids = bench.fail(4).await;
    bench.world.faults(|faults| {
        let limit = Answer::SecondaryLimit { status: 403, retry_after: Some(300) };
        faults.api.redeliver_next = [Redelivering::Honest, Redelivering::Refuse(limit)].into();
    });
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.requested, report.deferred, report.ending), (1, 3, Ending::RateLimited));
    assert!(report.error.is_some() && report.complete);
    let deferred = bench.redeliveries(&guids[1]).await;
    assert_eq!(deferred.iter().map(|r| r.outcome).collect::<Vec<_>>(), [Outcome::Deferred]);

    let calls = bench.world.counters().api_calls;
    bench.sweeper = bench.second(|_| {});
    let quiet = bench.sweeps(1).await.remove(0);
    assert_eq!((quiet.api_calls, quiet.complete), (0, false));
    assert_eq!(quiet.ending, Ending::RateLimited);
    assert!(quiet.error.unwrap().contains("until"));
    assert_eq!(bench.world.counters().api_calls, calls);

    bench.advance(minutes(6));
    assert_eq!(bench.sweep().await.requested, 3);
}

#[tokio::test]
async fn limits_in_a_row_keep_quiet_for_longer_and_longer() {
    let mut bench = Bench::new().await;
    bench.world.faults(|faults| {
        let limit = Answer::SecondaryLimit { status: 429, retry_after: None };
        faults.api.all = Some(limit);
    });
    let mut waits = Vec::new();
    for _ in 0..3 {
        assert_eq!(bench.sweep().await.ending, Ending::RateLimited);
        let now = Clock::now(&*bench.clock);
        let until = bench.store.limit(&bench.settings.credential, now).await.unwrap().unwrap();
        waits.push((until - now).num_seconds());
        bench.advance(until - now);
    }
    assert_eq!(waits, [60, 120, 240]);
    bench.world.faults(|faults| faults.api.all = None);
    let failed = bench.fail(1).await;
    bench.sweeps(1).await;
    assert!(bench.world.received_ok(&failed[0]));
}

#[tokio::test]
async fn a_refused_credential_ends_the_sweep_and_leaves_everything_due() {
    let mut bench = Bench::new().await;
    let guids = bench.fail(2).await;
    bench.world.faults(|faults| {
        faults.api.redeliver = Redelivering::Refuse(Answer::Status(401));
    });
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.requested, report.deferred, report.ending), (0, 2, Ending::Unauthorized));
    assert_eq!(bench.verdict(&guids[0]).await, "due/failed");
    bench.world.faults(|faults| faults.api.redeliver = Redelivering::Honest);
    assert_eq!(bench.sweeps(1).await[0].requested, 2);
}

// Nothing is concluded, and nothing asked, when the newest attempts could not be read.
#[tokio::test]
async fn a_sweep_that_cannot_read_the_list_asks_for_nothing() {
    let mut bench = Bench::with(|hook, _| hook.policy.probes = 1).await;
    bench.fail(2).await;
    bench.sweeps(1).await;
    bench.world.faults(|faults| faults.api.list_next = vec![Answer::Status(500); 20].into());
    let report = bench.sweeps(1).await.remove(0);
    assert_eq!((report.requested, report.complete, report.ending), (0, false, Ending::Failed));
    assert_eq!((report.due, report.deferred), (1, 1));
}

#[tokio::test]
async fn requests_keep_their_distance() {
    let mut bench = Bench::with(|_, sweep| sweep.min_interval = Duration::from_millis(150)).await;
    bench.fail(3).await;
    bench.advance(PERIOD);
    let started = Instant::now();
    assert_eq!(bench.sweep().await.requested, 3);
    assert!(started.elapsed() >= Duration::from_millis(300));
}

// The order of a repair: nearest to the end of its window first.
#[tokio::test]
async fn the_oldest_is_asked_for_first() {
    let mut bench = Bench::new().await;
    let mut guids = Vec::new();
    for _ in 0..5 {
        guids.extend(bench.fail(1).await);
        bench.advance(TimeDelta::seconds(5));
    }
    bench.advance(PERIOD);
    let asked: Vec<_> = bench.sweep().await.requests.into_iter().map(|r| r.guid).collect();
    assert_eq!(asked, guids[..3]);
}

#[tokio::test]
async fn by_hand_asks_now_whatever_the_verdict() {
    let mut bench = Bench::new().await;
    let guids = bench.emit(1, Sending::Deliver).await;
    let guid = Guid::new(&guids[0]).unwrap();
    assert!(bench.sweeper.ask_one(&guid).await.is_err(), "not listed yet");
    bench.advance(PERIOD);
    bench.sweep().await;
    let asked = bench.sweeper.ask_one(&guid).await.unwrap();
    assert_eq!((asked.outcome, asked.nth, asked.reason), ("accepted", 1, "by_hand"));
    let fetched = bench.sweeper.fetch_one(&guid).await.unwrap();
    assert_eq!((fetched.outcome, fetched.nth), ("accepted", 2));
    bench.world.settled().await;
    assert_eq!(bench.world.posts(&guids[0]).len(), 2);
}
