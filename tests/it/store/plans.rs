//! What is open is found by what is open, not by walking the history.

use sqlx::{Connection, Row, SqliteConnection};

use crate::support::backends;

/// Texts of the store's questions, as in `src/store`; the first words find them there.
const QUESTIONS: [(&str, &str, &str); 12] = [
    ("alerts.rs", "const SUCCEEDED", "USING INDEX deliveries_last (hook=? AND last_attempt_at>?)"),
    ("alerts.rs", "const FAILED", "USING INDEX deliveries_last (hook=? AND last_attempt_at>?)"),
    (
        "alerts.rs",
        "const NEWEST_CODE",
        "USING INDEX deliveries_last (hook=? AND last_attempt_at>?)",
    ),
    ("alerts.rs", "const NEWEST_FIRST", "USING COVERING INDEX deliveries_first (hook=?)"),
    ("deliveries.rs", "const OPEN", "USING COVERING INDEX deliveries_open (hook=? AND guid>?)"),
    ("deliveries.rs", "const COUNT_OPEN", "USING COVERING INDEX deliveries_open (hook=?)"),
    ("list.rs", "const OPEN", "USING INDEX deliveries_open (hook=?)"),
    ("list.rs", "const LISTED", "USING INDEX deliveries_first (hook=? AND first_attempt_at>?"),
    ("list.rs", "const UNLISTED", "USING INDEX receipts_received (hook=? AND received_at>?"),
    ("receipts.rs", "const NEWEST", "USING INDEX receipts_received (hook=?)"),
    ("redeliveries.rs", "const ASKED", "USING INDEX redeliveries_asked (hook=? AND asked_at>?)"),
    ("verdicts.rs", "const REOPEN", "USING INDEX deliveries_last (hook=? AND last_attempt_at>?)"),
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

/// The text of a constant, read from the source, so that the test cannot ask another question.
fn constant(source: &str, name: &str) -> String {
    let path = format!("{}/src/store/{source}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once(&format!("{name}: &str =")).unwrap();
    let (_, rest) = rest.split_once('"').unwrap();
    let (sql, _) = rest.split_once("\";").unwrap();
    sql.replace("\\\n", " ")
}
