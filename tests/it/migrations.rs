//! The two schemas stay the same schema: numbers, names, tables, columns; and migrating is safe.

use std::collections::BTreeSet;

use redeliverd::{
    config::Migrate,
    store::{MIGRATORS, Store, StoreError},
};
use sqlx::{Connection, Executor, PgConnection, SqliteConnection};

use crate::support::backends::{self, Backend, on_both};

on_both! {
    migrating_twice_runs_nothing_the_second_time,
    manual_refuses_until_migrated,
    several_processes_start_at_once,
    a_newer_schema_is_refused,
    a_failing_migration_leaves_no_lock,
}

#[test]
fn numbers_and_names_are_equal() {
    let [sqlite, postgres] = MIGRATORS.each_ref().map(|migrator| {
        migrator.iter().map(|m| (m.version, m.description.to_string())).collect::<Vec<_>>()
    });
    assert!(!sqlite.is_empty());
    assert_eq!(sqlite, postgres);
}

#[test]
fn every_migration_says_why_it_exists() {
    for migration in MIGRATORS.iter().flat_map(|migrator| migrator.iter()) {
        assert!(migration.sql.as_str().starts_with("-- "), "{}", migration.description);
    }
}

#[tokio::test]
async fn tables_and_columns_are_equal() {
    let sqlite = backends::sqlite();
    sqlite.open().await.close().await;
    let path = sqlite.url().to_owned();
    let mut file = SqliteConnection::connect(&path).await.unwrap();
    let left: Vec<(String, String)> = sqlx::query_as(
        "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c \
         WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'",
    )
    .fetch_all(&mut file)
    .await
    .unwrap();

    let postgres = backends::postgres().await;
    postgres.open().await.close().await;
    let mut server = PgConnection::connect(postgres.url()).await.unwrap();
    let right: Vec<(String, String)> = sqlx::query_as(
        "SELECT CAST(table_name AS TEXT), CAST(column_name AS TEXT) \
         FROM information_schema.columns WHERE table_schema = 'public'",
    )
    .fetch_all(&mut server)
    .await
    .unwrap();

    assert!(left.len() > 50);
    assert_eq!(
        left.into_iter().collect::<BTreeSet<_>>(),
        right.into_iter().collect::<BTreeSet<_>>()
    );
}

async fn migrating_twice_runs_nothing_the_second_time(backend: Backend) {
    let settings = backend.settings(Migrate::Auto);
    let [sqlite, _] = &MIGRATORS;
    assert_eq!(Store::migrate(&settings).await.unwrap(), sqlite.iter().count());
    assert_eq!(Store::migrate(&settings).await.unwrap(), 0);
}

fn all() -> usize {
    MIGRATORS[0].iter().count()
}

async fn manual_refuses_until_migrated(backend: Backend) {
    let settings = backend.settings(Migrate::Manual);
    // Only `migrate` creates the file of a database that is migrated by hand.
    match Store::open(&settings).await {
        Err(StoreError::Pending { pending }) => assert_eq!(pending, all()),
        other => panic!("{other:?}"),
    }
    assert_eq!(Store::migrate(&settings).await.unwrap(), all());
    Store::open(&settings).await.unwrap().close().await;
}

// S12
async fn several_processes_start_at_once(backend: Backend) {
    let settings = backend.settings(Migrate::Auto);
    let starts: Vec<_> = (0..8)
        .map(|_| {
            let settings = settings.clone();
            tokio::spawn(async move { Store::open(&settings).await })
        })
        .collect();
    for start in starts {
        start.await.unwrap().unwrap().close().await;
    }
}

async fn a_newer_schema_is_refused(backend: Backend) {
    backend.open().await.close().await;
    execute(
        &backend,
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         SELECT 9999, 'from the future', success, checksum, 0 FROM _sqlx_migrations \
         WHERE version = 1",
    )
    .await;
    for migrate in [Migrate::Auto, Migrate::Manual] {
        let error = Store::open(&backend.settings(migrate)).await.unwrap_err();
        assert!(matches!(error, StoreError::Migrate(_)), "{error:?}");
        assert!(error.to_string().contains("9999"), "{error}");
    }
}

// S13, S34
async fn a_failing_migration_leaves_no_lock(backend: Backend) {
    // A table that the first migration wants to create.
    execute(&backend, "CREATE TABLE sweeps (obstacle TEXT)").await;
    for _ in 0..3 {
        let error = Store::migrate(&backend.settings(Migrate::Auto)).await.unwrap_err();
        assert!(matches!(error, StoreError::Migrate(_)), "{error:?}");
    }
    if backend.url().starts_with("postgres") {
        let mut server = PgConnection::connect(backend.url()).await.unwrap();
        let locks: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' \
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        )
        .fetch_one(&mut server)
        .await
        .unwrap();
        assert_eq!(locks, 0);
    }
    // Nothing of the failed one stayed: with the obstacle gone it runs from its first line.
    execute(&backend, "DROP TABLE sweeps").await;
    assert_eq!(Store::migrate(&backend.settings(Migrate::Auto)).await.unwrap(), all());
}

/// Runs one statement beside the store.
pub(crate) async fn execute(backend: &Backend, sql: &'static str) {
    if backend.url().starts_with("postgres") {
        let mut server = PgConnection::connect(backend.url()).await.unwrap();
        server.execute(sql).await.unwrap();
    } else {
        let mut file =
            SqliteConnection::connect(&format!("{}?mode=rwc", backend.url())).await.unwrap();
        file.execute(sql).await.unwrap();
        file.close().await.unwrap();
    }
}
