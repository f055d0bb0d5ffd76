//! A consistent copy of a running SQLite database.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use thiserror::Error;

use super::{Store, StoreError, backend::Backend};

/// Why there is no copy.
#[derive(Debug, Error)]
pub enum BackupError {
    /// The database is PostgreSQL.
    #[error("PostgreSQL has its own tool: use pg_dump")]
    NotSqlite,
    /// A file is never overwritten.
    #[error("{} exists; name a new file", .0.display())]
    Exists(PathBuf),
    /// The path cannot be handed to SQLite.
    #[error("the path of the copy is not UTF-8")]
    Path,
    /// The file could not be made.
    #[error("cannot write {}: {source}", .file.display())]
    Io {
        /// The copy.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Copies the database, as it is at one moment, to a new file that only its owner can read.
    /// Arrivals go on meanwhile. The file appears under its name when it is complete and on disk.
    ///
    /// # Errors
    /// See [`BackupError`].
    pub async fn backup(&self, file: &Path) -> Result<(), BackupError> {
        let Backend::Sqlite { read, .. } = self.backend() else {
            return Err(BackupError::NotSqlite);
        };
        if file.exists() {
            return Err(BackupError::Exists(file.to_owned()));
        }
        let mut partial = file.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let failed = |source| BackupError::Io { file: file.to_owned(), source };
        // SQLite writes into an empty file, and keeps its mode.
        create_private(&partial).map_err(failed)?;
        let target = partial.to_str().ok_or(BackupError::Path)?;
        let copied = sqlx::query("VACUUM INTO $1").bind(target).execute(read).await;
        let finished = match copied {
            Ok(_) => publish(&partial, file).map_err(failed),
            Err(error) => Err(StoreError::from(error).into()),
        };
        if finished.is_err() {
            // What is left is no copy; that it stays changes nothing about the failure.
            let _ = fs::remove_file(&partial);
        }
        finished
    }
}

fn create_private(file: &Path) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file).map(drop)
}

fn publish(partial: &Path, file: &Path) -> io::Result<()> {
    fs::File::open(partial)?.sync_all()?;
    fs::rename(partial, file)?;
    let directory = file.parent().filter(|path| !path.as_os_str().is_empty());
    fs::File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}
