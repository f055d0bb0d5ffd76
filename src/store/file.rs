//! The file of an SQLite database, and whether what we write still goes where its path leads.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{Result, StoreError};

/// An open database file. A file that is deleted or moved away stays writable for who has it open,
/// so that each commit would succeed and be gone with the process.
#[derive(Debug, Clone)]
pub(super) struct DatabaseFile {
    path: PathBuf,
    wal: PathBuf,
    identity: Identity,
    /// Whether the log was ever seen: a file system without shared memory has none.
    wal_seen: Arc<AtomicBool>,
}

/// What tells a file from another one of the same name: device and inode.
type Identity = (u64, u64);

impl DatabaseFile {
    /// The file behind `path`, which the database has open.
    pub(super) fn opened(path: &Path) -> io::Result<Self> {
        let mut wal = OsString::from(path);
        wal.push("-wal");
        Ok(Self {
            path: path.to_owned(),
            wal: wal.into(),
            identity: identity(path)?,
            wal_seen: Arc::default(),
        })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the write-ahead log, which the database itself does not count.
    pub(super) fn wal_bytes(&self) -> u64 {
        std::fs::metadata(&self.wal).map_or(0, |meta| meta.len())
    }

    /// To be asked after a commit, and before anybody is told of it.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the file or its log is not where it was opened.
    pub(super) fn check_in_place(&self) -> Result<()> {
        let file = self.path.display();
        let lost = |what: String| Err(StoreError::Unavailable(what.into()));
        match identity(&self.path) {
            Ok(found) if found == self.identity => {}
            Ok(_) => {
                return lost(format!(
                    "{file} was replaced by another file while it was in use; restart to use the new one"
                ));
            }
            Err(error) => {
                return lost(format!(
                    "{file} is gone ({error}); put it back, or restart to begin with a new one"
                ));
            }
        }
        match std::fs::symlink_metadata(&self.wal) {
            Ok(_) => {
                self.wal_seen.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(_) if !self.wal_seen.load(Ordering::Relaxed) => Ok(()),
            Err(error) => lost(format!(
                "{} is gone ({error}); stop the service in good order, which saves what it holds",
                self.wal.display()
            )),
        }
    }
}

fn identity(path: &Path) -> io::Result<Identity> {
    let meta = std::fs::metadata(path)?;
    Ok((std::os::unix::fs::MetadataExt::dev(&meta), std::os::unix::fs::MetadataExt::ino(&meta)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn open() -> (tempfile::TempDir, DatabaseFile) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        fs::write(&path, "database").unwrap();
        fs::write(directory.path().join("a.db-wal"), "log").unwrap();
        let file = DatabaseFile::opened(&path).unwrap();
        file.check_in_place().unwrap();
        (directory, file)
    }

    fn refusal(file: &DatabaseFile) -> String {
        format!("{:#}", file.check_in_place().unwrap_err())
    }

    #[test]
    fn a_file_moved_away_is_missed_until_it_is_back() {
        let (directory, file) = open();
        let elsewhere = directory.path().join("elsewhere");
        fs::rename(file.path(), &elsewhere).unwrap();
        assert!(refusal(&file).contains("a.db is gone"));
        fs::rename(&elsewhere, file.path()).unwrap();
        file.check_in_place().unwrap();
    }

    #[test]
    fn another_file_under_its_name_is_not_the_file() {
        let (directory, file) = open();
        let copy = directory.path().join("copy");
        fs::copy(file.path(), &copy).unwrap();
        fs::rename(&copy, file.path()).unwrap();
        assert!(refusal(&file).contains("replaced"));
    }

    #[test]
    fn a_deleted_log_is_missed() {
        let (directory, file) = open();
        fs::remove_file(directory.path().join("a.db-wal")).unwrap();
        assert!(refusal(&file).contains("a.db-wal is gone"));
    }
}
