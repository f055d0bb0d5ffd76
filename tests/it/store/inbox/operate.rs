//! What operators do: replay, requeue, discard.

use redeliverd::{
    domain::retry::{HandoverResult, HandoverState, Next},
    store::types::Replay,
};

use super::{claim, claimed, concluded, counts, done, event, failed, state, take_in, turn};
use crate::{
    store::world::{arrival, at, ci, guid},
    support::backends::{Backend, on_both},
};

on_both! {
    one_event_replayed_ten_times_is_handed_over_ten_times_more,
    a_replay_of_what_waits_is_due_at_once_and_owed_once,
    a_replay_of_what_is_being_handed_over_comes_after_it,
    a_replay_survives_its_worker,
    what_was_never_meant_for_the_application_can_be_replayed,
    what_never_arrived_or_has_no_bytes_cannot_be_replayed,
    a_dead_letter_is_requeued_with_all_its_attempts,
    a_discarded_letter_stays_discarded,
    ten_thousand_dead_letters_survive_a_restart,
}

/// Hands over whatever is waiting, and says how often.
async fn drain(store: &redeliverd::store::Store, minutes: i64) -> u32 {
    let (mut count, mut ended) = (0, Vec::new());
    loop {
        let turn = turn(store, "one", &ended, Some(claim(4, at(minutes))), minutes).await;
        if turn.claimed.is_empty() {
            return count;
        }
        count += u32::try_from(turn.claimed.len()).unwrap();
        ended = turn.claimed.into_iter().map(|claimed| done(claimed, minutes)).collect();
    }
}

async fn replay(store: &redeliverd::store::Store, text: &str, times: u32) -> Replay {
    store.replay(&ci(), &guid(text), times, at(10)).await.unwrap()
}

async fn one_event_replayed_ten_times_is_handed_over_ten_times_more(backend: Backend) {
    let store = backend.open().await;
    take_in(&store, &["a", "b"]).await;
    assert_eq!(drain(&store, 1).await, 2);
    let queued = Replay::Queued { from: Some(HandoverState::Processed) };
    assert_eq!(replay(&store, "a", 10).await, queued);
    assert_eq!(counts(&store).await, (1, 0, 1, 0));
    assert_eq!(drain(&store, 11).await, 10);
    assert_eq!(counts(&store).await, (0, 0, 2, 0));
    let seq = store.handovers(&ci(), &guid("a")).await.unwrap();
    assert_eq!(seq.iter().map(|row| row.nth).collect::<Vec<_>>(), (1..=11).collect::<Vec<_>>());
}

async fn a_replay_of_what_waits_is_due_at_once_and_owed_once(backend: Backend) {
    let store = backend.open().await;
    take_in(&store, &["a"]).await;
    let first = claimed(&store, "one", 1, 0).await[0];
    turn(&store, "one", &[failed(first, 500, 1)], None, 1).await;
    assert_eq!(drain(&store, 2).await, 0, "its wait still runs");
    let queued = Replay::Queued { from: Some(HandoverState::Waiting) };
    assert_eq!(replay(&store, "a", 1).await, queued);
    assert_eq!(drain(&store, 10).await, 1);
}

async fn a_replay_of_what_is_being_handed_over_comes_after_it(backend: Backend) {
    let store = backend.open().await;
    take_in(&store, &["a"]).await;
    let first = claimed(&store, "one", 1, 9).await[0];
    let queued = Replay::Queued { from: Some(HandoverState::Processing) };
    assert_eq!(replay(&store, "a", 2).await, queued);
    assert_eq!(drain(&store, 10).await, 0, "it is claimed");
    assert_eq!(turn(&store, "one", &[done(first, 10)], None, 10).await.refused, [0_i64; 0]);
    assert_eq!(drain(&store, 10).await, 2);
}

async fn a_replay_survives_its_worker(backend: Backend) {
    let store = backend.open().await;
    take_in(&store, &["a"]).await;
    drain(&store, 1).await;
    replay(&store, "a", 3).await;
    claimed(&store, "killed", 1, 10).await;
    assert_eq!(drain(&store, 13).await, 3, "what was lost with its worker is owed still");
}

async fn what_was_never_meant_for_the_application_can_be_replayed(backend: Backend) {
    // D18
    let store = backend.open().await;
    store.record(arrival("a", 0, b"{}")).await.unwrap();
    assert_eq!(replay(&store, "a", 1).await, Replay::Queued { from: None });
    let claimed = claimed(&store, "one", 1, 10).await;
    let event = store.sendable(claimed[0].seq).await.unwrap().unwrap();
    assert!(event.replayed);
    assert_eq!(event.receipt.arrival.body.as_ref(), b"{}");
}

async fn what_never_arrived_or_has_no_bytes_cannot_be_replayed(backend: Backend) {
    let store = backend.open().await;
    store.record(arrival("reported", 0, b"")).await.unwrap();
    assert_eq!(replay(&store, "reported", 1).await, Replay::NoPayload);
    assert_eq!(replay(&store, "unheard-of", 1).await, Replay::Unknown);
}

async fn a_dead_letter_is_requeued_with_all_its_attempts(backend: Backend) {
    // D18, D35
    let store = backend.open().await;
    take_in(&store, &["a", "b"]).await;
    let both = claimed(&store, "one", 2, 0).await;
    let gone = |claimed| concluded(claimed, HandoverResult::Gone, Next::Dead, 1);
    turn(&store, "one", &[gone(both[0]), gone(both[1])], None, 1).await;
    assert_eq!(claimed(&store, "one", 2, 100).await, [], "dead letters stay");
    assert!(store.requeue(&ci(), &guid("a"), at(2)).await.unwrap());
    assert!(!store.requeue(&ci(), &guid("a"), at(2)).await.unwrap(), "it is not dead any more");
    assert!(!store.requeue(&ci(), &guid("x"), at(2)).await.unwrap());
    let again = claimed(&store, "one", 2, 2).await;
    assert_eq!((again.len(), again[0].attempt, again[0].nth), (1, 1, 2));
    assert_eq!(store.requeue_all(&ci(), at(3)).await.unwrap(), 1);
    assert_eq!(counts(&store).await, (1, 1, 0, 0));
}

async fn a_discarded_letter_stays_discarded(backend: Backend) {
    // D34
    let store = backend.open().await;
    take_in(&store, &["a", "b"]).await;
    let both = claimed(&store, "one", 2, 0).await;
    let gone = |claimed| concluded(claimed, HandoverResult::Gone, Next::Dead, 1);
    turn(&store, "one", &[gone(both[0]), gone(both[1])], None, 1).await;
    assert!(store.discard(&ci(), &guid("a"), at(2)).await.unwrap());
    assert!(!store.discard(&ci(), &guid("a"), at(2)).await.unwrap());
    assert_eq!(store.discard_all(&ci(), at(2)).await.unwrap(), 1);
    assert_eq!(state(&store, "a").await, Some(HandoverState::Discarded));
    assert_eq!(drain(&store, 9).await, 0);
    assert_eq!(counts(&store).await, (0, 0, 0, 0));
    let queued = Replay::Queued { from: Some(HandoverState::Discarded) };
    assert_eq!(replay(&store, "a", 1).await, queued);
}

async fn ten_thousand_dead_letters_survive_a_restart(backend: Backend) {
    // D36
    let store = backend.open().await;
    let mut recording = tokio::task::JoinSet::new();
    for n in 0..10_000 {
        let store = store.clone();
        recording.spawn(async move { store.record(event(&format!("g-{n}"), 0)).await.unwrap() });
    }
    recording.join_all().await;
    loop {
        let all = claimed(&store, "one", 1_000, 0).await;
        if all.is_empty() {
            break;
        }
        let gone = all.into_iter().map(|it| concluded(it, HandoverResult::Gone, Next::Dead, 1));
        turn(&store, "one", &gone.collect::<Vec<_>>(), None, 1).await;
    }
    store.close().await;
    let store = backend.open().await;
    assert_eq!(counts(&store).await, (0, 0, 0, 10_000));
    let (mut after, mut found) = (0, 0);
    loop {
        let page = store.dead_letters(&ci(), after, 3_000).await.unwrap();
        let Some(last) = page.last() else { break };
        (after, found) = (last.seq, found + page.len());
    }
    assert_eq!(found, 10_000);
    assert_eq!(store.requeue_all(&ci(), at(2)).await.unwrap(), 10_000);
}
