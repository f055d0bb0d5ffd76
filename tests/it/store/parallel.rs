//! Many at once: one winner per GUID, no error, and one bad row never stops the others.

use redeliverd::{
    domain::verdict::{Proof, Verdict},
    store::types::Recorded,
};

use super::world::{arrival, at, ci, guid, lease, listed, open_count, page};
use crate::{
    migrations::execute,
    support::backends::{Backend, on_both},
};

on_both! {
    of_many_arrivals_of_one_guid_one_is_new,
    what_is_known_among_many_is_told_from_what_is_new,
    two_processes_agree_on_who_was_first,
    fifty_arrivals_beside_a_sweep_meet_no_error,
    one_bad_row_never_stops_the_others,
    recording_heals_by_itself,
    a_caller_that_hangs_up_does_not_undo_the_commit,
}

async fn of_many_arrivals_of_one_guid_one_is_new(backend: Backend) {
    let store = backend.open().await;
    let posts: Vec<_> = (0..200)
        .map(|n| {
            let store = store.clone();
            // Every tenth has other bytes; whoever is first decides what "other" means.
            let body = if n % 10 == 0 { b"odd" } else { b"all" };
            tokio::spawn(async move { store.record(arrival("a", 1, body)).await.unwrap() })
        })
        .collect();
    let mut counts = [0; 3];
    for post in posts {
        match post.await.unwrap() {
            Recorded::New => counts[0] += 1,
            Recorded::Again => counts[1] += 1,
            Recorded::Conflict => counts[2] += 1,
        }
    }
    assert_eq!(counts[0], 1);
    assert_eq!(counts[1] + counts[2], 199);
    let stored = store.receipt(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!(stored.arrivals, 200);
    let conflicts = if &stored.arrival.body[..] == b"all" { 20 } else { 180 };
    assert_eq!((stored.conflicts, counts[2]), (conflicts, conflicts));
}

async fn what_is_known_among_many_is_told_from_what_is_new(backend: Backend) {
    let store = backend.open().await;
    for n in (0..100).step_by(7) {
        store.record(arrival(&format!("g{n}"), 1, b"all")).await.unwrap();
    }
    let posts: Vec<_> = (0..100)
        .map(|n| {
            let (store, guid) = (store.clone(), format!("g{n}"));
            tokio::spawn(async move { store.record(arrival(&guid, 2, b"all")).await.unwrap() })
        })
        .collect();
    for (n, post) in posts.into_iter().enumerate() {
        let known = n % 7 == 0;
        let expected = if known { Recorded::Again } else { Recorded::New };
        assert_eq!(post.await.unwrap(), expected, "g{n}");
        let stored = store.receipt(&ci(), &guid(&format!("g{n}"))).await.unwrap().unwrap();
        assert_eq!(stored.arrivals, if known { 2 } else { 1 }, "g{n}");
    }
}

// D17
async fn two_processes_agree_on_who_was_first(backend: Backend) {
    let stores = [backend.open().await, backend.open().await];
    let posts: Vec<_> = (0..200)
        .map(|n| {
            let store = stores[n % 2].clone();
            // Either process gets the GUIDs in another order.
            let guid = if n % 2 == 0 { n / 2 } else { 99 - n / 2 };
            tokio::spawn(async move {
                store.record(arrival(&format!("g{guid}"), 1, b"{}")).await.unwrap()
            })
        })
        .collect();
    let mut new = 0;
    for post in posts {
        new += i32::from(post.await.unwrap() == Recorded::New);
    }
    assert_eq!(new, 100);
}

// S1, S3
async fn fifty_arrivals_beside_a_sweep_meet_no_error(backend: Backend) {
    let (receiver, sweeper) = (backend.open().await, backend.open().await);
    let lease = lease(&sweeper, &ci()).await;
    let posts: Vec<_> = (0..50)
        .map(|n| {
            let store = receiver.clone();
            tokio::spawn(async move {
                for m in 0..4 {
                    let name = format!("g{n}-{m}");
                    assert_eq!(
                        store.record(arrival(&name, 1, b"{}")).await.unwrap(),
                        Recorded::New
                    );
                }
            })
        })
        .collect();
    let sweep = tokio::spawn(async move {
        for n in 0..50 {
            let rows: Vec<_> =
                (0..4).map(|m| listed(&format!("g{n}-{m}"), n * 4 + m + 1, 1, Some(200))).collect();
            page(&sweeper, &lease, &rows).await;
            let open = sweeper.open_deliveries(&ci(), None, 100).await.unwrap();
            let verdicts: Vec<_> = open
                .into_iter()
                .map(|one| (one.delivery.guid, Verdict::Settled(Proof::Received)))
                .collect();
            sweeper.save_verdicts(&lease, &verdicts, at(1)).await.unwrap();
        }
    });
    for post in posts {
        post.await.unwrap();
    }
    sweep.await.unwrap();
    assert_eq!(open_count(&receiver, &ci()).await, 0);
}

async fn one_bad_row_never_stops_the_others(backend: Backend) {
    let store = backend.open().await;
    refuse_the_event_bad(&backend).await;
    let posts: Vec<_> = (0..40)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut sent = arrival(&format!("g{n}"), 1, b"{}");
                if n == 20 {
                    sent.repository_id = Some(-666);
                }
                store.record(sent).await
            })
        })
        .collect();
    for (n, post) in posts.into_iter().enumerate() {
        let result = post.await.unwrap();
        assert_eq!(result.is_ok(), n != 20, "{n}: {result:?}");
    }
}

/// Makes the database refuse one row, as no input of the receiver can.
async fn refuse_the_event_bad(backend: &Backend) {
    if backend.url().starts_with("postgres") {
        execute(backend, "ALTER TABLE receipts ADD CHECK (repository_id <> -666)").await;
    } else {
        execute(
            backend,
            "CREATE TRIGGER bad BEFORE INSERT ON receipts WHEN NEW.repository_id = -666 \
             BEGIN SELECT RAISE(ABORT, 'refused'); END",
        )
        .await;
    }
}

async fn recording_heals_by_itself(backend: Backend) {
    let store = backend.open().await;
    execute(&backend, "ALTER TABLE receipts RENAME TO hidden").await;
    assert!(store.record(arrival("a", 1, b"{}")).await.is_err());
    assert!(!store.records());
    execute(&backend, "ALTER TABLE hidden RENAME TO receipts").await;
    assert_eq!(store.record(arrival("a", 1, b"{}")).await.unwrap(), Recorded::New);
    assert!(store.records());
}

async fn a_caller_that_hangs_up_does_not_undo_the_commit(backend: Backend) {
    let store = backend.open().await;
    for n in 0..20 {
        let sent = store.record(arrival(&format!("g{n}"), 1, b"{}"));
        tokio::select! {
            biased;
            _ = sent => {}
            // Polled once, so it is queued; then dropped.
            () = std::future::ready(()) => {}
        }
    }
    store.close().await;
    let store = backend.open().await;
    for n in 0..20 {
        assert!(store.receipt(&ci(), &guid(&format!("g{n}"))).await.unwrap().is_some(), "{n}");
    }
}
