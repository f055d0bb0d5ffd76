//! Retention: what is old goes, what is open stays, and a late repetition is known.

use chrono::{DateTime, Utc};
use redeliverd::{
    domain::{
        retry::{HandoverResult, HandoverState, Next},
        verdict::{Excuse, Proof, Verdict},
    },
    store::{
        Store,
        types::{Recorded, Replay},
    },
};

use super::{claimed, concluded, counts, done, event, failed, state, take_in, turn};
use crate::{
    store::world::{arrival, at, ci, guid, lease, listed, page},
    support::backends::{Backend, on_both},
};

on_both! {
    payloads_go_before_metadata_and_never_those_of_what_is_open,
    history_goes_with_all_that_is_known_of_an_event,
    a_late_redelivery_of_a_pruned_event_is_not_handed_over,
    what_is_missing_stays_however_old,
    what_is_closed_and_never_arrived_goes,
    many_batches_remove_everything,
}

const START: DateTime<Utc> = DateTime::UNIX_EPOCH;

/// `waiting`, `processing`, `dead`, `processed`, `discarded`, recorded at minutes 0 to 4.
async fn one_of_each(store: &Store) {
    take_in(store, &["waiting", "processing", "dead", "processed", "discarded"]).await;
    let all = claimed(store, "one", 5, 5).await;
    let gone = |claimed| concluded(claimed, HandoverResult::Gone, Next::Dead, 5);
    let ends = [failed(all[0], 900, 5), gone(all[2]), done(all[3], 5), gone(all[4])];
    turn(store, "one", &ends, None, 5).await;
    assert!(store.discard(&ci(), &guid("discarded"), at(5)).await.unwrap());
}

async fn has_body(store: &Store, text: &str) -> Option<bool> {
    store.receipt(&ci(), &guid(text)).await.unwrap().map(|receipt| !receipt.body_pruned)
}

async fn payloads_go_before_metadata_and_never_those_of_what_is_open(backend: Backend) {
    // S28
    let store = backend.open().await;
    one_of_each(&store).await;
    store.record(arrival("not-forwarded", 5, b"{}")).await.unwrap();
    store.record(event("young", 100)).await.unwrap();
    let pruned = store.prune_payloads(&ci(), at(50), START).await.unwrap();
    assert_eq!((pruned.removed, pruned.next), (3, None));
    for (text, kept) in [
        ("waiting", true),
        ("processing", true),
        ("dead", true),
        ("young", true),
        ("processed", false),
        ("discarded", false),
        ("not-forwarded", false),
    ] {
        assert_eq!(has_body(&store, text).await, Some(kept), "{text}");
    }
    let again = store.replay(&ci(), &guid("processed"), 1, at(60)).await.unwrap();
    assert_eq!(again, Replay::NoPayload);
    assert_eq!(store.prune_payloads(&ci(), at(50), START).await.unwrap().removed, 0);
}

async fn history_goes_with_all_that_is_known_of_an_event(backend: Backend) {
    // S29, D24
    let store = backend.open().await;
    one_of_each(&store).await;
    let pruned = store.prune_receipts(&ci(), at(50), START, at(60)).await.unwrap();
    assert_eq!((pruned.removed, pruned.next), (2, None));
    for (text, kept) in [
        ("waiting", true),
        ("processing", true),
        ("dead", true),
        ("processed", false),
        ("discarded", false),
    ] {
        assert_eq!(has_body(&store, text).await.is_some(), kept, "{text}");
        assert_eq!(state(&store, text).await.is_some(), kept, "{text}");
    }
    assert_eq!(store.handovers(&ci(), &guid("processed")).await.unwrap(), []);
    assert_eq!(counts(&store).await, (1, 1, 0, 1));
}

async fn a_late_redelivery_of_a_pruned_event_is_not_handed_over(backend: Backend) {
    // D25, D32
    let store = backend.open().await;
    one_of_each(&store).await;
    store.prune_receipts(&ci(), at(50), START, at(60)).await.unwrap();
    assert_eq!(store.record(event("processed", 70)).await.unwrap(), Recorded::Again);
    assert_eq!(state(&store, "processed").await, Some(HandoverState::Discarded));
    assert_eq!(store.record(event("processed", 71)).await.unwrap(), Recorded::Again);
    assert_eq!(claimed(&store, "two", 9, 72).await.len(), 1, "the expired one, and no other");
    // Its tombstone is kept as long as the event was, and then goes, too.
    assert_eq!(store.prune_traces(&ci(), at(60)).await.unwrap(), 0);
    assert_eq!(store.prune_traces(&ci(), at(61)).await.unwrap(), 2);
}

async fn what_is_missing_stays_however_old(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("missing", 1, 0, Some(500)), listed("both", 2, 0, Some(500))])
        .await;
    store.record(arrival("both", 1, b"{}")).await.unwrap();
    assert_eq!(store.prune_payloads(&ci(), at(90), START).await.unwrap().removed, 0);
    assert_eq!(store.prune_receipts(&ci(), at(90), START, at(91)).await.unwrap().removed, 0);
    assert_eq!(store.prune_deliveries(&ci(), at(90), START).await.unwrap().removed, 0);
    assert!(store.delivery(&ci(), &guid("missing")).await.unwrap().is_some());
}

async fn what_is_closed_and_never_arrived_goes(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("excused", 1, 0, Some(500)), listed("settled", 2, 0, Some(200))])
        .await;
    store.record(arrival("settled", 1, b"{}")).await.unwrap();
    let verdicts = [
        (guid("excused"), Verdict::Excused(Excuse::Dismissed)),
        (guid("settled"), Verdict::Settled(Proof::Received)),
    ];
    store.save_verdicts(&lease, &verdicts, at(2)).await.unwrap();
    assert_eq!(store.prune_deliveries(&ci(), at(90), START).await.unwrap().removed, 1);
    assert!(store.delivery(&ci(), &guid("excused")).await.unwrap().is_none());
    assert!(store.delivery(&ci(), &guid("settled")).await.unwrap().is_some());
    assert_eq!(store.prune_receipts(&ci(), at(90), START, at(91)).await.unwrap().removed, 1);
    assert!(store.delivery(&ci(), &guid("settled")).await.unwrap().is_none());
}

async fn many_batches_remove_everything(backend: Backend) {
    // S32: more than two batches, all received at the same moment.
    let store = backend.open().await;
    let mut recording = tokio::task::JoinSet::new();
    for n in 0..1_200 {
        let store = store.clone();
        recording.spawn(async move {
            store.record(arrival(&format!("g-{n}"), 0, b"{}")).await.unwrap()
        });
    }
    recording.join_all().await;
    let (mut from, mut removed, mut batches) = (Some(START), 0, 0);
    while let Some(at_) = from {
        let pruned = store.prune_receipts(&ci(), at(9), at_, at(10)).await.unwrap();
        (from, removed, batches) = (pruned.next, removed + pruned.removed, batches + 1);
    }
    assert_eq!((removed, batches), (1_200, 3));
    assert_eq!(store.known_hooks().await.unwrap(), []);
}
