//! Opening: private files, no password in a message, and what can be cured by waiting.

use std::{os::unix::fs::PermissionsExt, time::Duration};

use redeliverd::{
    config::{Database, Migrate},
    store::{Store, StoreError},
};
use secrecy::SecretString;
use sqlx::{Connection, Executor, SqliteConnection};

use super::world::{arrival, at, ci, guid};
use crate::support::backends;

async fn refusal(url: &str) -> String {
    let settings = Database { url: SecretString::from(url), migrate: Migrate::Auto };
    let error = Store::open(&settings).await.unwrap_err();
    assert!(matches!(error, StoreError::Open { .. }), "{error:?}");
    format!("{error} {error:?}")
}

#[tokio::test]
async fn a_new_file_is_private() {
    let backend = backends::sqlite();
    let store = backend.open().await;
    store.record(arrival("a", 1, b"{}")).await.unwrap();
    let path = backend.url().trim_start_matches("sqlite:").to_owned();
    for file in [path.clone(), format!("{path}-wal"), format!("{path}-shm")] {
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[tokio::test]
async fn what_cannot_be_opened_is_explained() {
    let missing = refusal("sqlite:/nowhere/at/all.db").await;
    assert!(
        missing.contains("/nowhere/at/all.db") && missing.contains("No such file"),
        "{missing}"
    );
    assert!(refusal("sqlite::memory:").await.contains("name a file"));
    assert!(refusal("mysql://root@localhost/x").await.contains("postgres://"));
}

// O38
#[tokio::test]
async fn no_message_shows_a_password() {
    for url in [
        "postgres://me:hunter2@localhost:1/db",
        "postgres://me@localhost:1/db?password=hunter2",
        "postgres://me:hunter2@[broken/db",
        "mysql://me:hunter2@localhost/db",
    ] {
        let message = refusal(url).await;
        assert!(!message.contains("hunter2"), "{message}");
    }
}

// S1, S27: the receiver answers 503 and goes on once the lock is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_locked_by_somebody_else_is_unavailable_not_broken() {
    let backend = backends::sqlite();
    let store = backend.open().await;
    let mut other = SqliteConnection::connect(backend.url()).await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let started = tokio::time::Instant::now();
    let error = store.record(arrival("a", 1, b"{}")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(9), "GitHub gives up after ten seconds");
    assert!(!store.records());
    other.execute("ROLLBACK").await.unwrap();
    store.check_writable(at(1)).await.unwrap();
    store.record(arrival("a", 1, b"{}")).await.unwrap();
    assert!(store.records());
    assert!(store.receipt(&ci(), &guid("a")).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_somebody_keeps_to_himself_is_not_waited_for_longer_than_a_statement() {
    let backend = backends::sqlite();
    backend.open().await.close().await;
    let mut other = SqliteConnection::connect(backend.url()).await.unwrap();
    other.execute("PRAGMA locking_mode = EXCLUSIVE").await.unwrap();
    other.execute("BEGIN EXCLUSIVE").await.unwrap();
    let started = tokio::time::Instant::now();
    let message = refusal(backend.url()).await;
    assert!(message.contains("locked"), "{message}");
    assert!(started.elapsed() < Duration::from_secs(9), "{:?}", started.elapsed());
}
