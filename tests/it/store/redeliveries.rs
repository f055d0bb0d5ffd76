//! The intent before the act, and what became of it.

use redeliverd::{
    domain::{
        delivery::{Means, Outcome, Redelivery},
        ids::AttemptId,
    },
    store::types::Intent,
};

use super::world::{at, ci, guid, intent, lease, listed, page};
use crate::support::backends::{Backend, on_both};

on_both! {
    requests_are_numbered_and_concluded,
    every_outcome_and_means_comes_back,
    requests_by_hand_at_once_get_different_numbers,
    a_request_by_hand_marks_its_delivery,
    a_request_for_something_never_listed_is_refused,
    what_was_asked_since_is_found,
}

async fn requests_are_numbered_and_concluded(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("a", 1, 1, Some(500)), listed("b", 2, 1, Some(500))]).await;
    assert_eq!(store.intend(&intent("a", 1, 2, Some(4)), Some(&lease)).await.unwrap(), 1);
    store.conclude(&ci(), &guid("a"), 1, Outcome::Accepted, None, at(3)).await.unwrap();
    let probe = Intent { probe: true, ..intent("a", 1, 4, Some(5)) };
    assert_eq!(store.intend(&probe, Some(&lease)).await.unwrap(), 2);
    store.conclude(&ci(), &guid("a"), 2, Outcome::Gone, Some("Not \0Found"), at(5)).await.unwrap();
    assert_eq!(store.intend(&intent("b", 2, 6, Some(5)), Some(&lease)).await.unwrap(), 1);
    assert!(store.conclude(&ci(), &guid("a"), 3, Outcome::Gone, None, at(5)).await.is_err());

    let told = store.story(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!(told.details, [(1, None), (2, Some("Not \u{fffd}Found".to_owned()))]);
    let mut redeliveries = told.open.delivery.redeliveries;
    redeliveries.sort_by_key(|one| one.nth);
    let one = |nth, minute, outcome, probe| Redelivery {
        nth,
        means: Means::Redeliver,
        attempt: AttemptId::new(1).unwrap(),
        asked_at: at(minute),
        outcome,
        probe,
    };
    assert_eq!(redeliveries, [one(1, 2, Outcome::Accepted, false), one(2, 4, Outcome::Gone, true)]);
    assert!(!told.open.delivery.asked_by_hand);
    let b = store.delivery(&ci(), &guid("b")).await.unwrap().unwrap();
    assert_eq!(b.delivery.redeliveries[0].outcome, Outcome::Intended);
}

async fn every_outcome_and_means_comes_back(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("a", 1, 1, Some(500))]).await;
    for means in Means::ALL {
        for outcome in Outcome::ALL {
            let intent = Intent { means: *means, ..intent("a", 1, 2, Some(1)) };
            let nth = store.intend(&intent, Some(&lease)).await.unwrap();
            store.conclude(&ci(), &guid("a"), nth, *outcome, None, at(3)).await.unwrap();
            let a = store.delivery(&ci(), &guid("a")).await.unwrap().unwrap();
            let last = a.delivery.redeliveries.iter().find(|one| one.nth == nth).unwrap();
            assert_eq!((last.means, last.outcome), (*means, *outcome));
        }
    }
}

async fn requests_by_hand_at_once_get_different_numbers(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("a", 1, 1, Some(500))]).await;
    let requests: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.intend(&intent("a", 1, 2, None), None).await.unwrap() })
        })
        .collect();
    let mut numbers = Vec::new();
    for request in requests {
        numbers.push(request.await.unwrap());
    }
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8]);
}

async fn a_request_by_hand_marks_its_delivery(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("a", 1, 1, Some(500))]).await;
    store.intend(&intent("a", 1, 2, None), None).await.unwrap();
    store.intend(&intent("a", 1, 3, Some(1)), Some(&lease)).await.unwrap();
    let a = store.delivery(&ci(), &guid("a")).await.unwrap().unwrap();
    assert!(a.delivery.asked_by_hand);
}

async fn a_request_for_something_never_listed_is_refused(backend: Backend) {
    let store = backend.open().await;
    assert!(store.intend(&intent("a", 1, 2, None), None).await.is_err());
}

async fn what_was_asked_since_is_found(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    let rows: Vec<_> = (1..=3).map(|n| listed(&format!("g{n}"), n, 1, Some(500))).collect();
    page(&store, &lease, &rows).await;
    for (name, id, minute) in [("g1", 1, 2), ("g2", 2, 2), ("g2", 2, 5), ("g3", 3, 6)] {
        store.intend(&intent(name, id, minute, Some(1)), Some(&lease)).await.unwrap();
    }
    let asked = store.asked_since(&ci(), at(5)).await.unwrap();
    let names: Vec<_> = asked.iter().map(|one| one.guid.as_str()).collect();
    assert_eq!(names, ["g2", "g3"]);
    // With all their facts, not only the requests since then.
    assert_eq!((asked[0].redeliveries.len(), asked[0].attempts.len()), (2, 1));
    assert!(store.asked_since(&ci(), at(7)).await.unwrap().is_empty());
}
