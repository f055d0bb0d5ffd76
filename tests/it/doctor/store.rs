//! The database absent, locked, broken, old, far away, or careless with what it commits.

use std::fs;

use sqlx::{Connection, Executor, SqliteConnection};

use super::{Report, line, rig, served, set_mode};
use crate::support::{address::free_address, daemon::Rig, postgres};

const NEEDS_DATABASE: [&str; 3] = ["migrations", "durability", "last_sweep"];

async fn open(rig: &Rig) -> SqliteConnection {
    let file = rig.dir.path().join("redeliverd.db");
    SqliteConnection::connect(&file.display().to_string()).await.unwrap()
}

fn names_database(check: &serde_json::Value) -> bool {
    check["detail"].as_str().unwrap().starts_with("database.url: ")
}

fn nothing_known(report: &Report) {
    for name in NEEDS_DATABASE {
        assert_eq!(report.result(name), "unknown", "{name}: {:#?}", report.checks);
    }
    // The rest is looked at nevertheless.
    assert_eq!(report.result("key"), "pass");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_absent_database_is_told_and_not_created() {
    let rig = rig("").await;
    let report = Report::both(&rig).await;
    assert_eq!(report.result("database"), "warn");
    assert_eq!((report.result("disk"), report.result("disk_reserve")), ("pass", "warn"));
    nothing_known(&report);
    assert!(!rig.dir.path().join("redeliverd.db").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_database_fails() {
    let rig = rig("").await;
    fs::write(rig.dir.path().join("redeliverd.db"), "no database at all\n".repeat(100)).unwrap();
    let report = Report::both(&rig).await;
    assert_eq!((report.code, report.result("database")), (1, "fail"));
    assert!(report.detail("database").contains("not a database"), "{}", report.detail("database"));
    nothing_known(&report);
    fs::remove_file(rig.dir.path().join("redeliverd.db")).unwrap();
    fs::create_dir(rig.dir.path().join("redeliverd.db")).unwrap();
    let report = Report::both(&rig).await;
    assert_eq!((report.code, report.result("database")), (1, "fail"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_database_fails_and_hides_nothing_else() {
    let rig = rig("").await;
    assert_eq!(rig.run(&["sweep"]).await.code, 0);
    let mut holder = open(&rig).await;
    holder.execute("BEGIN IMMEDIATE").await.unwrap();
    let run = rig.run(&["doctor"]).await;
    assert_eq!(run.code, 1);
    let database = line(&run, "database");
    assert!(database.starts_with("fail") && database.contains("locked"), "{}", run.stdout);
    // Reading goes on beside a writer.
    assert!(line(&run, "last_sweep").starts_with("pass"), "{}", run.stdout);
    holder.execute("ROLLBACK").await.unwrap();
    assert_eq!(Report::both(&rig).await.result("database"), "pass");
}

#[tokio::test(flavor = "multi_thread")]
async fn migrations_are_counted_and_not_applied() {
    let rig = rig("").await;
    assert_eq!(rig.run(&["migrate"]).await.code, 0);
    assert_eq!(Report::both(&rig).await.result("migrations"), "pass");
    let mut database = open(&rig).await;
    let last = "SELECT MAX(version) FROM _sqlx_migrations";
    let newest: i64 = sqlx::query_scalar(last).fetch_one(&mut database).await.unwrap();
    let forget = sqlx::query("DELETE FROM _sqlx_migrations WHERE version = $1");
    forget.bind(newest).execute(&mut database).await.unwrap();
    let report = Report::both(&rig).await;
    assert_eq!((report.result("migrations"), report.detail("migrations")), ("warn", "1 pending"));
    assert_eq!((report.result("database"), report.result("durability")), ("unknown", "unknown"));
    let still: i64 = sqlx::query_scalar(last).fetch_one(&mut database).await.unwrap();
    assert!(still < newest);
    // A database of a newer version is no database for this one.
    database
        .execute("INSERT INTO _sqlx_migrations SELECT 9999, description, installed_on, success, checksum, execution_time FROM _sqlx_migrations LIMIT 1")
        .await
        .unwrap();
    let report = Report::both(&rig).await;
    assert_eq!((report.code, report.result("database")), (1, "fail"));
    assert!(report.detail("database").contains("9999"), "{}", report.detail("database"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_long_ago_fails_and_none_at_all_is_doubtful() {
    let mut rig = rig("").await;
    assert_eq!(rig.run(&["migrate"]).await.code, 0);
    assert_eq!(Report::both(&rig).await.result("last_sweep"), "warn");
    assert_eq!(rig.run(&["sweep"]).await.code, 0);
    assert_eq!(Report::both(&rig).await.result("last_sweep"), "pass");
    let mut database = open(&rig).await;
    database.execute("UPDATE hooks SET complete_at = '2026-01-01T00:00:00+00:00'").await.unwrap();
    let report = Report::both(&rig).await;
    assert_eq!((report.code, report.result("last_sweep")), (1, "fail"));
    assert!(report.advice("last_sweep").contains("redeliverd sweep --hook demo"));
    rig.serve().await;
    rig.eventually("a new sweep is complete", async |rig| {
        Report::of(rig).await.result("last_sweep") == "pass"
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_of_sqlite_is_shown() {
    let rig = served("").await;
    let report = Report::both(&rig).await;
    assert_eq!(report.result("durability"), "pass");
    assert_eq!(report.detail("durability"), "journal_mode=wal synchronous=2");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgres_that_acknowledges_before_it_has_written_fails() {
    let rig = rig("").await;
    let url = postgres::new_database().await;
    let text = fs::read_to_string(rig.config()).unwrap();
    let with = |url: &str| {
        fs::write(rig.config(), format!("[database]\nurl = \"{url}\"\n{text}")).unwrap();
    };
    with(&url);
    assert_eq!(rig.run(&["sweep"]).await.code, 0);
    let report = Report::both(&rig).await;
    assert_eq!(report.result("database"), "pass");
    assert_eq!(report.detail("database"), "postgres, takes writes");
    // Without a password the file with its URL is no secret.
    assert!(!report.all("secret_file").iter().any(|check| names_database(check)));
    // The throw-away server is told not to sync.
    assert_eq!(report.result("durability"), "fail");
    assert_eq!(report.detail("durability"), "fsync=off synchronous_commit=on");
    let joint = if url.contains('?') { '&' } else { '?' };
    with(&format!("{url}{joint}options=-c%20synchronous_commit%3Doff"));
    let report = Report::both(&rig).await;
    assert_eq!((report.code, report.result("durability")), (1, "fail"));
    assert!(report.detail("durability").ends_with("synchronous_commit=off"));
    with(&format!("postgres://user:hunter2@{}/db", free_address()));
    set_mode(&rig.config(), 0o644);
    let report = Report::both(&rig).await;
    let files = report.all("secret_file");
    let file = files.iter().find(|check| names_database(check)).unwrap();
    assert_eq!((&file["result"], &file["hook"]), (&"fail".into(), &serde_json::Value::Null));
    assert_eq!((report.code, report.result("database")), (1, "fail"));
    assert!(!format!("{:?}", report.checks).contains("hunter2"));
    nothing_known(&report);
}
