//! What is open is found by what is open, not by walking the history.

use sqlx::{Connection, Executor, PgConnection, Row, SqliteConnection};

use crate::support::backends;

/// Texts of the store's questions, as in `src/store`; the first words find them there.
const QUESTIONS: &[(&str, &str, &str)] = &[
    ("alerts.rs", "const SUCCEEDED", "USING INDEX deliveries_last (hook=? AND last_attempt_at>?)"),
    ("alerts.rs", "const FAILED", "USING INDEX deliveries_last (hook=? AND last_attempt_at>?)"),
    (
        "alerts.rs",
        "const NEWEST_CODE",
        "USING INDEX deliveries_last (hook=? AND last_attempt_at>?)",
    ),
    ("alerts.rs", "const NEWEST_FIRST", "USING COVERING INDEX deliveries_first (hook=?)"),
    ("deliveries.rs", "const OPEN", "USING COVERING INDEX deliveries_open (hook=? AND guid>?)"),
    ("list.rs", "const OPEN", "USING INDEX deliveries_open (hook=?)"),
    ("list.rs", "const LISTED", "USING INDEX deliveries_first (hook=? AND first_attempt_at>?"),
    (
        "list.rs",
        "const LISTED_EVENT",
        "USING COVERING INDEX deliveries_event (hook=? AND event=? AND ",
    ),
    ("list.rs", "const UNLISTED", "USING INDEX receipts_received (hook=? AND received_at>?"),
    ("list.rs", "const NTH_NEWEST", "USING COVERING INDEX receipts_received (hook=?)"),
    ("receipts.rs", "const NEWEST", "USING INDEX receipts_received (hook=? AND received_at>?)"),
    ("redeliveries.rs", "const ASKED", "USING INDEX redeliveries_asked (hook=? AND asked_at>?)"),
    ("prune.rs", "const PAYLOADS", "USING INDEX receipts_payloads (hook=? AND received_at>?"),
    ("prune.rs", "const OLD_RECEIPTS", "USING INDEX receipts_received (hook=? AND received_at>?"),
    (
        "prune.rs",
        "const OLD_DELIVERIES",
        "USING INDEX deliveries_last (hook=? AND last_attempt_at>?",
    ),
    ("prune.rs", "const SWEEPS", "USING INDEX sweeps_hook (hook=?)"),
    (
        "prune.rs",
        "const TOMBSTONES",
        "USING COVERING INDEX tombstones_pruned (hook=? AND pruned_at<?",
    ),
    ("inbox/read.rs", "const COUNTS", "USING COVERING INDEX inbox_fresh (hook=?)"),
    ("inbox/read.rs", "const COUNTS", "USING INDEX inbox_retry (hook=?)"),
    ("inbox/read.rs", "const COUNTS", "USING COVERING INDEX inbox_lease (hook=?)"),
    ("inbox/read.rs", "const COUNTS", "USING COVERING INDEX inbox_dead (hook=?)"),
    ("inbox/read.rs", "const OLDEST_FRESH", "USING COVERING INDEX inbox_fresh (hook=?)"),
    ("inbox/read.rs", "const DEAD", "USING INDEX inbox_dead (hook=? AND seq>?)"),
    ("inbox/operate.rs", "const REQUEUE_ALL", "USING INDEX inbox_dead (hook=?)"),
    ("verdicts.rs", "const LAST_TO_REOPEN", "INDEX deliveries_last (hook=? AND last_attempt_at>?)"),
    ("verdicts.rs", "const REOPEN", "INDEX deliveries_last (hook=? AND last_attempt_at>? AND"),
    ("verdicts.rs", "const LAST_TO_ASK", "INDEX deliveries_first (hook=? AND first_attempt_at>?)"),
    ("verdicts.rs", "const ASK", "INDEX deliveries_first (hook=? AND first_attempt_at>? AND"),
    (
        "deliveries.rs",
        "const FIRST_BETWEEN",
        "INDEX deliveries_first (hook=? AND first_attempt_at>?",
    ),
];

#[tokio::test]
async fn every_question_about_what_is_open_uses_its_index() {
    let backend = backends::sqlite();
    backend.open().await.close().await;
    let mut file = SqliteConnection::connect(backend.url()).await.unwrap();
    for (source, name, expected) in QUESTIONS.iter().copied() {
        let sql = constant(source, name);
        let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let plan: Vec<String> = sqlx::query(explain)
            .fetch_all(&mut file)
            .await
            .unwrap()
            .iter()
            .map(|row| row.get::<String, _>("detail"))
            .collect();
        assert!(plan.iter().any(|step| step.contains(expected)), "{source} {name}: {plan:#?}");
        assert!(
            !plan.iter().any(|step| step.starts_with("SCAN deliveries")),
            "{source} {name}: {plan:#?}"
        );
    }
}

#[tokio::test]
async fn the_newest_arrival_is_found_by_its_time_on_postgres_too() {
    let backend = backends::postgres().await;
    backend.open().await.close().await;
    let mut server = PgConnection::connect(backend.url()).await.unwrap();
    // An empty table is cheaper to read whole, whatever the question.
    server.execute("SET enable_seqscan = off").await.unwrap();
    let sql = constant("receipts.rs", "const NEWEST")
        .replace("$1", "'ci'")
        .replace("$2", "TIMESTAMPTZ '2026-11-30 12:00:00Z'");
    let explain = sqlx::AssertSqlSafe(format!("EXPLAIN {sql}"));
    let plan: Vec<String> = sqlx::query(explain)
        .fetch_all(&mut server)
        .await
        .unwrap()
        .iter()
        .map(|row| row.get::<String, _>(0))
        .collect();
    let plan = plan.join("\n");
    assert!(plan.contains("receipts_received"), "{plan}");
    let condition = plan.lines().find(|line| line.contains("Index Cond")).unwrap();
    assert!(condition.contains("hook =") && condition.contains("received_at >"), "{plan}");
}

/// The text of a constant, read from the source, so that the test cannot ask another question.
fn constant(source: &str, name: &str) -> String {
    let path = format!("{}/src/store/{source}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once(&format!("{name}: &str =")).unwrap();
    let (_, rest) = rest.split_once('"').unwrap();
    let (sql, _) = rest.split_once("\";").unwrap();
    sql.replace("\\\n", " ")
}

/// The claims are put together from pieces, so they are asked for as the database sees them: by a
/// store whose every claim would otherwise walk a long history.
#[tokio::test]
async fn a_claim_costs_by_what_is_claimed() {
    let backend = backends::sqlite();
    backend.open().await.close().await;
    let mut file = SqliteConnection::connect(backend.url()).await.unwrap();
    for (condition, expected) in [
        ("state = 'waiting' AND attempts = 0 ORDER BY seq LIMIT 8", "inbox_fresh (hook=?)"),
        (
            "state = 'waiting' AND attempts > 0 AND due_at <= '2026' ORDER BY due_at, seq LIMIT 8",
            "inbox_retry (hook=? AND due_at<?)",
        ),
        (
            "state = 'processing' AND lease_until <= '2026' ORDER BY lease_until LIMIT 256",
            "inbox_lease (hook=? AND lease_until<?)",
        ),
    ] {
        let explain = sqlx::AssertSqlSafe(format!(
            "EXPLAIN QUERY PLAN SELECT seq FROM inbox WHERE hook = 'ci' AND {condition}"
        ));
        let plan: Vec<String> = sqlx::query(explain)
            .fetch_all(&mut file)
            .await
            .unwrap()
            .iter()
            .map(|row| row.get::<String, _>("detail"))
            .collect();
        assert!(plan.iter().any(|step| step.contains(expected)), "{condition}: {plan:#?}");
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{condition}: {plan:#?}");
    }
}
