//! The history of sweeps.

use redeliverd::store::types::{SweepNumbers, SweepRow};

use super::world::{at, ci, hook, lease};
use crate::support::backends::{Backend, on_both};

on_both! {
    a_sweep_is_opened_and_completed,
    the_newest_come_first_per_hook_and_over_all,
}

async fn a_sweep_is_opened_and_completed(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    let id = store.begin_sweep(&lease, "startup", true, at(1)).await.unwrap();
    let running = SweepRow {
        id,
        hook: ci(),
        trigger: "startup".to_owned(),
        dry_run: true,
        started_at: at(1),
        finished_at: None,
        numbers: SweepNumbers::default(),
    };
    assert_eq!(store.sweeps(Some(&ci()), 9).await.unwrap(), std::slice::from_ref(&running));

    let numbers = SweepNumbers {
        complete: true,
        listed: 1,
        new_attempts: 2,
        unreadable: 3,
        api_calls: 4,
        due: 5,
        requested: 6,
        deferred: 7,
        fetched: 8,
        missing: 9,
        lost: 10,
        adopted: u32::MAX,
        error: Some("cut by the page budget".to_owned()),
        ending: Some("partial".to_owned()),
    };
    store.finish_sweep(id, &numbers, at(2)).await.unwrap();
    let finished = SweepRow { finished_at: Some(at(2)), numbers: numbers.clone(), ..running };
    assert_eq!(store.sweeps(Some(&ci()), 9).await.unwrap(), [finished]);
    assert!(store.finish_sweep(id + 1, &numbers, at(2)).await.is_err());
}

async fn the_newest_come_first_per_hook_and_over_all(backend: Backend) {
    let store = backend.open().await;
    let (one, two) = (lease(&store, &ci()).await, lease(&store, &hook("mirror")).await);
    let mut ids = Vec::new();
    for lease in [&one, &two, &one] {
        ids.push(store.begin_sweep(lease, "scheduled", false, at(1)).await.unwrap());
    }
    let numbers = |rows: Vec<SweepRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(numbers(store.sweeps(None, 2).await.unwrap()), [ids[2], ids[1]]);
    assert_eq!(numbers(store.sweeps(Some(&ci()), 9).await.unwrap()), [ids[2], ids[0]]);
    assert!(store.sweeps(Some(&hook("none")), 9).await.unwrap().is_empty());
}
