//! Storage failures, told apart by what the caller can do.

use thiserror::Error;

/// A failed storage operation.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The database cannot be opened as configured.
    #[error("cannot open the database {url}: {message}")]
    Open {
        /// The URL without password.
        url: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// Migrations are pending and `database.migrate = "manual"`.
    #[error("{pending} migrations are pending; run `redeliverd migrate`")]
    Pending {
        /// How many.
        pending: usize,
    },
    /// A migration failed, or the database is newer than this program.
    #[error("migration failed: {0}")]
    Migrate(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Another process took over the sweep lease: stop.
    #[error("the sweep lease of hook {hook} was lost to another process")]
    LeaseLost {
        /// The hook.
        hook: String,
    },
    /// Locked, full, unreachable: later it may work.
    #[error("the database does not answer: {0}")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A stored row that cannot be what we stored.
    #[error("inconsistent row in {table}: {message}")]
    Inconsistent {
        /// The table.
        table: &'static str,
        /// What is wrong.
        message: String,
    },
    /// Anything else the driver says: a defect of ours.
    #[error("database error: {0}")]
    Query(#[source] Box<dyn std::error::Error + Send + Sync>),
}
