//! Pages of GitHub's list: idempotent, exact ids, late codes, reopening.

use redeliverd::{
    domain::verdict::{Excuse, Proof, Verdict, Wait},
    store::types::SavedPage,
};

use super::world::{at, ci, guid, lease, listed, page};
use crate::support::backends::{Backend, on_both};

on_both! {
    a_page_makes_deliveries_of_its_attempts,
    a_page_read_twice_changes_nothing,
    ids_at_the_end_of_64_bits_stay_exact,
    a_code_that_comes_late_reopens,
    a_code_once_told_is_kept,
    a_new_attempt_reopens_and_keeps_what_an_operator_said,
    a_large_page_is_stored_whole,
    nul_in_a_status_is_replaced,
}

async fn a_page_makes_deliveries_of_its_attempts(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    let mut again = listed("a", 12, 5, None);
    again.attempt.redelivery = true;
    let rows = [again.clone(), listed("b", 11, 3, Some(200)), listed("a", 10, 1, Some(502))];
    assert_eq!(page(&store, &lease, &rows).await, SavedPage { new_attempts: 3 });

    let open = store.open_deliveries(&ci(), None, 10).await.unwrap();
    assert_eq!(open.len(), 2);
    let a = &open[0].delivery;
    assert_eq!((a.guid.as_str(), a.event.as_str()), ("a", "push"));
    assert_eq!(
        (a.action.as_deref(), a.installation_id, a.repository_id),
        (Some("opened"), Some(11), None)
    );
    let mut attempts = a.attempts.clone();
    attempts.sort_by_key(|attempt| attempt.id);
    assert_eq!(attempts, [rows[2].attempt.clone(), again.attempt]);
    assert_eq!((a.receipt.clone(), a.dismissed, a.asked_by_hand), (None, false, false));
    assert_eq!((open[0].judged.clone(), open[0].missing_since), (None, None));
    assert_eq!(open[1].delivery.attempts, [rows[1].attempt.clone()]);
}

async fn a_page_read_twice_changes_nothing(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    let rows = [listed("a", 10, 1, Some(502)), listed("b", 11, 3, Some(200))];
    page(&store, &lease, &rows).await;
    let verdicts = ["a", "b"].map(|name| (guid(name), Verdict::Settled(Proof::Received)));
    store.save_verdicts(&lease, &verdicts, at(4)).await.unwrap();
    assert_eq!(page(&store, &lease, &rows).await, SavedPage { new_attempts: 0 });
    // A row that moved to the next page while it was read comes twice.
    let twice = [listed("c", 12, 4, None), listed("c", 12, 4, Some(500)), rows[0].clone()];
    assert_eq!(page(&store, &lease, &twice).await, SavedPage { new_attempts: 1 });
    let open = store.open_deliveries(&ci(), None, 10).await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].delivery.attempts[0].code, Some(500));
}

// L1, L2, L3
async fn ids_at_the_end_of_64_bits_stay_exact(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    let ids = [17, 3_800_000_000_000_000_129, 3_800_000_000_000_000_130, 9_223_372_036_854_775_807];
    let rows: Vec<_> = ids.iter().map(|id| listed(&format!("g{id}"), *id, 1, Some(500))).collect();
    assert_eq!(page(&store, &lease, &rows).await.new_attempts, 4);
    for id in ids {
        let one = store.delivery(&ci(), &guid(&format!("g{id}"))).await.unwrap().unwrap();
        assert_eq!(one.delivery.attempts[0].id.to_string(), id.to_string());
    }
}

// W17
async fn a_code_that_comes_late_reopens(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("a", 10, 1, None)]).await;
    let closed = [(guid("a"), Verdict::Excused(Excuse::Adopted))];
    store.save_verdicts(&lease, &closed, at(2)).await.unwrap();
    assert_eq!(store.open_count(&ci()).await.unwrap(), 0);
    let mut late = listed("a", 10, 1, Some(504));
    "timed out".clone_into(&mut late.attempt.status);
    assert_eq!(page(&store, &lease, std::slice::from_ref(&late)).await.new_attempts, 0);
    let open = store.open_deliveries(&ci(), None, 10).await.unwrap();
    assert_eq!(open[0].delivery.attempts, [late.attempt]);
}

async fn a_code_once_told_is_kept(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("a", 10, 1, Some(200))]).await;
    page(&store, &lease, &[listed("a", 10, 1, None)]).await;
    let a = store.delivery(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!(a.delivery.attempts[0].code, Some(200));
}

// W1
async fn a_new_attempt_reopens_and_keeps_what_an_operator_said(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("a", 10, 5, Some(500))]).await;
    store.ask_by_hand(&lease, at(0)).await.unwrap();
    store.dismiss(&ci(), &guid("a"), Some("known"), at(6)).await.unwrap();
    let closed = [(guid("a"), Verdict::Excused(Excuse::Dismissed))];
    store.save_verdicts(&lease, &closed, at(7)).await.unwrap();
    assert_eq!(store.open_count(&ci()).await.unwrap(), 0);

    // An older one, found when a gap is filled, and a newer one.
    page(&store, &lease, &[listed("a", 9, 2, Some(500)), listed("a", 11, 8, Some(200))]).await;
    let a = store.open_deliveries(&ci(), None, 10).await.unwrap().remove(0);
    assert_eq!((a.delivery.dismissed, a.delivery.asked_by_hand), (true, true));
    assert_eq!(a.delivery.attempts.len(), 3);
    assert_eq!(a.delivery.first_attempt_at(), Some(at(2)));
    assert_eq!(a.judged, Some(("excused".to_owned(), "dismissed".to_owned())));
    // The columns that `list` and `reopen` go by followed.
    let waiting = Verdict::Waiting { why: Wait::Grace, until: at(9) };
    store.save_verdicts(&lease, &[(guid("a"), waiting)], at(8)).await.unwrap();
    store.save_verdicts(&lease, &closed, at(8)).await.unwrap();
    assert_eq!(store.reopen(&lease, at(8), "rules").await.unwrap(), 1);
}

async fn a_large_page_is_stored_whole(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    let rows: Vec<_> =
        (1..=1_237).map(|n| listed(&format!("g{:05}", n / 2), n, 1, Some(500))).collect();
    assert_eq!(page(&store, &lease, &rows).await.new_attempts, 1_237);
    assert_eq!(store.open_count(&ci()).await.unwrap(), 619);

    // Walked in pages, in the order of the GUIDs, each once, with all attempts.
    let (mut after, mut seen, mut attempts) = (None, Vec::new(), 0);
    loop {
        let open = store.open_deliveries(&ci(), after.as_ref(), 300).await.unwrap();
        let Some(last) = open.last() else { break };
        after = Some(last.delivery.guid.clone());
        attempts += open.iter().map(|one| one.delivery.attempts.len()).sum::<usize>();
        seen.extend(open.into_iter().map(|one| one.delivery.guid));
    }
    assert_eq!((seen.len(), attempts), (619, 1_237));
    assert!(seen.is_sorted());
}

// R38
async fn nul_in_a_status_is_replaced(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    let mut odd = listed("a", 10, 1, Some(500));
    "failed\0here".clone_into(&mut odd.attempt.status);
    odd.action = Some("\0".to_owned());
    page(&store, &lease, &[odd.clone()]).await;
    page(&store, &lease, &[odd]).await;
    let a = store.delivery(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!(a.delivery.attempts[0].status, "failed\u{fffd}here");
    assert_eq!(a.delivery.action.as_deref(), Some("\u{fffd}"));
}
