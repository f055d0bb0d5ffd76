//! The durable memory: SQLite or PostgreSQL behind one concrete type; the only place that knows sqlx.
//!
//! One SQL text serves both databases; what must differ stands in `dialect.rs`. Everything that
//! writes is one short transaction. Nothing here reads a clock or decides anything about a delivery:
//! facts go in, facts come out.

mod alerts;
mod attempts;
mod backend;
mod backup;
mod deliveries;
mod dialect;
mod error;
mod facts;
mod file;
mod hooks;
mod inbox;
mod inspect;
mod lease;
mod limits;
mod list;
mod migrate;
mod pack;
mod prune;
mod receipts;
mod redeliveries;
pub mod reserve;
mod rows;
mod sweeps;
pub mod types;
mod verdicts;
mod write_lock;
mod writer;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio::sync::watch;

use self::{
    backend::{Backend, in_write},
    writer::Writer,
};
pub use self::{backup::BackupError, error::StoreError, inspect::Durability, migrate::MIGRATORS};
use crate::config::Database;

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A handle on the store; cheap to clone. No method reads a clock: `now` comes in.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    backend: Backend,
    writer: Writer,
    /// Counts up when the inbox may have something new.
    arrivals: watch::Sender<u64>,
}

impl Store {
    /// Opens (SQLite: creates) the database; migrates it when the settings say so.
    ///
    /// # Errors
    /// [`StoreError::Pending`] when migrations are pending and the settings say `manual`.
    pub async fn open(settings: &Database) -> Result<Self> {
        let backend = migrate::connect(settings).await?;
        let arrivals = watch::Sender::new(0);
        let writer = Writer::start(backend.clone(), arrivals.clone());
        Ok(Self { inner: Arc::new(Inner { backend, writer, arrivals }) })
    }

    /// Applies pending migrations, guarded against a second process; returns how many ran.
    pub async fn migrate(settings: &Database) -> Result<usize> {
        migrate::run(settings).await
    }

    /// Commits something small: proof that the store takes writes now. Fails, too, when the task
    /// that records arrivals is gone, however well the database is.
    pub async fn check_writable(&self, now: DateTime<Utc>) -> Result<()> {
        const PROVE: &str = "INSERT INTO write_proof (id, at) VALUES (1, $1) \
             ON CONFLICT (id) DO UPDATE SET at = excluded.at";
        if self.inner.writer.has_ended() {
            return Err(StoreError::Unavailable("arrivals are not recorded any more".into()));
        }
        in_write!(self.backend(), |tx| {
            sqlx::query(PROVE).bind(now).execute(&mut *tx).await?;
        });
        Ok(())
    }

    /// Bytes that the database takes on its disk, or at its server.
    pub async fn size_bytes(&self) -> Result<u64> {
        let bytes: i64 = match self.backend() {
            Backend::Sqlite { read, .. } => {
                sqlx::query_scalar(dialect::SQLITE_SIZE).fetch_one(read).await?
            }
            Backend::Postgres(pool) => {
                sqlx::query_scalar(dialect::POSTGRES_SIZE).fetch_one(pool).await?
            }
        };
        Ok(u64::try_from(bytes).unwrap_or_default() + self.backend().wal_bytes())
    }

    /// The file of an SQLite database; `None`: the database is elsewhere.
    #[must_use]
    pub fn file(&self) -> Option<&std::path::Path> {
        match self.backend() {
            Backend::Sqlite { file, .. } => Some(file.path()),
            Backend::Postgres(_) => None,
        }
    }

    /// `sqlite` or `postgres`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.backend() {
            Backend::Sqlite { .. } => "sqlite",
            Backend::Postgres(_) => "postgres",
        }
    }

    /// Waits for running writes, then closes every connection. Later calls fail.
    pub async fn close(&self) {
        self.inner.writer.close().await;
        self.backend().close().await;
    }

    /// Changes when this process puts something into the inbox.
    #[must_use]
    pub fn arrivals(&self) -> watch::Receiver<u64> {
        self.inner.arrivals.subscribe()
    }

    /// Has the workers look at the inbox.
    fn wake_workers(&self) {
        self.inner.arrivals.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn backend(&self) -> &Backend {
        &self.inner.backend
    }
}

/// Slices of a power of two in length, at most `most` (itself one): so that statements with one
/// group of placeholders per row come in few texts, and the prepared ones are used again.
fn batches<T>(rows: &[T], most: usize) -> impl Iterator<Item = &[T]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let size = most.min(1 << rest.len().checked_ilog2()?);
        let (batch, left) = rest.split_at_checked(size)?;
        rest = left;
        Some(batch)
    })
}
