//! Judgements: closing, reopening, and since when something is missing.

use redeliverd::{
    domain::{
        ids::AttemptId,
        verdict::{Excuse, Fault, Loss, Proof, Verdict, Wait},
    },
    store::{Store, types::Lease},
};
use sqlx::{Connection, Executor, SqliteConnection};

use super::world::{at, ci, guid, hook, intent, lease, listed, open_count, page};
use crate::support::backends::{self, Backend, on_both};

on_both! {
    settled_and_excused_close_everything_else_stays_open,
    missing_since_spans_the_episode,
    changed_rules_reopen_what_is_young_enough,
    asking_by_hand_is_for_good,
    asking_wins_over_a_judgement_made_meanwhile,
    verdicts_of_another_hook_are_left_alone,
    batches_leave_out_none,
}

fn due() -> Verdict {
    Verdict::Due { why: Fault::Failed, attempt: AttemptId::new(1).unwrap(), nth: 1 }
}

async fn settled_and_excused_close_everything_else_stays_open(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    let verdicts: Vec<_> = [
        ("a", Verdict::Settled(Proof::GithubOk)),
        ("b", Verdict::Waiting { why: Wait::EndpointDown, until: at(9) }),
        ("c", due()),
        ("d", Verdict::Abandoned(Loss::Exhausted)),
        ("e", Verdict::Excused(Excuse::NotWanted)),
    ]
    .into_iter()
    .map(|(name, verdict)| (guid(name), verdict))
    .collect();
    let rows: Vec<_> =
        (1..).zip(&verdicts).map(|(n, (guid, _))| listed(guid.as_str(), n, 1, None)).collect();
    page(&store, &lease, &rows).await;
    store.save_verdicts(&lease, &[], at(2)).await.unwrap();
    store.save_verdicts(&lease, &verdicts, at(2)).await.unwrap();

    let open = store.open_deliveries(&ci(), None, 10).await.unwrap();
    let judged: Vec<_> = open
        .iter()
        .map(|one| (one.delivery.guid.as_str(), one.judged.clone().unwrap()))
        .map(|(guid, (verdict, reason))| format!("{guid} {verdict} {reason}"))
        .collect();
    assert_eq!(judged, ["b waiting endpoint_down", "c due failed", "d abandoned exhausted"]);
    let closed = store.delivery(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!(closed.judged, Some(("settled".to_owned(), "github_ok".to_owned())));
    assert_eq!(open_count(&store, &ci()).await, 3);
}

async fn missing_since_spans_the_episode(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("a", 1, 1, Some(500))]).await;
    let grace = Verdict::Waiting { why: Wait::Grace, until: at(9) };
    let in_flight = Verdict::Waiting { why: Wait::InFlight, until: at(9) };
    let steps = [
        (2, grace.clone(), None),
        (3, due(), Some(at(3))),
        (4, in_flight, Some(at(3))),
        (5, due(), Some(at(3))),
        (6, grace, Some(at(3))),
        (7, due(), Some(at(3))),
        (8, Verdict::Settled(Proof::Received), None),
        (9, due(), Some(at(9))),
    ];
    for (minute, verdict, expected) in steps {
        store.save_verdicts(&lease, &[(guid("a"), verdict)], at(minute)).await.unwrap();
        let a = store.delivery(&ci(), &guid("a")).await.unwrap().unwrap();
        assert_eq!(a.missing_since, expected, "minute {minute}");
    }
}

async fn changed_rules_reopen_what_is_young_enough(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    let rows = [
        listed("old", 1, 1, Some(200)),
        listed("edge", 2, 5, Some(200)),
        listed("open", 3, 6, None),
    ];
    page(&store, &lease, &rows).await;
    let settled = |name| (guid(name), Verdict::Settled(Proof::GithubOk));
    store.save_verdicts(&lease, &[settled("old"), settled("edge")], at(7)).await.unwrap();
    assert_eq!(store.reopen(&lease, at(5), "rules-2").await.unwrap(), 1);
    let open = store.open_deliveries(&ci(), None, 10).await.unwrap();
    let names: Vec<_> = open.iter().map(|one| one.delivery.guid.as_str()).collect();
    assert_eq!(names, ["edge", "open"]);
    assert_eq!(store.hook(&ci()).await.unwrap().rules_fingerprint.as_deref(), Some("rules-2"));
}

async fn asking_by_hand_is_for_good(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("old", 1, 1, Some(500)), listed("new", 2, 5, Some(500))]).await;
    let adopted = |name| (guid(name), Verdict::Excused(Excuse::Adopted));
    store.save_verdicts(&lease, &[adopted("old"), adopted("new")], at(6)).await.unwrap();
    assert_eq!(store.ask_by_hand(&lease, at(5)).await.unwrap(), 1);
    assert_eq!(store.ask_by_hand(&lease, at(5)).await.unwrap(), 0);
    let open = store.open_deliveries(&ci(), None, 10).await.unwrap();
    assert_eq!(open.len(), 1);
    assert!(open[0].delivery.asked_by_hand);
    assert!(!store.delivery(&ci(), &guid("old")).await.unwrap().unwrap().delivery.asked_by_hand);
}

async fn asking_wins_over_a_judgement_made_meanwhile(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    page(&store, &lease, &[listed("a", 1, 1, Some(500))]).await;
    // A sweep has judged "adopted"; before it stores that, somebody asks by hand.
    store.intend(&intent("a", 1, 2, None), None).await.unwrap();
    let adopted = [(guid("a"), Verdict::Excused(Excuse::Adopted))];
    store.save_verdicts(&lease, &adopted, at(3)).await.unwrap();
    assert_eq!(open_count(&store, &ci()).await, 1);
}

// D1
async fn verdicts_of_another_hook_are_left_alone(backend: Backend) {
    let store = backend.open().await;
    let (one, two) = (lease(&store, &ci()).await, lease(&store, &hook("mirror")).await);
    page(&store, &one, &[listed("a", 1, 1, Some(500))]).await;
    page(&store, &two, &[listed("a", 1, 1, Some(200))]).await;
    let settled = [(guid("a"), Verdict::Settled(Proof::GithubOk))];
    store.save_verdicts(&two, &settled, at(2)).await.unwrap();
    assert_eq!(open_count(&store, &ci()).await, 1);
    assert_eq!(open_count(&store, &hook("mirror")).await, 0);
    let a = store.delivery(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!((a.judged, a.delivery.attempts[0].code), (None, Some(500)));
}

/// Deliveries in more than one batch, an hour of them, all closed.
async fn many_closed(store: &Store, lease: &Lease) {
    let rows: Vec<_> = (0..5_000_i64)
        .map(|n| listed(&format!("g{n:04}"), n.unsigned_abs() + 1, 1 + n / 100, None))
        .collect();
    page(store, lease, &rows).await;
    let closed: Vec<_> =
        rows.iter().map(|row| (row.guid.clone(), Verdict::Excused(Excuse::Adopted))).collect();
    store.save_verdicts(lease, &closed, at(99)).await.unwrap();
}

async fn batches_leave_out_none(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    many_closed(&store, &lease).await;
    assert_eq!(store.reopen(&lease, at(2), "rules").await.unwrap(), 4_900);
    assert_eq!(store.ask_by_hand(&lease, at(3)).await.unwrap(), 4_800);
    assert_eq!(open_count(&store, &ci()).await, 4_900);
}

// A failure in the last batch stands for a kill: what came before is committed, so it was no single
// transaction, and the rules are not yet remembered.
#[tokio::test(flavor = "multi_thread")]
async fn new_rules_are_remembered_after_the_last_of_several_transactions() {
    let backend = backends::sqlite();
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    many_closed(&store, &lease).await;
    let mut file = SqliteConnection::connect(backend.url()).await.unwrap();
    file.execute(
        "CREATE TRIGGER stop BEFORE UPDATE ON deliveries WHEN NEW.guid = 'g4999' \
         BEGIN SELECT RAISE(ABORT, 'stop'); END",
    )
    .await
    .unwrap();
    assert!(store.reopen(&lease, at(0), "rules").await.is_err());
    assert!(store.ask_by_hand(&lease, at(0)).await.is_err());
    assert!(open_count(&store, &ci()).await >= 2_000);
    assert_eq!(store.hook(&ci()).await.unwrap().rules_fingerprint, None);
    file.execute("DROP TRIGGER stop").await.unwrap();
    store.reopen(&lease, at(0), "rules").await.unwrap();
    assert_eq!(open_count(&store, &ci()).await, 5_000);
    assert!(store.hook(&ci()).await.unwrap().rules_fingerprint.is_some());
}
