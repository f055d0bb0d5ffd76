//! Claims: one winner, leases, takeovers, late results, retries beside fresh events.

use std::collections::BTreeSet;

use redeliverd::domain::retry::{HandoverResult, HandoverState, Next};

use super::{claim, claimed, concluded, counts, done, event, failed, guids, state, take_in, turn};
use crate::{
    store::world::{at, ci, guid},
    support::backends::{Backend, on_both},
};

on_both! {
    events_are_claimed_in_order_of_receipt_and_once,
    many_workers_at_once_share_the_events_without_overlap,
    an_expired_lease_is_taken_over_and_the_late_result_is_refused_and_recorded,
    a_renewed_lease_is_not_taken_over,
    an_event_that_kills_its_worker_ends_dead,
    retries_and_fresh_events_share_the_slots,
    a_retry_waits_until_it_is_due,
    a_released_claim_was_never_made,
    what_a_conclusion_says_is_what_show_tells,
}

async fn events_are_claimed_in_order_of_receipt_and_once(backend: Backend) {
    let store = backend.open().await;
    take_in(&store, &["c", "a", "b"]).await;
    let first = claimed(&store, "one", 2, 3).await;
    assert_eq!(guids(&store, &first).await, ["c", "a"]);
    assert_eq!([first[0].attempt, first[0].nth], [1, 1]);
    let rest = claimed(&store, "two", 2, 3).await;
    assert_eq!(guids(&store, &rest).await, ["b"]);
    assert_eq!(claimed(&store, "two", 2, 3).await, []);
    assert_eq!(counts(&store).await, (0, 3, 0, 0));
    let row = store.inbox_row(&ci(), &guid("b")).await.unwrap().unwrap();
    assert_eq!(row.owner.as_deref(), Some("two"));
    assert_eq!(row.lease_until, Some(at(5)));
}

async fn many_workers_at_once_share_the_events_without_overlap(backend: Backend) {
    // D22, S9
    let store = backend.open().await;
    let names: Vec<String> = (0..120).map(|n| format!("g-{n:03}")).collect();
    take_in(&store, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut workers = Vec::new();
    for worker in 0..4 {
        let store = backend.open().await;
        workers.push(tokio::spawn(async move {
            let mut mine = Vec::new();
            let mut ended = Vec::new();
            loop {
                let claim = claim(7, at(200));
                let owner = format!("worker {worker}");
                let turn =
                    store.hand_over(&ci(), &owner, &ended, Some(&claim), at(200)).await.unwrap();
                assert_eq!(turn.refused, [0_i64; 0]);
                if turn.claimed.is_empty() {
                    return mine;
                }
                mine.extend(turn.claimed.iter().map(|claimed| claimed.seq));
                ended = turn.claimed.into_iter().map(|claimed| done(claimed, 200)).collect();
            }
        }));
    }
    let mut all = Vec::new();
    for worker in workers {
        all.extend(worker.await.unwrap());
    }
    assert_eq!(all.len(), 120, "each event once");
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 120);
    assert_eq!(counts(&store).await, (0, 0, 120, 0));
}

async fn an_expired_lease_is_taken_over_and_the_late_result_is_refused_and_recorded(
    backend: Backend,
) {
    // D4, D6, S16, S17, S23
    let store = backend.open().await;
    take_in(&store, &["a"]).await;
    let lost = claimed(&store, "one", 1, 0).await[0];
    assert_eq!(claimed(&store, "two", 1, 1).await, [], "the lease still runs");
    let taken = turn(&store, "two", &[], Some(claim(1, at(3))), 3).await;
    assert_eq!(taken.expired, 1);
    let taken = taken.claimed[0];
    assert_eq!((taken.seq, taken.attempt, taken.nth), (lost.seq, 2, 2));
    assert!(taken.token > lost.token);

    let late = turn(&store, "one", &[done(lost, 4)], None, 4).await;
    assert_eq!(late.refused, [lost.seq]);
    assert_eq!(state(&store, "a").await, Some(HandoverState::Processing), "still the other's");
    let ours = turn(&store, "two", &[done(taken, 5)], None, 5).await;
    assert_eq!(ours.refused, [0_i64; 0]);
    assert_eq!(state(&store, "a").await, Some(HandoverState::Processed));
    assert_eq!(counts(&store).await, (0, 0, 1, 0));

    let told: Vec<_> = store
        .handovers(&ci(), &guid("a"))
        .await
        .unwrap()
        .into_iter()
        .map(|row| (row.nth, row.result.as_str(), row.late, row.owner.unwrap_or_default()))
        .collect();
    assert_eq!(
        told,
        [
            (1, "expired", false, "one".to_owned()),
            (1, "processed", true, "one".to_owned()),
            (2, "processed", false, "two".to_owned()),
        ]
    );
}

async fn a_renewed_lease_is_not_taken_over(backend: Backend) {
    // S21
    let store = backend.open().await;
    take_in(&store, &["a", "b"]).await;
    let mine = claimed(&store, "one", 2, 0).await;
    let held = store.renew_claims(&mine[..1], at(10)).await.unwrap();
    assert_eq!(held, [mine[0].seq].into());
    let taken = claimed(&store, "two", 2, 5).await;
    assert_eq!(guids(&store, &taken).await, ["b"]);
    let held = store.renew_claims(&mine, at(20)).await.unwrap();
    assert_eq!(held, [mine[0].seq].into(), "the other one is lost");
    assert_eq!(turn(&store, "one", &[done(mine[0], 6)], None, 6).await.refused, [0_i64; 0]);
}

async fn an_event_that_kills_its_worker_ends_dead(backend: Backend) {
    // S19, S20
    let store = backend.open().await;
    take_in(&store, &["poison"]).await;
    for life in 0..3_u32 {
        let claimed = claimed(&store, "one", 1, i64::from(life) * 3).await;
        assert_eq!(claimed[0].attempt, life + 1);
    }
    let last = turn(&store, "one", &[], Some(claim(1, at(9))), 9).await;
    assert_eq!((last.claimed.len(), last.expired, last.expired_dead), (0, 0, 1));
    assert_eq!(counts(&store).await, (0, 0, 0, 1));
    let dead = store.dead_letters(&ci(), 0, 10).await.unwrap();
    assert_eq!(dead[0].guid, guid("poison"));
    assert_eq!(dead[0].attempts, 3);
    assert!(dead[0].last_error.as_deref().unwrap().contains("lease"));
}

async fn retries_and_fresh_events_share_the_slots(backend: Backend) {
    // R8: a heap of failed events never keeps fresh ones waiting, nor the other way round.
    let store = backend.open().await;
    take_in(&store, &["old-1", "old-2", "old-3", "old-4"]).await;
    let old = claimed(&store, "one", 4, 0).await;
    let ended: Vec<_> = old.into_iter().map(|claimed| failed(claimed, 5, 1)).collect();
    turn(&store, "one", &ended, None, 1).await;
    take_in(&store, &["new-1", "new-2", "new-3", "new-4"]).await;

    let mixed = claimed(&store, "one", 4, 10).await;
    assert_eq!(guids(&store, &mixed).await, ["old-1", "old-2", "new-1", "new-2"]);
    let rest = claimed(&store, "one", 8, 10).await;
    assert_eq!(rest.len(), 4, "a share that one kind does not need goes to the other");
}

async fn a_retry_waits_until_it_is_due(backend: Backend) {
    // D8, D28
    let store = backend.open().await;
    take_in(&store, &["a"]).await;
    let first = claimed(&store, "one", 1, 0).await[0];
    turn(&store, "one", &[failed(first, 30, 1)], None, 1).await;
    assert_eq!(state(&store, "a").await, Some(HandoverState::Waiting));
    assert_eq!(claimed(&store, "one", 1, 29).await, []);
    let second = claimed(&store, "one", 1, 30).await[0];
    assert_eq!((second.attempt, second.nth), (2, 2));
    let row = store.inbox_row(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!(row.last_error.as_deref(), Some("500 failed: the application's words"));
}

async fn a_released_claim_was_never_made(backend: Backend) {
    // D30, O26
    let store = backend.open().await;
    take_in(&store, &["a", "b"]).await;
    let mine = claimed(&store, "one", 2, 0).await;
    store.release_claims(&mine).await.unwrap();
    assert_eq!(counts(&store).await, (2, 0, 0, 0));
    let again = claimed(&store, "two", 2, 0).await;
    assert_eq!([again[0].attempt, again[0].nth], [1, 1]);
    store.release_claims(&mine).await.unwrap();
    assert_eq!(counts(&store).await, (0, 2, 0, 0), "an old token releases nothing");
}

async fn what_a_conclusion_says_is_what_show_tells(backend: Backend) {
    let store = backend.open().await;
    let mut odd = event("a", 0);
    odd.repository_id = None;
    store.record(odd).await.unwrap();
    let first = claimed(&store, "one", 1, 0).await[0];
    let mut ended = concluded(first, HandoverResult::Timeout, Next::Dead, 2);
    (ended.status_code, ended.detail) = (None, Some("NUL \u{0} and ü".to_owned()));
    turn(&store, "one", &[ended], None, 2).await;
    let told = store.handovers(&ci(), &guid("a")).await.unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].started_at, told[0].finished_at), (Some(at(2)), at(2)));
    assert_eq!((told[0].result, told[0].status_code), (HandoverResult::Timeout, None));
    assert_eq!(told[0].detail.as_deref(), Some("NUL \u{fffd} and ü"));
    let row = store.inbox_row(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!((row.state, row.finished_at), (HandoverState::Dead, Some(at(2))));
}
