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

use super::{Result, Store, backend::Backend, dialect::SQLITE_CHECKPOINT};

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
            // Whether it could be given back or not, the log may still be copied.
            if let Err(error) = tokio::fs::remove_file(&file).await
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(file = %file.display(), %error, "the reserve cannot be given back");
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
    match fs::symlink_metadata(path) {
        // Killed half-way, or by a version that kept less, it is completed.
        Ok(meta) if meta.is_file() && meta.len() < BYTES => {}
        // What else bears the name is somebody's; `doctor` tells of it.
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let stat = statvfs(directory.unwrap_or(Path::new(".")))?;
    if stat.f_bavail.saturating_mul(stat.f_frsize) < 2 * BYTES {
        return Ok(());
    }
    let file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    fallocate(&file, FallocateFlags::empty(), 0, BYTES).map_err(|error| {
        // A file without its blocks would only look like a reserve.
        let _ = fs::remove_file(path);
        error.into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_that_was_cut_short_is_completed() {
        let directory = tempfile::tempdir().unwrap();
        let file = beside(&directory.path().join("a.db"));
        assert_eq!(file, directory.path().join("a.db-reserve"));
        for left in [0, 1, 32 << 20] {
            fs::write(&file, vec![0; left]).unwrap();
            set_aside(&file).unwrap();
            assert_eq!(fs::metadata(&file).unwrap().len(), 128 << 20, "{left}");
        }
    }

    #[test]
    fn what_is_somebody_elses_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (file, victim) = (directory.path().join("reserve"), directory.path().join("victim"));
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &file).unwrap();
        set_aside(&file).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        set_aside(&file).unwrap();
        assert!(file.is_dir());
    }
}
