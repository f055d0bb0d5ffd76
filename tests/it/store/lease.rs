//! One sweeper per hook, and no writes by a former one.

use redeliverd::{
    domain::{
        boundary::Listing,
        plan::Ramp,
        verdict::{Proof, Verdict},
    },
    store::{
        StoreError,
        types::{Acquired, Lease},
    },
};

use super::world::{at, ci, guid, hook, intent, lease, listed, page};
use crate::support::backends::{Backend, on_both};

on_both! {
    a_held_lease_is_busy_also_for_its_owner,
    an_expired_lease_is_taken_with_a_higher_token,
    a_late_write_of_the_former_holder_is_refused,
    an_expired_lease_that_nobody_took_still_writes,
    a_renewed_lease_stays,
    a_released_lease_is_free_and_writes_no_more,
    of_many_processes_one_gets_it,
}

async fn a_held_lease_is_busy_also_for_its_owner(backend: Backend) {
    let store = backend.open().await;
    let Acquired::Held(held) = store.acquire(&ci(), "me", at(0), at(5)).await.unwrap() else {
        panic!("it is free")
    };
    assert_eq!((held.hook, held.owner.as_str()), (ci(), "me"));
    for owner in ["me", "you"] {
        let answer = store.acquire(&ci(), owner, at(4), at(9)).await.unwrap();
        assert_eq!(answer, Acquired::Busy { owner: "me".to_owned(), until: at(5) });
    }
    // Another hook's lease is another lease.
    lease(&store, &hook("mirror")).await;
}

// S17
async fn an_expired_lease_is_taken_with_a_higher_token(backend: Backend) {
    let store = backend.open().await;
    let Acquired::Held(first) = store.acquire(&ci(), "me", at(0), at(5)).await.unwrap() else {
        panic!("it is free")
    };
    let Acquired::Held(second) = store.acquire(&ci(), "you", at(5), at(9)).await.unwrap() else {
        panic!("it has expired")
    };
    assert!(second.token > first.token);
}

// S16
async fn a_late_write_of_the_former_holder_is_refused(backend: Backend) {
    let store = backend.open().await;
    let old = lease(&store, &ci()).await;
    page(&store, &old, &[listed("a", 1, 1, Some(500))]).await;
    let Acquired::Held(new) = store.acquire(&ci(), "you", at(2_000), at(3_000)).await.unwrap()
    else {
        panic!("it has expired")
    };

    assert_refused(&store, &old).await;
    let memory = store.hook(&ci()).await.unwrap();
    assert_eq!((memory.ramp, memory.rules_fingerprint), (None, None));
    assert_eq!(memory.listing, Listing::default());
    let a = store.delivery(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!((a.judged, a.delivery.redeliveries.len()), (None, 0));
    assert!(store.delivery(&ci(), &guid("late")).await.unwrap().is_none());
    assert!(store.sweeps(None, 9).await.unwrap().is_empty());

    // The new holder does not notice, not even a release by the old one.
    store.release(&old).await.unwrap();
    store.renew(&new, at(4_000)).await.unwrap();
    page(&store, &new, &[listed("late", 2, 1, Some(500))]).await;
}

async fn assert_refused(store: &redeliverd::store::Store, old: &Lease) {
    let listing = Listing { head: Some(at(1)), ..Listing::default() };
    let ramp = Ramp { allowance: 1, last_batch_at: None, down: None };
    let verdicts = [(guid("a"), Verdict::Settled(Proof::Received))];
    let rows = [listed("late", 2, 1, Some(500))];
    let results = [
        store.save_page(old, &rows, &listing, at(0), at(1)).await.map(drop),
        store.save_ramp(old, &ramp, at(1)).await,
        store.save_verdicts(old, &verdicts, at(1)).await,
        store.reopen(old, at(0), "rules").await.map(drop),
        store.ask_by_hand(old, at(0)).await.map(drop),
        store.intend(&intent("a", 1, 1, Some(1)), Some(old)).await.map(drop),
        store.begin_sweep(old, "manual", false, at(1)).await.map(drop),
        store.renew(old, at(9_000)).await,
    ];
    for (n, result) in results.into_iter().enumerate() {
        assert!(matches!(result, Err(StoreError::LeaseLost { .. })), "{n}: {result:?}");
    }
}

async fn an_expired_lease_that_nobody_took_still_writes(backend: Backend) {
    let store = backend.open().await;
    let held = lease(&store, &ci()).await;
    // The lease ends at minute 1000; the store compares tokens, never times.
    store.save_page(&held, &[], &Listing::default(), at(0), at(5_000)).await.unwrap();
    store.renew(&held, at(6_000)).await.unwrap();
}

// S21
async fn a_renewed_lease_stays(backend: Backend) {
    let store = backend.open().await;
    let held = lease(&store, &ci()).await;
    store.renew(&held, at(2_000)).await.unwrap();
    let answer = store.acquire(&ci(), "you", at(1_500), at(9_000)).await.unwrap();
    assert!(matches!(answer, Acquired::Busy { .. }));
}

async fn a_released_lease_is_free_and_writes_no_more(backend: Backend) {
    let store = backend.open().await;
    let old = lease(&store, &ci()).await;
    store.release(&old).await.unwrap();
    store.release(&old).await.unwrap();
    assert_refused_page(&store, &old).await;
    let new = lease(&store, &ci()).await;
    assert!(new.token > old.token);
    assert_refused_page(&store, &old).await;
}

async fn assert_refused_page(store: &redeliverd::store::Store, old: &Lease) {
    let result = store.save_page(old, &[], &Listing::default(), at(0), at(1)).await;
    assert!(matches!(result, Err(StoreError::LeaseLost { .. })), "{result:?}");
}

async fn of_many_processes_one_gets_it(backend: Backend) {
    let mut tries = Vec::new();
    for n in 0..5 {
        let store = backend.open().await;
        tries.push(tokio::spawn(async move {
            store.acquire(&ci(), &format!("process {n}"), at(0), at(5)).await.unwrap()
        }));
    }
    let mut held = 0;
    for one in tries {
        held += i32::from(matches!(one.await.unwrap(), Acquired::Held(_)));
    }
    assert_eq!(held, 1);
}
