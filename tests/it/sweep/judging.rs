//! What is asked for and what is not: one story per verdict.

use std::sync::Arc;

use chrono::TimeDelta;
use redeliverd::{
    domain::{filter::EventPattern, policy::Trust},
    sandbox::github::{Answer, Backfill, Redelivering, Sending, Unsettled},
    sweeper::{Request, Trigger},
};

use crate::support::{Bench, PERIOD, minutes, start};

// O9
#[tokio::test]
async fn one_failed_delivery_among_good_ones_is_repaired() {
    let mut bench = Bench::new().await;
    bench.emit(12, Sending::Deliver).await;
    let failed = bench.fail(1).await;
    bench.emit(12, Sending::Deliver).await;
    bench.world.faults(|faults| faults.api.redeliver = Redelivering::Hold);
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.due, report.requested, report.missing), (1, 1, 1));
    assert_eq!(report.requests[0].reason, "failed");
    assert_eq!(report.requests[0].outcome, "accepted");
    assert_eq!(bench.verdict(&failed[0]).await, "waiting/in_flight");
    bench.world.release();
    bench.world.settled().await;
    let after = bench.sweeps(1).await;
    assert_eq!((after[0].due, after[0].missing), (0, 0));
    assert_eq!(bench.verdict(&failed[0]).await, "settled/received");
    let via = bench.delivery(&failed[0]).await.delivery.receipt.unwrap().via;
    assert_eq!(via.as_str(), "redelivery");
    let metrics = bench.metrics.render().unwrap();
    assert!(
        metrics.contains("redeliverd_repaired_total{hook=\"ci\",via=\"redelivery\"} 1"),
        "{metrics}"
    );
}

// W1, W8: attempts of one GUID are judged together; a success anywhere settles for `github`.
#[tokio::test]
async fn a_later_success_in_the_list_settles_where_githubs_word_counts() {
    let mut bench = Bench::with(|hook, _| hook.policy.trust = Trust::Github).await;
    let event = Arc::new(bench.event());
    let at = start() + minutes(1);
    let fail = |seconds| Backfill::new(&event, at + TimeDelta::seconds(seconds), 502).guid("w1");
    let ok = Backfill::new(&event, at + TimeDelta::seconds(20), 200).guid("w1").redelivery();
    bench.world.backfill(bench.hook, [fail(0), fail(10), ok]);
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.due, report.requested, report.missing), (0, 0, 0));
    assert_eq!(bench.verdict("w1").await, "settled/github_ok");
}

// W2
#[tokio::test]
async fn a_settled_delivery_does_not_hide_those_around_it() {
    let mut bench = Bench::new().await;
    let first = bench.fail(1).await;
    bench.emit(1, Sending::Deliver).await;
    let last = bench.fail(1).await;
    bench.advance(PERIOD);
    assert_eq!(bench.sweep().await.requested, 2);
    assert!(bench.world.received_ok(&first[0]) && bench.world.received_ok(&last[0]));
}

// W3
#[tokio::test]
async fn without_a_sweep_nothing_is_repaired() {
    let mut bench = Bench::new().await;
    let failed = bench.emit(1, Sending::Answer(503)).await;
    bench.advance(minutes(60));
    assert!(!bench.world.received_ok(&failed[0]));
    bench.sweep().await;
    assert!(bench.world.received_ok(&failed[0]));
}

// W5
#[tokio::test]
async fn a_long_log_of_received_events_asks_for_nothing() {
    let mut bench = Bench::new().await;
    bench.emit(230, Sending::Deliver).await;
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.listed, report.due, report.missing), (230, 0, 0));
    assert_eq!(bench.world.counters().redelivery_posts, 0);
}

// W12, R7
#[tokio::test]
async fn a_time_out_of_an_event_we_hold_is_not_asked_for() {
    let mut bench = Bench::new().await;
    let guids = bench.emit(1, Sending::TimeOut { after_delivering: true }).await;
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.listed, report.due, report.missing), (1, 0, 0));
    assert_eq!(bench.verdict(&guids[0]).await, "settled/received");
}

// W17
#[tokio::test]
async fn an_attempt_without_a_code_is_waited_for() {
    let mut bench = Bench::new().await;
    bench.world.faults(|faults| faults.unsettled = Some((minutes(60), Unsettled::Null)));
    let guids = bench.fail(1).await;
    bench.advance(TimeDelta::seconds(5));
    assert_eq!(bench.sweep().await.due, 0);
    assert_eq!(bench.verdict(&guids[0]).await, "waiting/grace");
    bench.advance(minutes(11));
    assert_eq!(bench.sweep().await.requested, 1);
}

// W17: the outcome that is known later counts, although the row was stored before.
#[tokio::test]
async fn a_row_whose_code_comes_later_is_judged_again() {
    let mut bench = Bench::new().await;
    bench.world.faults(|faults| faults.unsettled = Some((minutes(1), Unsettled::Zero)));
    let guids = bench.fail(1).await;
    bench.advance(TimeDelta::seconds(40));
    assert_eq!(bench.sweep().await.due, 0);
    bench.advance(minutes(1));
    assert_eq!(bench.sweep().await.requested, 1);
    assert_eq!(bench.world.redelivery_posts(&guids[0]), 1);
}

// W18
#[tokio::test]
async fn an_ok_that_never_reached_us_is_unseen_and_asked_for_once() {
    let mut bench = Bench::new().await;
    let guids = bench.emit(1, Sending::Swallow).await;
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.requested, report.requests[0].reason), (1, "unseen"));
    bench.sweeps(3).await;
    assert_eq!(bench.world.redelivery_posts(&guids[0]), 1);
    assert_eq!(bench.verdict(&guids[0]).await, "settled/received");
}

// W20
#[tokio::test]
async fn what_left_the_window_is_lost_and_not_asked_for() {
    let mut bench = Bench::new().await;
    let guids = bench.fail(1).await;
    bench.advance(TimeDelta::days(3) + minutes(1));
    // GitHub lists it no more; it is known only if a sweep saw it before.
    assert_eq!(bench.sweep().await.listed, 0);
    let seen = bench.fail(1).await;
    bench.advance(PERIOD);
    bench.world.faults(|faults| faults.api.redeliver = Redelivering::Forget);
    bench.sweep().await;
    bench.advance(TimeDelta::days(3));
    let report = bench.sweep().await;
    assert_eq!((report.lost, report.missing, report.due), (1, 1, 0));
    assert_eq!(bench.verdict(&seen[0]).await, "abandoned/expired");
    assert_eq!(bench.sweeps(1).await[0].lost, 0);
    assert_eq!(bench.world.redelivery_posts(&guids[0]), 0);
}

// W22
#[tokio::test]
async fn filtered_events_are_not_missing() {
    let mut bench = Bench::with(|hook, _| {
        hook.policy.filter.include =
            vec![EventPattern { event: "issues".to_owned(), action: None }];
    })
    .await;
    let unwanted = bench.fail(3).await;
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.listed, report.due, report.missing), (3, 0, 0));
    assert_eq!(bench.verdict(&unwanted[0]).await, "excused/not_wanted");
}

// A filter that is widened later makes what it had excused due again.
#[tokio::test]
async fn new_rules_are_applied_to_what_old_rules_had_closed() {
    let mut bench = Bench::with(|hook, _| {
        hook.policy.filter.exclude = vec![EventPattern { event: "push".to_owned(), action: None }];
    })
    .await;
    let guids = bench.fail(1).await;
    bench.advance(PERIOD);
    bench.sweep().await;
    assert_eq!(bench.verdict(&guids[0]).await, "excused/not_wanted");
    bench.advance(PERIOD);
    bench.sweeper = bench.second(|settings| settings.hook.policy.filter.exclude.clear());
    let dry = Request { dry_run: true, ..Request::new(Trigger::Manual) };
    let plan = bench.request(dry).await;
    assert_eq!((plan.due, plan.missing, plan.requests.len()), (1, 1, 1));
    assert_eq!(bench.verdict(&guids[0]).await, "excused/not_wanted");
    assert_eq!(bench.sweep().await.requested, 1);
}

// New rules reopen the whole window; what they judge as before must not stay open for ever.
#[tokio::test]
async fn what_was_reopened_is_closed_again() {
    let mut bench = Bench::new().await;
    bench.emit(3, Sending::Deliver).await;
    bench.advance(PERIOD);
    bench.sweep().await;
    assert!(bench.store.open_deliveries(&bench.name, None, 1).await.unwrap().is_empty());
    bench.sweeper = bench.second(|settings| settings.hook.policy.trust = Trust::Both);
    bench.sweeps(1).await;
    assert!(bench.store.open_deliveries(&bench.name, None, 1).await.unwrap().is_empty());
}

#[tokio::test]
async fn since_asks_for_adopted_deliveries_for_good() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    let old = bench.history(2, 502, start() - minutes(30));
    assert_eq!(bench.sweep().await.adopted, 2);
    bench.advance(PERIOD);
    let by_hand = Request { since: Some(start() - minutes(60)), ..Request::new(Trigger::Manual) };

    let plan = bench.request(Request { dry_run: true, ..by_hand }).await;
    assert_eq!((plan.due, plan.requested, plan.requests.len()), (2, 0, 2));
    assert!(plan.requests.iter().all(|request| request.outcome == "planned"));
    assert_eq!(bench.verdict(&old[0].1).await, "excused/adopted");
    assert_eq!(bench.world.counters().redelivery_posts, 0);

    let report = bench.request(by_hand).await;
    assert_eq!(report.requested, 2);
    bench.sweeps(1).await;
    assert_eq!(bench.verdict(&old[0].1).await, "settled/received");
}

// What was closed and has been opened by a new attempt is judged with what is open.
#[tokio::test]
async fn a_dry_run_counts_each_delivery_once() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    let event = Arc::new(bench.event());
    let at = start() - minutes(30);
    let again = |minute| Backfill::new(&event, at + minutes(minute), 502).guid("again");
    bench.world.backfill(bench.hook, [again(0)]);
    assert_eq!(bench.sweep().await.adopted, 1);
    bench.advance(PERIOD);
    bench.world.backfill(bench.hook, [again(31).redelivery()]);
    bench.advance(PERIOD);
    let plan = bench
        .request(Request {
            since: Some(start() - minutes(60)),
            dry_run: true,
            ..Request::new(Trigger::Manual)
        })
        .await;
    assert_eq!((plan.due, plan.missing, plan.requests.len()), (1, 1, 1));
}

#[tokio::test]
async fn a_dry_run_stores_the_listing_and_nothing_else() {
    let mut bench = Bench::new().await;
    let failed = bench.fail(1).await;
    bench.advance(PERIOD);
    let request = Request { dry_run: true, ..Request::new(Trigger::Manual) };
    let plan = bench.request(request).await;
    assert_eq!((plan.new_attempts, plan.due, plan.requested, plan.missing), (1, 1, 0, 1));
    assert_eq!((plan.requests[0].outcome, plan.requests[0].nth), ("planned", 1));
    assert_eq!(bench.verdict(&failed[0]).await, "unjudged");
    assert!(bench.redeliveries(&failed[0]).await.is_empty());
    assert_eq!(bench.sweep().await.requested, 1);
}

// D9: the receiver must take in what the sweeper asked for, although the GUID is known by then.
#[tokio::test]
async fn a_known_guid_that_never_arrived_is_taken_in() {
    let mut bench = Bench::new().await;
    let failed = bench.fail(1).await;
    bench.advance(PERIOD);
    bench.sweep().await;
    assert!(bench.delivery(&failed[0]).await.delivery.receipt.is_some());
}

#[tokio::test]
async fn a_fetched_payload_counts_as_arrival() {
    let mut bench =
        Bench::with(|hook, _| hook.policy.repair = redeliverd::domain::policy::Repair::Fetch).await;
    let failed = bench.fail(1).await;
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.fetched, report.requested, report.missing), (1, 0, 0));
    assert_eq!(bench.verdict(&failed[0]).await, "settled/received");
    let guid = redeliverd::domain::ids::Guid::new(&failed[0]).unwrap();
    let receipt = bench.store.receipt(&bench.name, &guid).await.unwrap().unwrap();
    assert_eq!(receipt.arrival.via.as_str(), "api");
    let header = |name: &str| {
        receipt.arrival.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    };
    assert_eq!(header("content-type"), Some("application/json"));
    assert!(header("x-hub-signature-256").unwrap().starts_with("sha256="));
    assert_eq!(bench.world.counters().redelivery_posts, 0);
}

// L23
#[tokio::test]
async fn a_detail_that_is_not_there_yet_is_tried_again() {
    let mut bench =
        Bench::with(|hook, _| hook.policy.repair = redeliverd::domain::policy::Repair::Fetch).await;
    let failed = bench.fail(1).await;
    bench.world.faults(|faults| {
        faults.api.detail_next = [Answer::Status(404), Answer::Status(404)].into();
    });
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.fetched, report.requests[0].outcome), (0, "refused"));
    assert_eq!(bench.verdict(&failed[0]).await, "waiting/backoff");
    bench.sweeps(1).await;
    bench.sweeps(3).await;
    assert_eq!(bench.verdict(&failed[0]).await, "settled/received");
}

#[tokio::test]
async fn a_detail_that_keeps_failing_is_asked_for_with_backoff_and_stops_no_other() {
    let mut bench = Bench::with(|hook, _| {
        hook.policy.repair = redeliverd::domain::policy::Repair::Fetch;
        hook.policy.probes = 10;
    })
    .await;
    let failed = bench.fail(4).await;
    // Three deliveries, each with three tries.
    bench.world.faults(|faults| faults.api.detail_next = vec![Answer::Status(502); 9].into());
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    let outcomes: Vec<_> = report.requests.iter().map(|request| request.outcome).collect();
    assert_eq!(outcomes, ["ambiguous", "ambiguous", "ambiguous", "accepted"]);
    assert_eq!((report.fetched, report.deferred), (1, 0));
    assert_eq!(bench.verdict(&failed[0]).await, "waiting/backoff");
    bench.sweeps(1).await;
    assert_eq!(bench.verdict(&failed[0]).await, "settled/received");
}

// W1, W21: the success that settles may stand in the part of the list that is not read yet.
#[tokio::test]
async fn where_githubs_word_counts_nothing_is_asked_below_an_unread_part() {
    let mut bench = Bench::with(|hook, sweep| {
        hook.policy.trust = Trust::Github;
        sweep.max_pages = 2;
    })
    .await;
    let event = Arc::new(bench.event());
    let at = start() + minutes(1);
    bench.world.backfill(bench.hook, [Backfill::new(&event, at, 502).guid("w1")]);
    let request = Request { dry_run: true, ..Request::new(Trigger::Manual) };
    bench.request(request).await;
    let ok = Backfill::new(&event, at + minutes(1), 200).guid("w1").redelivery();
    bench.world.backfill(bench.hook, [ok]);
    bench.advance(minutes(20));
    bench.history(600, 200, start() + minutes(20));
    let report = bench.sweep().await;
    assert_eq!((report.complete, report.due, report.requested), (false, 1, 0));
    bench.sweeps(6).await;
    assert_eq!(bench.verdict("w1").await, "settled/github_ok");
    assert_eq!(bench.world.counters().redelivery_posts, 0);
}

#[tokio::test]
async fn fetching_comes_after_asking_has_not_helped_twice() {
    let mut bench = Bench::with(|hook, _| {
        hook.policy.repair = redeliverd::domain::policy::Repair::RedeliverThenFetch;
    })
    .await;
    let failed = bench.fail(1).await;
    bench.world.faults(|faults| faults.sender = Sending::FailToConnect);
    let reports = bench.sweeps(30).await;
    assert_eq!(reports.iter().map(|r| r.requested).sum::<u32>(), 2);
    assert_eq!(reports.iter().map(|r| r.fetched).sum::<u32>(), 1);
    assert_eq!(bench.verdict(&failed[0]).await, "settled/received");
}
