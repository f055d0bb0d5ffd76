//! What `doctor` asks of a database beside its rows: where it is, how it commits, what it lacks.

use std::{path::PathBuf, str::FromStr};

use secrecy::ExposeSecret;
use sqlx::sqlite::SqliteConnectOptions;

use super::{Result, Store, backend::Backend, migrate};
use crate::config::Database;

/// What decides whether a commit survives a power cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Durability {
    /// Whether a commit is on disk when it is acknowledged.
    pub durable: bool,
    /// The settings in the database's own words, e.g. `journal_mode=wal synchronous=2`.
    pub settings: String,
}

impl Store {
    /// The file of the configured SQLite database, whether or not it exists; `None`: the database is
    /// elsewhere.
    #[must_use]
    pub fn file_of(settings: &Database) -> Option<PathBuf> {
        let url = settings.url.expose_secret();
        if !url.starts_with("sqlite:") {
            return None;
        }
        let options = SqliteConnectOptions::from_str(url).ok()?;
        Some(options.get_filename().to_path_buf())
    }

    /// How many migrations are pending. Creates no database and applies none.
    ///
    /// # Errors
    /// When there is no such database, or it cannot be reached.
    pub async fn pending(settings: &Database) -> Result<usize> {
        migrate::lacking(settings).await
    }

    /// How the connection that writes commits.
    pub async fn durability(&self) -> Result<Durability> {
        match self.backend() {
            Backend::Sqlite { write, .. } => {
                let mut write = write.acquire().await?;
                let journal: String =
                    sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut *write).await?;
                let synchronous: i64 =
                    sqlx::query_scalar("PRAGMA synchronous").fetch_one(&mut *write).await?;
                Ok(sqlite(&journal, synchronous))
            }
            Backend::Postgres(pool) => {
                let fsync: String = sqlx::query_scalar("SHOW fsync").fetch_one(pool).await?;
                let commit: String =
                    sqlx::query_scalar("SHOW synchronous_commit").fetch_one(pool).await?;
                Ok(postgres(&fsync, &commit))
            }
        }
    }
}

fn sqlite(journal: &str, synchronous: i64) -> Durability {
    // 2 is FULL, 3 is EXTRA.
    let durable = journal == "wal" && synchronous >= 2;
    Durability { durable, settings: format!("journal_mode={journal} synchronous={synchronous}") }
}

fn postgres(fsync: &str, commit: &str) -> Durability {
    // Every other word at least waits for the server's own disk.
    let durable = fsync == "on" && commit != "off";
    Durability { durable, settings: format!("fsync={fsync} synchronous_commit={commit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_acknowledged_before_it_is_on_disk_is_not_durable() {
        assert!(sqlite("wal", 2).durable && sqlite("wal", 3).durable);
        assert!(!sqlite("wal", 1).durable && !sqlite("delete", 2).durable);
        assert!(postgres("on", "on").durable && postgres("on", "local").durable);
        assert!(!postgres("off", "on").durable && !postgres("on", "off").durable);
        assert_eq!(sqlite("wal", 2).settings, "journal_mode=wal synchronous=2");
    }
}
