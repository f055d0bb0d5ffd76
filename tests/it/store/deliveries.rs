//! Reading: list, dismiss, what only arrived, how it came.

use redeliverd::{
    domain::{
        delivery::{Receipt, Via},
        ids::EventName,
        verdict::{Proof, Verdict},
    },
    store::types::{Arrival, Query},
};

use super::world::{arrival, at, ci, guid, hook, intent, lease, listed, page};
use crate::support::backends::{Backend, on_both};

on_both! {
    the_list_is_newest_first_over_all_hooks,
    the_list_obeys_its_filters,
    the_limit_cuts_listed_and_received_together,
    the_list_goes_on_where_it_was_cut,
    receipts_that_are_not_listed_are_looked_for_as_far_back_as_wanted,
    an_arrival_that_is_not_listed_yet_is_shown_but_not_judged,
    a_receipt_joins_its_delivery,
    via_tells_what_was_asked_for,
    via_follows_the_list,
    dismissing_marks_and_opens,
}

async fn names(store: &redeliverd::store::Store, query: &Query) -> Vec<String> {
    let list = store.list(query).await.unwrap();
    list.iter().map(|one| format!("{}/{}", one.hook, one.delivery.guid)).collect()
}

fn all() -> Query {
    Query { limit: 100, ..Query::default() }
}

async fn the_list_is_newest_first_over_all_hooks(backend: Backend) {
    let store = backend.open().await;
    assert!(store.list(&all()).await.unwrap().is_empty());
    let (one, two) = (lease(&store, &ci()).await, lease(&store, &hook("mirror")).await);
    page(&store, &one, &[listed("a", 1, 1, None), listed("b", 2, 4, None)]).await;
    // Ordered by the first attempt, not by the newest.
    page(&store, &one, &[listed("a", 3, 9, None)]).await;
    page(&store, &two, &[listed("a", 1, 2, None)]).await;
    store.record(arrival("r", 3, b"")).await.unwrap();
    store.record(Arrival { hook: hook("only-received"), ..arrival("r", 0, b"") }).await.unwrap();
    let expected = ["ci/b", "ci/r", "mirror/a", "ci/a", "only-received/r"];
    assert_eq!(names(&store, &all()).await, expected);
}

async fn the_list_obeys_its_filters(backend: Backend) {
    let store = backend.open().await;
    let (one, two) = (lease(&store, &ci()).await, lease(&store, &hook("mirror")).await);
    let mut issue = listed("issue", 3, 3, None);
    issue.event = EventName::new("issues").unwrap();
    page(&store, &one, &[listed("a", 1, 1, None), listed("b", 2, 2, None), issue]).await;
    page(&store, &two, &[listed("m", 1, 2, None)]).await;
    store.record(arrival("r", 5, b"")).await.unwrap();
    let settled = [(guid("b"), Verdict::Settled(Proof::GithubOk))];
    store.save_verdicts(&one, &settled, at(6)).await.unwrap();

    let of_ci = Query { hook: Some(ci()), ..all() };
    assert_eq!(names(&store, &of_ci).await, ["ci/r", "ci/issue", "ci/b", "ci/a"]);
    let pushes = Query { event: Some("push".to_owned()), ..of_ci.clone() };
    assert_eq!(names(&store, &pushes).await, ["ci/r", "ci/b", "ci/a"]);
    let since = Query { since: Some(at(2)), ..all() };
    assert_eq!(names(&store, &since).await, ["ci/r", "ci/issue", "ci/b", "mirror/m"]);
    let open = Query { open_only: true, ..all() };
    assert_eq!(names(&store, &open).await, ["ci/issue", "mirror/m", "ci/a"]);
    let both = Query { open_only: true, since: Some(at(2)), ..pushes };
    assert!(names(&store, &both).await.is_empty());
}

async fn the_limit_cuts_listed_and_received_together(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(
        &store,
        &lease,
        &[listed("a", 1, 1, None), listed("b", 2, 3, None), listed("c", 3, 5, None)],
    )
    .await;
    for (name, minute) in [("r2", 2), ("r4", 4), ("r6", 6)] {
        store.record(arrival(name, minute, b"")).await.unwrap();
    }
    let ordered = ["ci/r6", "ci/c", "ci/r4", "ci/b", "ci/r2", "ci/a"];
    for limit in 0..=6_u32 {
        let query = Query { limit, ..Query::default() };
        assert_eq!(names(&store, &query).await, ordered[..limit as usize], "limit {limit}");
    }
}

async fn the_list_goes_on_where_it_was_cut(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    // Three share a moment, on both sides of every cut.
    let rows: Vec<_> = [("a", 1), ("b", 3), ("d", 3), ("e", 5)]
        .into_iter()
        .zip(1..)
        .map(|((name, minute), id)| listed(name, id, minute, None))
        .collect();
    page(&store, &lease, &rows).await;
    store.record(arrival("c", 3, b"")).await.unwrap();
    store.record(arrival("f", 2, b"")).await.unwrap();
    for open_only in [false, true] {
        let expected: &[&str] =
            if open_only { &["e", "b", "d", "a"] } else { &["e", "b", "c", "d", "f", "a"] };
        for limit in 1..=7 {
            let mut query = Query { hook: Some(ci()), open_only, limit, ..Query::default() };
            let mut seen = Vec::new();
            loop {
                let list = store.list(&query).await.unwrap();
                let Some(end) = list.last() else { break };
                query.before = Some((end.known_since(), end.delivery.guid.clone()));
                seen.extend(list.into_iter().map(|one| one.delivery.guid.to_string()));
            }
            assert_eq!(seen, expected, "limit {limit}");
        }
    }
}

async fn receipts_that_are_not_listed_are_looked_for_as_far_back_as_wanted(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("a", 1, 1, None), listed("b", 2, 5, None)]).await;
    for (name, minute) in [("r2", 2), ("r4", 4), ("r6", 6)] {
        store.record(arrival(name, minute, b"")).await.unwrap();
    }
    assert_eq!(store.receipt_behind(&ci(), 0).await.unwrap(), Some(at(6)));
    assert_eq!(store.receipt_behind(&ci(), 2).await.unwrap(), Some(at(2)));
    assert_eq!(store.receipt_behind(&ci(), 3).await.unwrap(), None);
    assert_eq!(store.receipt_behind(&hook("mirror"), 0).await.unwrap(), None);
    for event in [None, Some("push".to_owned())] {
        let query = Query { event, unlisted_since: Some(at(4)), ..all() };
        assert_eq!(names(&store, &query).await, ["ci/r6", "ci/b", "ci/r4", "ci/a"]);
    }
}

async fn an_arrival_that_is_not_listed_yet_is_shown_but_not_judged(backend: Backend) {
    let store = backend.open().await;
    store.record(arrival("r", 3, b"{}")).await.unwrap();
    let one = store.delivery(&ci(), &guid("r")).await.unwrap().unwrap();
    assert_eq!(one.delivery.repository_id, Some(7));
    assert!(one.delivery.attempts.is_empty());
    assert_eq!(one.delivery.receipt, Some(Receipt { received_at: at(3), via: Via::Delivery }));
    assert_eq!(one.judged, None);
    assert!(store.open_deliveries(&ci(), None, 9).await.unwrap().is_empty());

    let told = store.story(&ci(), &guid("r")).await.unwrap().unwrap();
    let receipt = told.receipt.unwrap();
    assert!(receipt.arrival.body.is_empty());
    assert_eq!((receipt.body_size, receipt.body_pruned), (2, false));
    assert_eq!(told.dismissed, None);
}

async fn a_receipt_joins_its_delivery(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("a", 1, 1, Some(200)), listed("b", 2, 1, Some(200))]).await;
    store.record(arrival("a", 1, b"{}")).await.unwrap();
    store.record(Arrival { hook: hook("mirror"), ..arrival("b", 1, b"{}") }).await.unwrap();
    let open = store.open_deliveries(&ci(), None, 9).await.unwrap();
    let receipts: Vec<_> = open.into_iter().map(|one| one.delivery.receipt).collect();
    assert_eq!(receipts, [Some(Receipt { received_at: at(1), via: Via::Delivery }), None]);
}

async fn via_tells_what_was_asked_for(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("a", 1, 1, Some(500)), listed("b", 2, 1, Some(500))]).await;
    store.intend(&intent("a", 1, 5, Some(1)), Some(&lease)).await.unwrap();
    store.record(arrival("a", 6, b"{}")).await.unwrap();
    // Came before it was asked for: nobody knew yet.
    store.record(arrival("b", 4, b"{}")).await.unwrap();
    store.intend(&intent("b", 2, 5, Some(1)), Some(&lease)).await.unwrap();
    assert_eq!(via(&store, "a").await, Via::Redelivery);
    assert_eq!(via(&store, "b").await, Via::Delivery);
    let told = store.story(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!(told.receipt.unwrap().arrival.via, Via::Redelivery);
}

async fn via(store: &redeliverd::store::Store, name: &str) -> Via {
    store.delivery(&ci(), &guid(name)).await.unwrap().unwrap().delivery.receipt.unwrap().via
}

async fn via_follows_the_list(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    let mut by_somebody = listed("a", 2, 30, Some(202));
    by_somebody.attempt.redelivery = true;
    page(&store, &lease, &[listed("a", 1, 1, Some(500)), by_somebody]).await;
    store.record(arrival("a", 30, b"{}")).await.unwrap();
    assert_eq!(via(&store, "a").await, Via::Redelivery);
    page(&store, &lease, &[listed("b", 3, 1, Some(500))]).await;
    store.record(Arrival { via: Via::Api, ..arrival("b", 40, b"{}") }).await.unwrap();
    assert_eq!(via(&store, "b").await, Via::Api);
}

async fn dismissing_marks_and_opens(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("a", 1, 1, Some(500)), listed("b", 2, 1, Some(500))]).await;
    let settled = ["a", "b"].map(|name| (guid(name), Verdict::Settled(Proof::GithubOk)));
    store.save_verdicts(&lease, &settled, at(2)).await.unwrap();
    assert!(store.dismiss(&ci(), &guid("a"), Some("not \0 needed"), at(3)).await.unwrap());
    assert!(store.dismiss(&ci(), &guid("b"), None, at(4)).await.unwrap());
    assert!(!store.dismiss(&ci(), &guid("unknown"), None, at(4)).await.unwrap());
    assert!(!store.dismiss(&hook("mirror"), &guid("a"), None, at(4)).await.unwrap());
    let open = store.open_deliveries(&ci(), None, 9).await.unwrap();
    assert_eq!(open.len(), 2);
    assert!(open.iter().all(|one| one.delivery.dismissed));
    let told = store.story(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!(told.dismissed, Some((at(3), Some("not \u{fffd} needed".to_owned()))));
}
