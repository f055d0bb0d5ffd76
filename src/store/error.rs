//! Storage failures, told apart by what the caller can do.

use std::fmt;

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

/// What a database server said, without the detail lines in which PostgreSQL quotes values.
#[derive(Debug)]
struct ServerError {
    code: String,
    message: String,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}

impl std::error::Error for ServerError {}

impl StoreError {
    /// Whether the disk has no room for what was to be written.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        let Self::Unavailable(source) = self else { return false };
        source.downcast_ref::<ServerError>().is_some_and(|said| {
            // SQLite's primary code, or PostgreSQL's SQLSTATE.
            said.code == "53100" || said.code.parse::<u32>().is_ok_and(|code| code & 0xff == 13)
        })
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        if let sqlx::Error::Database(database) = &error {
            let code = database.code().unwrap_or_default().into_owned();
            let postgres = database.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some();
            let passing = if postgres { postgres_passing(&code) } else { sqlite_passing(&code) };
            let source = Box::new(ServerError { code, message: database.message().to_owned() });
            return if passing { Self::Unavailable(source) } else { Self::Query(source) };
        }
        let unreachable = matches!(
            error,
            sqlx::Error::Io(_)
                | sqlx::Error::Tls(_)
                | sqlx::Error::Protocol(_)
                | sqlx::Error::PoolTimedOut
                | sqlx::Error::PoolClosed
                | sqlx::Error::WorkerCrashed
                | sqlx::Error::BeginFailed
        );
        if unreachable { Self::Unavailable(Box::new(error)) } else { Self::Query(Box::new(error)) }
    }
}

/// SQLite's primary result codes that another moment can cure: busy, locked, out of memory,
/// read-only (a remounted disk), I/O error, disk full, cannot open.
fn sqlite_passing(code: &str) -> bool {
    code.parse::<u32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 7 | 8 | 10 | 13 | 14))
}

/// Whether SQLite says busy or locked.
pub(super) fn sqlite_locked(error: &dyn sqlx::error::DatabaseError) -> bool {
    error
        .code()
        .is_some_and(|code| code.parse::<u32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6)))
}

/// SQLSTATEs that another moment, or another attempt, can cure.
fn postgres_passing(code: &str) -> bool {
    const CLASSES: [&str; 4] = ["08", "53", "57", "58"];
    // Serialisation failure, deadlock, lock time-out, a standby that does not take writes yet.
    const STATES: [&str; 4] = ["40001", "40P01", "55P03", "25006"];
    STATES.contains(&code) || CLASSES.iter().any(|class| code.starts_with(class))
}

/// A value that cannot be what the program stored.
pub(super) fn inconsistent(table: &'static str, message: impl fmt::Display) -> StoreError {
    StoreError::Inconsistent { table, message: message.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_other_trouble_of_either_database() {
        let said = |code: &str| {
            let message = "as the server puts it".to_owned();
            StoreError::Unavailable(Box::new(ServerError { code: code.to_owned(), message }))
        };
        // SQLITE_FULL; PostgreSQL's disk_full.
        assert!(said("13").is_disk_full() && said("53100").is_disk_full());
        // SQLITE_BUSY, SQLITE_IOERR_WRITE; too_many_connections.
        for other in ["5", "778", "53300"] {
            assert!(!said(other).is_disk_full(), "{other}");
        }
        assert!(!StoreError::Unavailable("the store is closed".into()).is_disk_full());
        // The receiver answers 503 to all of these.
        assert!(sqlite_passing("13") && postgres_passing("53100"));
    }
}
