//! What an arrival does to the inbox, in each state of the event.

use redeliverd::{
    domain::retry::{HandoverResult, HandoverState, Next},
    store::types::Recorded,
};

use super::{claimed, concluded, counts, done, event, guids, state, take_in, turn};
use crate::{
    store::world::{arrival, ci, guid},
    support::backends::{Backend, on_both},
};

on_both! {
    an_event_is_waiting_from_the_moment_it_is_recorded,
    two_hundred_arrivals_of_one_guid_are_one_hand_over,
    what_is_not_wanted_is_ignored_until_the_filter_wants_it,
    a_redelivery_changes_nothing_in_any_state,
    two_hooks_share_a_guid_and_each_hands_it_over,
    arrivals_wake_the_workers,
}

async fn an_event_is_waiting_from_the_moment_it_is_recorded(backend: Backend) {
    // D3, D5: one transaction; another handle sees both or none.
    let store = backend.open().await;
    take_in(&store, &["a"]).await;
    let other = backend.open().await;
    assert_eq!(state(&other, "a").await, Some(HandoverState::Waiting));
    assert_eq!(counts(&other).await, (1, 0, 0, 0));
    let oldest = other.inbox_counts(&ci()).await.unwrap().oldest_fresh_at;
    assert_eq!(oldest, Some(event("a", 0).received_at));
}

async fn two_hundred_arrivals_of_one_guid_are_one_hand_over(backend: Backend) {
    // D17, D22
    let (one, two) = (backend.open().await, backend.open().await);
    let arrivals = (0..200).map(|n| {
        let store = if n % 2 == 0 { one.clone() } else { two.clone() };
        tokio::spawn(async move { store.record(event("a", 1)).await.unwrap() })
    });
    let mut new = 0;
    for arrival in arrivals.collect::<Vec<_>>() {
        new += u32::from(arrival.await.unwrap() == Recorded::New);
    }
    assert_eq!(new, 1);
    let mine = claimed(&one, "one", 10, 1).await;
    let theirs = claimed(&two, "two", 10, 1).await;
    assert_eq!((mine.len(), theirs.len()), (1, 0));
    assert_eq!(one.receipt(&ci(), &guid("a")).await.unwrap().unwrap().arrivals, 200);
}

async fn what_is_not_wanted_is_ignored_until_the_filter_wants_it(backend: Backend) {
    // D27
    let store = backend.open().await;
    let mut unwanted = event("a", 0);
    (unwanted.wanted, unwanted.forward) = (false, false);
    store.record(unwanted).await.unwrap();
    assert_eq!(state(&store, "a").await, None);
    let states = store.handover_states(&ci(), &["a", "never-heard-of"]).await.unwrap();
    assert_eq!(states.get("a"), Some(&HandoverState::Ignored));
    assert_eq!(states.len(), 1);

    assert_eq!(store.record(event("a", 5)).await.unwrap(), Recorded::Again);
    assert_eq!(state(&store, "a").await, Some(HandoverState::Waiting));
    assert_eq!(store.record(event("a", 6)).await.unwrap(), Recorded::Again);
    assert_eq!(claimed(&store, "one", 10, 6).await.len(), 1);
}

async fn a_redelivery_changes_nothing_in_any_state(backend: Backend) {
    // D9 and the table in ARCHITECTURE.md
    let store = backend.open().await;
    take_in(&store, &["waiting", "processing", "processed", "dead"]).await;
    let all = claimed(&store, "one", 4, 4).await;
    let gone = concluded(all[3], HandoverResult::Gone, Next::Dead, 4);
    turn(&store, "one", &[done(all[2], 4), gone], None, 4).await;
    store.release_claims(&all[..1]).await.unwrap();
    for (text, expected) in [
        ("waiting", HandoverState::Waiting),
        ("processing", HandoverState::Processing),
        ("processed", HandoverState::Processed),
        ("dead", HandoverState::Dead),
    ] {
        assert_eq!(state(&store, text).await, Some(expected), "{text} before");
        assert_eq!(store.record(event(text, 9)).await.unwrap(), Recorded::Again);
        assert_eq!(state(&store, text).await, Some(expected), "{text} after");
    }
    let next = claimed(&store, "two", 10, 5).await;
    assert_eq!(guids(&store, &next).await, ["waiting"]);
}

async fn two_hooks_share_a_guid_and_each_hands_it_over(backend: Backend) {
    // D1, D15
    let store = backend.open().await;
    take_in(&store, &["a"]).await;
    let mut other = event("a", 0);
    other.hook = crate::store::world::hook("mirror");
    store.record(other).await.unwrap();
    // A hook that hands nothing over.
    let mut third = arrival("a", 0, b"{}");
    third.hook = crate::store::world::hook("third");
    store.record(third).await.unwrap();
    assert_eq!(claimed(&store, "one", 10, 0).await.len(), 1);
    let claim = super::claim(10, crate::store::world::at(0));
    let mirror = crate::store::world::hook("mirror");
    let now = crate::store::world::at(0);
    let turn = store.hand_over(&mirror, "one", &[], Some(&claim), now).await.unwrap();
    assert_eq!(turn.claimed.len(), 1);
}

async fn arrivals_wake_the_workers(backend: Backend) {
    let store = backend.open().await;
    let mut arrivals = store.arrivals();
    store.record(arrival("not-for-them", 0, b"{}")).await.unwrap();
    assert!(!arrivals.has_changed().unwrap());
    take_in(&store, &["a"]).await;
    arrivals.changed().await.unwrap();
}
