//! What is open is found by what is open, not by walking the history.

use sqlx::{Connection, Executor, PgConnection, Row, SqliteConnection};

use crate::support::backends;

/// Texts of the store's questions, as in `src/store`; the first words find them there.
const QUESTIONS: [(&str, &str, &str); 11] = [
    ("deliveries.rs", "const OPEN", "USING COVERING INDEX deliveries_open (hook=? AND guid>?)"),
    ("list.rs", "const OPEN", "USING INDEX deliveries_open (hook=?)"),
    ("list.rs", "const LISTED", "USING INDEX deliveries_first (hook=? AND first_attempt_at>?"),
    ("list.rs", "const UNLISTED", "USING INDEX receipts_received (hook=? AND received_at>?"),
    ("receipts.rs", "const NEWEST", "USING INDEX receipts_received (hook=? AND received_at>?)"),
    ("redeliveries.rs", "const ASKED", "USING INDEX redeliveries_asked (hook=? AND asked_at>?)"),
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
    for (source, name, expected) in QUESTIONS {
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
