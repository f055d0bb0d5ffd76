//! Room on a file system: how much is free, and whether files may be created there.

use std::path::Path;

use crate::domain::condition::Disk;

/// Space on the file system of `path`, as an unprivileged process may use it.
///
/// # Errors
/// When the file system cannot be asked.
pub fn free_space(path: &Path) -> std::io::Result<Disk> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(Disk {
        free: stat.f_bavail.saturating_mul(stat.f_frsize),
        total: stat.f_blocks.saturating_mul(stat.f_frsize),
    })
}

/// Whether this process may create files in that directory.
#[must_use]
pub fn takes_files(directory: &Path) -> bool {
    use rustix::fs::{Access, access};
    directory.is_dir() && access(directory, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_a_file_system_and_a_missing_one_has_none() {
        let dir = tempfile::tempdir().unwrap();
        let disk = free_space(dir.path()).unwrap();
        assert!(disk.total > 0 && disk.free <= disk.total, "{disk:?}");
        assert!(free_space(&dir.path().join("nowhere")).is_err());
        assert!(takes_files(dir.path()) && !takes_files(&dir.path().join("nowhere")));
    }
}
