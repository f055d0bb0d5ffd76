//! `order = "repository"`: one after the other, and nobody waits for ever.

use chrono::TimeDelta;
use redeliverd::{
    domain::retry::{HandoverResult, Next},
    store::{
        Store,
        types::{Claim, Turn},
    },
};

use super::{concluded, done, event, failed, guids};
use crate::{
    store::world::{at, ci},
    support::backends::{Backend, on_both},
};

on_both! {
    events_of_one_repository_go_one_after_the_other,
    an_event_in_backoff_holds_its_repository_for_one_lease,
    a_lost_worker_holds_its_repository_for_one_lease,
    a_dead_event_frees_its_repository,
    a_long_queue_of_one_repository_hides_no_other,
    every_repository_gets_its_turn_however_many_there_are,
    what_was_overtaken_is_known,
}

async fn record(store: &Store, text: &str, repository: Option<i64>) {
    let mut arrival = event(text, 0);
    arrival.repository_id = repository;
    store.record(arrival).await.unwrap();
}

fn ordered(limit: u32, cursor: i64, minutes: i64) -> Claim {
    Claim {
        limit,
        retries: limit / 2,
        lease_until: at(minutes) + TimeDelta::minutes(2),
        expired_before: at(minutes),
        max_attempts: 9,
        ordered: true,
        cursor,
    }
}

async fn turn(store: &Store, ended: &[redeliverd::store::types::Conclusion], minutes: i64) -> Turn {
    let claim = ordered(10, 0, minutes);
    store.hand_over(&ci(), "one", ended, Some(&claim), at(minutes)).await.unwrap()
}

async fn events_of_one_repository_go_one_after_the_other(backend: Backend) {
    // O3
    let store = backend.open().await;
    for (text, repository) in [("a1", 1), ("a2", 1), ("b1", 2), ("a3", 1)] {
        record(&store, text, Some(repository)).await;
    }
    record(&store, "x1", None).await;
    record(&store, "x2", None).await;
    let first = turn(&store, &[], 0).await.claimed;
    assert_eq!(guids(&store, &first).await, ["a1", "b1", "x1", "x2"]);
    assert_eq!(turn(&store, &[], 1).await.claimed, []);
    let second = turn(&store, &[done(first[0], 1)], 1).await.claimed;
    assert_eq!(guids(&store, &second).await, ["a2"]);
    let third = turn(&store, &[done(second[0], 1)], 1).await.claimed;
    assert_eq!(guids(&store, &third).await, ["a3"]);
}

async fn an_event_in_backoff_holds_its_repository_for_one_lease(backend: Backend) {
    let store = backend.open().await;
    record(&store, "a1", Some(1)).await;
    record(&store, "a2", Some(1)).await;
    let first = turn(&store, &[], 0).await.claimed[0];
    // Due again at minute 1, within its first lease: it goes before the younger one.
    let second = turn(&store, &[failed(first, 1, 0)], 0).await;
    assert_eq!(second.claimed, []);
    let second = turn(&store, &[], 1).await.claimed;
    assert_eq!(guids(&store, &second).await, ["a1"]);
    // Its second lease ends at minute 3, but its hold on the key ended with the first, at 2.
    let third = turn(&store, &[failed(second[0], 60, 1)], 1).await.claimed;
    assert_eq!(third, []);
    let third = turn(&store, &[], 2).await.claimed;
    assert_eq!(guids(&store, &third).await, ["a2"]);
}

async fn a_lost_worker_holds_its_repository_for_one_lease(backend: Backend) {
    let store = backend.open().await;
    record(&store, "a1", Some(1)).await;
    record(&store, "a2", Some(1)).await;
    turn(&store, &[], 0).await;
    assert_eq!(turn(&store, &[], 1).await.claimed, []);
    let both = turn(&store, &[], 3).await;
    assert_eq!(both.expired, 1);
    assert_eq!(guids(&store, &both.claimed).await, ["a1", "a2"]);
}

async fn a_dead_event_frees_its_repository(backend: Backend) {
    let store = backend.open().await;
    record(&store, "a1", Some(1)).await;
    record(&store, "a2", Some(1)).await;
    let first = turn(&store, &[], 0).await.claimed[0];
    let gone = concluded(first, HandoverResult::Gone, Next::Dead, 0);
    let second = turn(&store, &[gone], 0).await.claimed;
    assert_eq!(guids(&store, &second).await, ["a2"]);
}

async fn a_long_queue_of_one_repository_hides_no_other(backend: Backend) {
    let store = backend.open().await;
    for n in 0..300 {
        record(&store, &format!("a{n}"), Some(1)).await;
    }
    record(&store, "b", Some(2)).await;
    let first = turn(&store, &[], 0).await.claimed;
    assert_eq!(guids(&store, &first).await, ["a0", "b"]);
}

async fn every_repository_gets_its_turn_however_many_there_are(backend: Backend) {
    let store = backend.open().await;
    for repository in 1..=600 {
        record(&store, &format!("g{repository}"), Some(repository)).await;
    }
    let (mut cursor, mut total) = (0, 0);
    for _ in 0..70 {
        let claim = ordered(10, cursor, 0);
        let turn = store.hand_over(&ci(), "one", &[], Some(&claim), at(0)).await.unwrap();
        total += turn.claimed.len();
        cursor = turn.cursor;
    }
    assert_eq!(total, 600);
}

async fn what_was_overtaken_is_known(backend: Backend) {
    // O3, O4
    let store = backend.open().await;
    record(&store, "a1", Some(1)).await;
    record(&store, "a2", Some(1)).await;
    record(&store, "a3", Some(1)).await;
    let claim = super::claim(2, at(0));
    let both = store.hand_over(&ci(), "one", &[], Some(&claim), at(0)).await.unwrap().claimed;
    let mut ends = [done(both[0], 1), done(both[1], 1)];
    (ends[0].mark, ends[1].mark) = (Some((1, at(20))), Some((1, at(10))));
    let next = store.hand_over(&ci(), "one", &ends, Some(&claim), at(1)).await.unwrap().claimed;
    let event = store.sendable(next[0].seq).await.unwrap().unwrap();
    assert_eq!(event.newest_handed_at, Some(at(20)));
    let mut end = done(next[0], 1);
    end.mark = Some((1, at(5)));
    store.hand_over(&ci(), "one", &[end], None, at(1)).await.unwrap();
    let event = store.sendable(next[0].seq).await.unwrap().unwrap();
    assert_eq!(event.newest_handed_at, Some(at(20)), "an older one does not turn it back");
}
