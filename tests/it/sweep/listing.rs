//! How the list is read: pages, budgets, loops, errors, and what is remembered of the rest.

use chrono::TimeDelta;
use redeliverd::{
    domain::policy::Trust,
    sandbox::github::{Answer, Backfill, Link, PageFault},
    sweeper::Ending,
};
use std::sync::Arc;

use crate::support::{Bench, PERIOD, minutes, start};

// L15
#[tokio::test]
async fn an_empty_list_is_complete_and_nothing_to_do() {
    let bench = Bench::unadopted(|_, _| {}).await;
    let report = bench.sweep().await;
    assert_eq!((report.ending, report.complete, report.listed), (Ending::Complete, true, 0));
    assert_eq!((report.due, report.requested, report.error), (0, 0, None));
}

// L6, L17
#[tokio::test]
async fn a_single_page_without_a_link_is_looked_at() {
    let mut bench = Bench::new().await;
    bench.emit(2, redeliverd::sandbox::github::Sending::Deliver).await;
    let failed = bench.fail(1).await;
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.listed, report.api_calls, report.requested), (3, 2, 1));
    assert!(bench.world.received_ok(&failed[0]));
}

// L7
#[tokio::test]
async fn every_list_call_asks_for_a_hundred_rows() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    bench.history(250, 200, start() - minutes(10));
    let report = bench.sweep().await;
    assert_eq!((report.listed, report.new_attempts, report.api_calls), (250, 250, 3));
    assert_eq!(bench.world.counters().per_page, [100, 100, 100]);
}

// SPEC section 17: one call for a sweep without news.
#[tokio::test]
async fn a_sweep_without_news_costs_one_call() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    bench.history(250, 200, start() - minutes(60));
    bench.sweep().await;
    let reports = bench.sweeps(3).await;
    assert_eq!(reports.iter().map(|r| r.api_calls).collect::<Vec<_>>(), [1, 1, 1]);
}

// L1, L2, L3
#[tokio::test]
async fn ids_stay_whole_from_the_list_to_the_request() {
    let mut bench = Bench::with(|hook, _| hook.policy.probes = 10).await;
    let ids = [17, 3_800_000_000_000_000_129, 3_800_000_000_000_000_130, i64::MAX];
    let event = Arc::new(bench.event());
    let at = start() + minutes(1);
    bench.world.backfill(bench.hook, ids.map(|id| Backfill::new(&event, at, 502).id(id)));
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    let mut asked: Vec<_> = report.requests.iter().map(|r| r.attempt_id.clone()).collect();
    asked.sort();
    let mut expected = ids.map(|id| id.to_string());
    expected.sort();
    assert_eq!(asked, expected);
    let posts = bench.world.counters().redelivery_posts_of_attempt;
    assert!(ids.iter().all(|id| posts.get(id) == Some(&1)), "{posts:?}");
}

// L8, L20
#[tokio::test]
async fn a_pass_cut_by_its_budget_is_finished_by_the_next_ones() {
    let mut bench = Bench::unadopted(|_, sweep| sweep.max_pages = 2).await;
    bench.history(500, 200, start() - minutes(10));
    let first = bench.sweep().await;
    assert_eq!((first.complete, first.ending, first.listed), (false, Ending::Partial, 200));
    let mut listed = first.new_attempts;
    let mut last = first;
    for report in bench.sweeps(4).await {
        listed += report.new_attempts;
        last = report;
    }
    assert_eq!((listed, last.complete, last.ending), (500, true, Ending::Complete));
    assert!(bench.memory().await.listing.gaps.is_empty());
}

// L9
#[tokio::test]
async fn a_failure_on_the_last_of_forty_pages_is_repaired() {
    let mut bench = Bench::with(|_, _| {}).await;
    let failed = bench.fail(1).await;
    bench.advance(minutes(90));
    bench.history(3950, 200, start() + minutes(90));
    let report = bench.sweep().await;
    assert!(report.complete);
    assert!(bench.world.received_ok(&failed[0]));
}

// L10: every link is new, and leads to the page it stands on.
#[tokio::test]
async fn a_page_that_comes_back_under_a_new_link_ends_the_pass_too() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    bench.history(350, 200, start() - minutes(10));
    bench.world.faults(|faults| faults.api.link = Link::Renewed);
    let report = bench.sweep().await;
    assert!(report.error.expect("an error").contains("loop"));
    assert_eq!((report.complete, report.ending, report.api_calls), (false, Ending::Failed, 3));
    bench.world.faults(|faults| faults.api.link = Link::Honest);
    let after = bench.sweeps(1).await;
    assert!(after[0].complete);
    assert_eq!(report.new_attempts + after[0].new_attempts, 350);
}

// L10
#[tokio::test]
async fn a_link_that_comes_back_ends_the_pass_with_an_error_that_names_it() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    bench.history(350, 200, start() - minutes(10));
    bench.world.faults(|faults| faults.api.link = Link::Looping);
    let report = bench.sweep().await;
    let error = report.error.expect("an error");
    assert!(error.contains("loop") && error.contains("cursor=v1_"), "{error}");
    assert_eq!((report.complete, report.ending, report.api_calls), (false, Ending::Failed, 2));
    // Healed: the rest is read, although the remembered link was no good.
    bench.world.faults(|faults| faults.api.link = Link::Honest);
    let after = bench.sweeps(1).await;
    assert!(after[0].complete);
    assert_eq!(report.new_attempts + after[0].new_attempts, 350);
}

// Such a link is not kept, or the part below it would stay unread until it leaves the window.
#[tokio::test]
async fn a_link_that_must_not_be_followed_is_told_and_the_rest_is_read_once_it_is_right() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    bench.history(350, 200, start() - minutes(10));
    let foreign = Link::Foreign("https://elsewhere.example/app/hook/deliveries".to_owned());
    bench.world.faults(|faults| faults.api.link = foreign);
    let report = bench.sweep().await;
    assert_eq!((report.complete, report.ending, report.listed), (false, Ending::Failed, 100));
    assert!(report.error.unwrap().contains("elsewhere.example"));
    assert_eq!(u64::from(report.api_calls), bench.world.counters().api_calls, "none to elsewhere");
    bench.world.faults(|faults| faults.api.link = Link::Honest);
    let after = bench.sweeps(1).await;
    assert!(after[0].complete);
    assert_eq!(report.new_attempts + after[0].new_attempts, 350);
}

// L13
#[tokio::test]
async fn a_refused_cursor_restarts_from_the_head_and_asks_for_nothing_twice() {
    let mut bench = Bench::with(|hook, sweep| {
        sweep.max_pages = 1;
        hook.policy.probes = 500;
    })
    .await;
    let failed = bench.fail(150).await;
    bench.advance(PERIOD);
    assert_eq!(bench.sweep().await.requested, 100);
    bench.world.faults(|faults| faults.api.cursor = Some(422));
    bench.advance(PERIOD);
    assert!(!bench.sweep().await.complete);
    bench.world.faults(|faults| faults.api.cursor = None);
    bench.sweeps(8).await;
    for guid in &failed {
        assert_eq!(bench.world.redelivery_posts(guid), 1, "{guid}");
        assert!(bench.world.received_ok(guid));
    }
}

// L13
#[tokio::test]
async fn a_link_that_leads_nowhere_stops_only_the_reading() {
    let mut bench = Bench::with(|hook, _| hook.policy.probes = 500).await;
    let failed = bench.fail(150).await;
    bench.world.faults(|faults| faults.api.cursor = Some(404));
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.complete, report.ending, report.requested), (false, Ending::Failed, 100));
    let gaps = bench.memory().await.listing.gaps;
    assert!(!gaps.is_empty() && gaps.iter().all(|gap| gap.link.is_none()), "{gaps:?}");
    bench.world.faults(|faults| faults.api.cursor = None);
    bench.sweeps(8).await;
    assert!(failed.iter().all(|guid| bench.world.received_ok(guid)));
}

#[tokio::test]
async fn a_full_page_without_a_link_is_not_taken_for_the_end_of_a_list_known_to_go_on() {
    let mut bench = Bench::with(|hook, _| hook.policy.trust = Trust::Github).await;
    bench.history(1, 200, start() + minutes(1));
    assert!(bench.sweeps(1).await[0].complete);
    bench.advance(minutes(30));
    bench.history(250, 200, start() + minutes(33));
    bench.world.faults(|faults| faults.api.link = Link::Missing);
    let report = bench.sweep().await;
    assert_eq!((report.new_attempts, report.complete, report.ending), (100, false, Ending::Failed));
    assert!(report.error.unwrap().contains("a full page and no link"));
    bench.world.faults(|faults| faults.api.link = Link::Honest);
    let healed = bench.sweeps(1).await.remove(0);
    assert_eq!((healed.new_attempts, healed.complete), (150, true));
}

#[tokio::test]
async fn a_list_of_exactly_one_full_page_is_complete() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    bench.history(100, 200, start() - minutes(10));
    let report = bench.sweep().await;
    assert_eq!((report.listed, report.complete, report.ending), (100, true, Ending::Complete));
}

// L13
#[tokio::test]
async fn a_link_refused_in_the_pass_that_handed_it_out_is_an_error() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    bench.history(350, 200, start() - minutes(10));
    bench.world.faults(|faults| faults.api.cursor = Some(422));
    let report = bench.sweep().await;
    assert_eq!((report.complete, report.ending), (false, Ending::Failed));
    assert!(report.error.unwrap().contains("422"));
    bench.world.faults(|faults| faults.api.cursor = None);
    assert!(bench.sweeps(1).await[0].complete);
}

#[tokio::test]
async fn a_stored_link_that_is_unknown_or_keeps_failing_is_dropped() {
    for (status, times, ending) in [(404, 1, Ending::Partial), (502, 3, Ending::Failed)] {
        let mut bench = Bench::unadopted(|_, sweep| sweep.max_pages = 1).await;
        bench.history(250, 200, start() - minutes(10));
        bench.sweep().await;
        assert!(bench.memory().await.listing.gaps[0].link.is_some());
        bench.world.faults(|faults| {
            faults.api.list_next = vec![Answer::Status(status); times].into();
        });
        let report = bench.sweeps(1).await.remove(0);
        assert_eq!(report.ending, ending, "{status}");
        assert_eq!(u64::try_from(times), Ok(u64::from(report.api_calls)));
        assert_eq!(bench.memory().await.listing.gaps[0].link, None, "{status}");
    }
}

// L19
#[tokio::test]
async fn an_empty_answer_moves_nothing_backward() {
    let mut bench = Bench::new().await;
    bench.history(3, 200, start() + minutes(1));
    bench.sweep().await;
    let before = bench.memory().await;
    let hidden: Vec<String> =
        bench.world.attempts(bench.hook).into_iter().map(|row| row.guid).collect();
    bench.world.faults(|faults| faults.hidden.extend(hidden));
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.listed, report.error), (0, None));
    let after = bench.memory().await;
    assert!(after.listing.head >= before.listing.head);
    assert_eq!(after.adopted_at, before.adopted_at);
}

// W21
#[tokio::test]
async fn an_error_while_paging_is_told_and_the_unread_part_is_read_later() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    bench.history(250, 200, start() - minutes(10));
    bench.world.faults(|faults| {
        faults.api.pages = vec![PageFault { page: 2, times: 20, answer: Answer::Status(502) }];
    });
    let report = bench.sweep().await;
    assert_eq!((report.complete, report.ending, report.listed), (false, Ending::Failed, 100));
    assert!(report.error.is_some());
    assert_eq!(bench.memory().await.listing.complete_at, None);
    bench.world.faults(|faults| faults.api.pages.clear());
    let after = bench.sweeps(1).await;
    assert!(after[0].complete);
    assert_eq!(report.new_attempts + after[0].new_attempts, 250);
}

// L18
#[tokio::test]
async fn the_first_pass_adopts_history_and_asks_for_none_of_it() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    bench.history(400, 502, start() - minutes(5));
    let report = bench.sweep().await;
    assert_eq!((report.listed, report.adopted, report.due, report.missing), (400, 400, 0, 0));
    assert_eq!(bench.sweeps(2).await.iter().map(|r| r.adopted).sum::<u32>(), 0);
    assert_eq!(bench.world.counters().redelivery_posts, 0);
}

// The receiver ran while the list could not be read: what failed then is no history.
#[tokio::test]
async fn what_failed_before_the_first_pass_but_after_the_installation_is_asked_for() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    let old = bench.history(1, 502, start() - minutes(1));
    bench.world.faults(|faults| faults.api.list_next = vec![Answer::Status(503); 3].into());
    assert!(!bench.sweep().await.complete);
    let failed = bench.fail(1).await;
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.complete, report.adopted, report.requested), (true, 1, 1));
    assert_eq!(bench.world.redelivery_posts(&failed[0]), 1);
    assert_eq!(bench.world.redelivery_posts(&old[0].1), 0);
}

// L18
#[tokio::test]
async fn first_run_adopts_from_so_far_back() {
    let mut bench = Bench::unadopted(|hook, _| hook.first_run = TimeDelta::hours(1)).await;
    let old = bench.history(1, 502, start() - minutes(90));
    let young = bench.history(1, 502, start() - minutes(30));
    let report = bench.sweep().await;
    assert_eq!((report.adopted, report.requested), (1, 1));
    assert_eq!(bench.world.redelivery_posts(&old[0].1), 0);
    assert_eq!(bench.world.redelivery_posts(&young[0].1), 1);
}

#[tokio::test]
async fn an_unreadable_row_is_counted_and_skipped() {
    let mut bench = Bench::new().await;
    let failed = bench.fail(1).await;
    bench.world.faults(|faults| faults.api.garbage = vec![serde_json::json!({"id": "no"})]);
    bench.advance(PERIOD);
    let report = bench.sweep().await;
    assert_eq!((report.unreadable, report.listed, report.complete), (1, 1, true));
    assert!(bench.world.received_ok(&failed[0]));
}

// Rows whose form has changed look like none, and an empty list is fine.
#[tokio::test]
async fn a_page_without_a_readable_row_concludes_nothing() {
    let mut bench = Bench::new().await;
    let odd = serde_json::json!({"id": 17, "guid": "g-17", "delivered_at": null});
    bench.world.faults(|faults| faults.api.garbage = vec![odd; 3]);
    let report = bench.sweep().await;
    assert_eq!((report.unreadable, report.listed, report.complete), (3, 0, false));
    assert!(report.error.unwrap().contains("none of the 3 rows"));
    // What came meanwhile is read once it can be.
    let failed = bench.fail(1).await;
    bench.world.faults(|faults| faults.api.garbage.clear());
    bench.advance(minutes(20));
    let report = bench.sweep().await;
    assert_eq!((report.listed, report.complete, report.error), (1, true, None));
    assert_eq!(bench.world.redelivery_posts(&failed[0]), 1);
}

// A row that is listed late, yet within the overlap, is not overlooked.
#[tokio::test]
async fn a_row_that_appears_late_is_found() {
    let mut bench = Bench::new().await;
    bench.world.faults(|faults| faults.list_lag = TimeDelta::seconds(90));
    let failed = bench.fail(1).await;
    bench.advance(TimeDelta::seconds(40));
    assert_eq!(bench.sweep().await.listed, 0);
    bench.sweeps(1).await;
    assert_eq!(bench.world.redelivery_posts(&failed[0]), 1);
}

// Our clock is ten minutes ahead: the boundary must not lie beyond rows that are yet to be listed.
#[tokio::test]
async fn a_clock_ahead_of_githubs_skips_no_row() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    bench.world.faults(|faults| faults.clock_skew = -minutes(10));
    bench.emit(1, redeliverd::sandbox::github::Sending::Deliver).await;
    bench.sweep().await;
    bench.advance(minutes(6));
    let newest = bench.world.now() - minutes(1);
    bench.history(250, 502, newest);
    let report = bench.sweep().await;
    assert_eq!((report.new_attempts, report.complete), (250, true));
    assert_eq!(report.due, 250, "none of them is taken for older than the adoption");
}
