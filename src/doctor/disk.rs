//! Room for an SQLite database: where it lies, what is set aside there, and for temporary files.

use std::{
    ffi::OsString,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::Check;
use crate::{
    notify::{free_space, takes_files},
    store::reserve,
};

/// Temporary files are small: only sorting and `backup` make any, since the daemon's writing keeps
/// them in memory.
const LOW_TEMPORARY_BYTES: u64 = 64 << 20;

/// `file`: the database's.
pub(super) fn checks(file: &Path) -> [Check; 3] {
    let named = ["SQLITE_TMPDIR", "TMPDIR"].into_iter().filter_map(std::env::var_os);
    [database(file), reserve(file), temporary(named)]
}

/// `named`: what the environment says. SQLite takes the first directory in which it may create files.
fn temporary(named: impl Iterator<Item = OsString>) -> Check {
    const NAME: &str = "disk_temporary";
    const ADVICE: &str =
        "long lists and backup may fail: make room there, or set SQLITE_TMPDIR for them";
    let usual = ["/var/tmp", "/usr/tmp", "/tmp", "."].into_iter().map(PathBuf::from);
    let Some(place) = named.map(PathBuf::from).chain(usual).find(|place| takes_files(place)) else {
        let detail = "there is no directory in which SQLite may create files";
        return Check::warn(NAME, detail, ADVICE);
    };
    match free_space(&place) {
        Ok(disk) => {
            let detail = format!("{} MiB free in {}", disk.free >> 20, place.display());
            if disk.free < LOW_TEMPORARY_BYTES {
                return Check::warn(NAME, detail, ADVICE);
            }
            Check::pass(NAME, detail)
        }
        Err(error) => {
            let detail = format!("{}: {}", place.display(), error.kind());
            Check::unknown(NAME, detail, "run doctor as a user who may look there")
        }
    }
}

/// The file system of the database's directory.
fn database(file: &Path) -> Check {
    const NAME: &str = "disk";
    let disk = match free_space(file.parent().unwrap_or(Path::new("/"))) {
        Ok(disk) => disk,
        Err(error) => {
            let advice = "create the directory of the database, or correct database.url";
            return Check::unknown(NAME, error.to_string(), advice);
        }
    };
    let percent = disk.free / (disk.total / 100).max(1);
    let detail = format!("{} MiB free ({percent} %)", disk.free >> 20);
    if disk.is_low() {
        let advice = "when it is full the receiver answers 503: make room, or shorten retention";
        return Check::warn(NAME, detail, advice);
    }
    Check::pass(NAME, detail)
}

/// The space set aside so that a full disk can still be pruned.
fn reserve(file: &Path) -> Check {
    const NAME: &str = "disk_reserve";
    let file = reserve::beside(file);
    match std::fs::metadata(&file) {
        Ok(meta) if meta.len() >= reserve::BYTES => {
            Check::pass(NAME, format!("{} MiB set aside", meta.len() >> 20))
        }
        Ok(_) => {
            let advice = format!("remove {}: serve makes it anew", file.display());
            Check::warn(NAME, "it is smaller than it should be", advice)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Check::warn(
            NAME,
            "nothing is set aside: a full disk could not be pruned",
            format!(
                "redeliverd serve sets {} MiB aside once twice as much is free",
                reserve::BYTES >> 20
            ),
        ),
        Err(error) => Check::unknown(
            NAME,
            error.kind().to_string(),
            "run doctor as the user of the service, or as root",
        ),
    }
}
