//! The one connection that writes to an SQLite file, handed from writer to writer in the order they
//! asked.
//!
//! A pool of one connection would do the same, but it takes a returned connection back in a task of
//! its own, for which the next commit then waits: under load a sixth of its time.

use std::{sync::Arc, time::Duration};

use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::{
    sync::{MappedMutexGuard, Mutex, MutexGuard},
    time::timeout,
};

/// The connection, or none once it is closed.
#[derive(Debug, Clone)]
pub(super) struct WriteLock {
    options: Arc<SqliteConnectOptions>,
    patience: Duration,
    connection: Arc<Mutex<Option<SqliteConnection>>>,
}

/// The right to write until it is dropped.
pub(super) type Held<'a> = MappedMutexGuard<'a, SqliteConnection>;

impl WriteLock {
    /// Opens the connection. Nobody waits for it longer than `patience`.
    pub(super) async fn connect(
        options: SqliteConnectOptions,
        patience: Duration,
    ) -> Result<Self, sqlx::Error> {
        let connection = Arc::new(Mutex::new(Some(options.connect().await?)));
        Ok(Self { options: Arc::new(options), patience, connection })
    }

    /// Waits for the connection.
    pub(super) async fn acquire(&self) -> Result<Held<'_>, sqlx::Error> {
        let waited = timeout(self.patience, self.connection.lock()).await;
        let mut held = waited.map_err(|_| sqlx::Error::PoolTimedOut)?;
        let connection = held.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        if connection.is_in_transaction() {
            // A roll-back that was left behind is done by the time of the answer. But when SQLite
            // itself rolled back, as on a full disk, the driver goes on counting the transaction and
            // would refuse to begin another one on this connection for ever.
            let alive = connection.ping().await;
            if alive.is_err() || connection.is_in_transaction() {
                *connection = self.options.connect().await?;
            }
        }
        MutexGuard::try_map(held, Option::as_mut).map_err(|_| sqlx::Error::PoolClosed)
    }

    /// Closes the connection after the writer that has it. Later calls fail.
    pub(super) async fn close(&self) {
        if let Some(connection) = self.connection.lock().await.take() {
            // Nothing is lost: what was committed is in the log.
            let _ = connection.close().await;
        }
    }
}
