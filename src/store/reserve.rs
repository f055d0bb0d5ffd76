//! Space set aside beside an SQLite file, so that a full disk can still be pruned.
//!
//! Removing rows needs room first: every change goes to the write-ahead log, and the log can only be
//! begun anew once what it holds was copied into the main file, which may have to grow for that. On
//! a disk without a free block neither works, and what would make room cannot run.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustix::fs::{FallocateFlags, fallocate, statvfs};

use super::{Result, Store, StoreError, backend::Backend, dialect::SQLITE_CHECKPOINT};

/// The log's usual size twice: room to copy it, and room for the changes that follow.
pub const BYTES: u64 = 128 << 20;

impl Store {
    /// Sets the space aside, where that has not been done and twice as much is free. Nothing happens
    /// with PostgreSQL, whose disk is its own affair.
    ///
    /// # Errors
    /// When the file system cannot set space aside, or does not answer.
    pub async fn keep_reserve(&self) -> io::Result<()> {
        let Some(file) = self.reserve() else { return Ok(()) };
        tokio::task::spawn_blocking(move || set_aside(&file)).await.map_err(io::Error::other)?
    }

    /// Gives the space back and copies the log into the main file, so that writing works again for a
    /// while: to be used for nothing but removing rows.
    pub async fn make_room(&self) -> Result<()> {
        let Backend::Sqlite { write, .. } = self.backend() else { return Ok(()) };
        if let Some(file) = self.reserve() {
            match tokio::fs::remove_file(&file).await {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(StoreError::Unavailable(Box::new(error)));
                }
                Ok(()) | Err(_) => {}
            }
        }
        sqlx::query(SQLITE_CHECKPOINT).execute(&mut *write.acquire().await?).await?;
        Ok(())
    }

    fn reserve(&self) -> Option<PathBuf> {
        self.file().map(beside)
    }
}

/// The name of the reserve of an SQLite file.
#[must_use]
pub fn beside(database: &Path) -> PathBuf {
    let mut name = database.to_path_buf().into_os_string();
    name.push("-reserve");
    name.into()
}

fn set_aside(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let stat = statvfs(directory.unwrap_or(Path::new(".")))?;
    if stat.f_bavail.saturating_mul(stat.f_frsize) < 2 * BYTES {
        return Ok(());
    }
    let file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    fallocate(&file, FallocateFlags::empty(), 0, BYTES).map_err(|error| {
        // A file without its blocks would only look like a reserve.
        let _ = fs::remove_file(path);
        error.into()
    })
}
