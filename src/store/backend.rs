//! The two databases behind one enum, and the macros that paste one body of SQL into both arms.

use std::{str::FromStr, time::Duration};

use secrecy::ExposeSecret;
use sqlx::{
    ConnectOptions,
    postgres::{PgConnectOptions, PgPool, PgPoolOptions},
    sqlite::{
        SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
    },
};
use tokio::time::timeout;
use url::Url;

use super::{Result, StoreError, error::sqlite_locked, file::DatabaseFile, write_lock::WriteLock};
use crate::config::Database;

/// How long a statement waits for SQLite's write lock, or for a connection. Shorter than the ten
/// seconds after which GitHub gives up, so that the receiver can still answer 503.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often, and how far apart, opening a SQLite file that is locked is tried again.
const OPEN_TRIES: u32 = 20;
const OPEN_PAUSE: Duration = Duration::from_millis(50);

/// Connections that read one SQLite file.
const READERS: u32 = 4;

/// Connections to PostgreSQL.
const POSTGRES_CONNECTIONS: u32 = 10;

/// Bytes of a page of a new SQLite file. GUIDs are random, so each row of a commit changes a page of
/// its own in the indexes that begin with them, and whole pages are what is written: small ones make
/// fewer bytes than SQLite's usual 4096 (docs/performance.md).
const PAGE_BYTES: u32 = 2048;

/// Pages in SQLite's WAL before a commit also copies them into the main file: 64 MiB of our own pages. Fewer make the
/// receiver sync the main file too often; more make that one commit slow, and a full disk harder to
/// leave (`reserve.rs`).
const CHECKPOINT_PAGES: &str = "32768";

/// Bytes to which the WAL is cut back after it was copied.
const WAL_BYTES: &str = "100663296";

/// KiB of page cache of the writing connection: GUIDs are random, so the indexes' inner pages
/// should stay in memory.
const WRITER_CACHE_KIB: &str = "-16384";

/// The configured database.
#[derive(Debug, Clone)]
pub(super) enum Backend {
    /// One connection writes, so that no writer ever meets another one of this process; several
    /// read beside it.
    Sqlite { write: WriteLock, read: SqlitePool, file: DatabaseFile },
    /// One pool for everything.
    Postgres(PgPool),
}

/// Pastes a read into both arms: `on!(backend, |db| …)`, where `db` is an executor.
macro_rules! on {
    ($backend:expr, |$db:ident| $body:expr) => {
        match $backend {
            $crate::store::backend::Backend::Sqlite { read: $db, .. } => $body,
            $crate::store::backend::Backend::Postgres($db) => $body,
        }
    };
}

/// Pastes a writing transaction into both arms: `in_write!(backend, |tx| …)`, where `&mut *tx` is an
/// executor. Commits when the body has a value; an error in the body leaves the function, which
/// rolls back. The only way to begin a transaction in this module. An SQLite file that is no longer in
/// place makes it fail after the commit.
macro_rules! in_write {
    ($backend:expr, |$tx:ident| $body:expr) => {
        match $backend {
            $crate::store::backend::Backend::Sqlite { write, file, .. } => {
                use sqlx::Connection as _;
                let mut held = write.acquire().await?;
                let mut $tx = held.begin_with($crate::store::dialect::SQLITE_BEGIN).await?;
                let value = $body;
                $tx.commit().await?;
                file.check_in_place()?;
                value
            }
            $crate::store::backend::Backend::Postgres(pool) => {
                let mut $tx = pool.begin_with($crate::store::dialect::POSTGRES_BEGIN).await?;
                let value = $body;
                $tx.commit().await?;
                value
            }
        }
    };
}

/// Fetches the rows of one hook whose GUID is in a list; the text ends before the hook's value.
macro_rules! fetch_guids {
    ($db:expr, $sql:expr, $hook:expr, $guids:expr) => {{
        let mut query = sqlx::QueryBuilder::new($sql);
        query.push_bind($hook.as_str()).push(" AND guid IN (");
        let mut list = query.separated(", ");
        for guid in $guids {
            list.push_bind(*guid);
        }
        query.push(")");
        query.build_query_as().fetch_all($db).await?
    }};
}

pub(super) use {fetch_guids, in_write, on};

impl Backend {
    /// Connects. A SQLite file is created unless `create` is false, readable by its owner only.
    pub(super) async fn connect(settings: &Database, create: bool) -> Result<Self> {
        let url = settings.url.expose_secret();
        if url.starts_with("sqlite:") {
            connect_sqlite(url, create).await
        } else {
            connect_postgres(url).await
        }
    }

    /// Whether there is something to connect to: `false` for a SQLite file that was never created.
    pub(super) fn exists(settings: &Database) -> bool {
        let url = settings.url.expose_secret();
        !url.starts_with("sqlite:")
            || SqliteConnectOptions::from_str(url)
                .map_or(true, |options| options.get_filename().exists())
    }

    /// Bytes of SQLite's write-ahead log, which the database itself does not count.
    pub(super) fn wal_bytes(&self) -> u64 {
        match self {
            Self::Sqlite { file, .. } => file.wal_bytes(),
            Self::Postgres(_) => 0,
        }
    }

    /// Closes every connection, after the statements that run.
    pub(super) async fn close(&self) {
        match self {
            Self::Sqlite { write, read, .. } => {
                // The writer last: the last connection that closes empties the WAL.
                read.close().await;
                write.close().await;
            }
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

async fn connect_sqlite(url: &str, create: bool) -> Result<Backend> {
    let open = |message: String| StoreError::Open { url: url.to_owned(), message };
    let options = SqliteConnectOptions::from_str(url)
        .map_err(|_| open("not a SQLite URL; write sqlite:PATH".to_owned()))?
        .create_if_missing(false)
        .foreign_keys(true)
        .busy_timeout(PATIENCE)
        .disable_statement_logging();
    if url.contains(":memory:") || url.contains("mode=memory") {
        return Err(open("a store in memory is lost with the process; name a file".to_owned()));
    }
    let path = options.get_filename().to_owned();
    if create {
        create_private(&path).map_err(|e| open(format!("cannot create the file: {e}")))?;
    }
    let writer = options
        .clone()
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .page_size(PAGE_BYTES)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .pragma("journal_size_limit", WAL_BYTES)
        // A statement of many rows keeps the pages it changed until it is done, in a file by default.
        .pragma("temp_store", "MEMORY")
        .pragma("cache_size", WRITER_CACHE_KIB);
    let write = connect_writer(&writer).await.map_err(|e| open(reason(&e)))?;
    let file =
        DatabaseFile::opened(&path).map_err(|e| open(format!("cannot look at the file: {e}")))?;
    // A connection to a file does not go stale, so it is neither tested nor replaced by age.
    let read = SqlitePoolOptions::new()
        .acquire_timeout(PATIENCE)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .max_connections(READERS)
        .connect_lazy_with(options.read_only(true));
    Ok(Backend::Sqlite { write, read, file })
}

/// Opens the writing connection. While another process turns a new file to WAL, or is the last to
/// close it, SQLite may say "locked" at once instead of waiting; so this asks again for a while. Who
/// keeps the file locked is waited for no longer than a statement would be.
async fn connect_writer(options: &SqliteConnectOptions) -> Result<WriteLock, sqlx::Error> {
    let tries = async {
        let mut left = OPEN_TRIES;
        loop {
            match WriteLock::connect(options.clone(), PATIENCE).await {
                Err(sqlx::Error::Database(error)) if left > 0 && sqlite_locked(error.as_ref()) => {
                    left -= 1;
                    tokio::time::sleep(OPEN_PAUSE).await;
                }
                result => return result,
            }
        }
    };
    timeout(PATIENCE, tries).await.map_err(|_| sqlx::Error::PoolTimedOut)?
}

async fn connect_postgres(url: &str) -> Result<Backend> {
    let open = |message: String| StoreError::Open { url: without_password(url), message };
    if !(url.starts_with("postgres:") || url.starts_with("postgresql:")) {
        return Err(open("write sqlite:PATH or postgres://USER@HOST/DATABASE".to_owned()));
    }
    let options = PgConnectOptions::from_str(url)
        .map_err(|_| open("not a PostgreSQL URL; write postgres://USER@HOST/DATABASE".to_owned()))?
        .application_name("redeliverd")
        .disable_statement_logging();
    let pool = PgPoolOptions::new()
        .acquire_timeout(PATIENCE)
        .max_connections(POSTGRES_CONNECTIONS)
        .connect_with(options)
        .await
        .map_err(|e| open(reason(&e)))?;
    Ok(Backend::Postgres(pool))
}

/// Creates the database file for its owner only; SQLite gives its companions the same mode.
fn create_private(file: &std::path::Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file).map(drop)
}

fn reason(error: &sqlx::Error) -> String {
    if let sqlx::Error::Database(database) = error {
        database.message().to_owned()
    } else if let sqlx::Error::PoolTimedOut = error {
        let waited = PATIENCE.as_secs();
        format!("no connection within {waited} s; is the server running, or the file locked?")
    } else {
        error.to_string()
    }
}

/// The URL as it may be shown: parameters can hold secrets too.
fn without_password(url: &str) -> String {
    Url::parse(url).map_or_else(
        |_| "postgres:…".to_owned(),
        |mut url| {
            url.set_query(None);
            // Fails only for URLs that cannot hold a password.
            let _ = url.set_password(None);
            url.into()
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Migrate;

    async fn store(backend: &Backend, bytes: i64) -> Result<()> {
        in_write!(backend, |tx| {
            sqlx::query("INSERT INTO heap (bytes) VALUES (zeroblob($1))")
                .bind(bytes)
                .execute(&mut *tx)
                .await?;
        });
        Ok(())
    }

    #[test]
    fn a_url_is_shown_without_password_and_parameters() {
        let shown =
            without_password("postgres://u:hunter2@h:1/db?password=hunter2&options=hunter2");
        assert_eq!(shown, "postgres://u@h:1/db");
    }

    #[tokio::test]
    async fn a_full_disk_is_over_once_there_is_room_again() {
        // S27
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", directory.path().join("full.db").display()).into();
        let settings = Database { url, migrate: Migrate::Auto };
        let backend = Backend::connect(&settings, true).await.unwrap();
        let Backend::Sqlite { write, .. } = &backend else { panic!("not SQLite") };
        let mut held = write.acquire().await.unwrap();
        sqlx::query("CREATE TABLE heap (bytes BLOB)").execute(&mut *held).await.unwrap();
        // To SQLite that is a full disk: code 13, and it rolls back by itself.
        sqlx::query("PRAGMA max_page_count = 8").execute(&mut *held).await.unwrap();
        drop(held);
        let full = store(&backend, 1 << 20).await.unwrap_err();
        assert!(matches!(full, StoreError::Unavailable(_)), "{full}");
        store(&backend, 1).await.unwrap();
        backend.close().await;
    }
}
