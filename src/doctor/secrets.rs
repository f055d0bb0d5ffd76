//! Who may read and replace the files of keys and secrets.

use std::{
    fs::Metadata,
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use secrecy::ExposeSecret;
use url::Url;

use super::{Check, Ending, Patient};
use crate::store::Store;

const NAME: &str = "secret_file";

/// Bits of a file's mode.
const ALL_MAY: u32 = 0o007;
const GROUP_MAY_WRITE: u32 = 0o020;
const GROUP_MAY_READ: u32 = 0o040;

/// Who is asking, and whose service it is.
struct Owners {
    /// The user who runs this; `None`: not known.
    ours: Option<u32>,
    /// The owner of the database, as whom the service runs; `None`: there is no such file.
    service: Option<u32>,
}

/// One check for each file.
pub(super) fn files(patient: &Patient<'_>) -> Vec<Check> {
    let owner = |path: &Path| std::fs::metadata(path).ok().map(|meta| meta.uid());
    let owners = Owners {
        ours: owner(Path::new("/proc/self")),
        service: Store::file_of(&patient.config.database).and_then(|file| owner(&file)),
    };
    let configuration = patient.file.as_deref().filter(|file| holds_password(file, patient));
    let configuration =
        configuration.map(|file| judge("database.url", file, std::fs::metadata(file), &owners));
    let from_files = patient.secrets.iter().filter(|note| note.source != "environment");
    let notes = from_files.map(|note| {
        let path = PathBuf::from(&note.source);
        let check = match &patient.credentials {
            Some(directory) if path.starts_with(directory) => {
                Check::pass(NAME, format!("{} is a credential of the service manager", note.key))
            }
            Some(_) | None => judge(&note.key, &path, std::fs::metadata(&path), &owners),
        };
        let hook = patient
            .config
            .hooks
            .iter()
            .find(|hook| note.key.starts_with(&format!("hooks[{}].", hook.name)));
        match hook {
            Some(hook) => check.of(hook),
            None => check,
        }
    });
    configuration.into_iter().chain(notes).collect()
}

/// Whether the password of the database stands in the configuration file itself.
fn holds_password(file: &Path, patient: &Patient<'_>) -> bool {
    let (Ok(url), Ok(text)) =
        (Url::parse(patient.config.database.url.expose_secret()), std::fs::read_to_string(file))
    else {
        return false;
    };
    let parameters = url.query_pairs().filter(|(name, _)| name == "password");
    url.password().is_some_and(|password| text.contains(password))
        || parameters.into_iter().any(|(_, password)| text.contains(password.as_ref()))
}

fn judge(key: &str, path: &Path, meta: io::Result<Metadata>, owners: &Owners) -> Check {
    let path = path.display();
    match meta {
        Err(error) => {
            let advice = "run doctor as a user who may look at the file";
            Check::unknown(NAME, format!("{key}: {path}: {}", error.kind()), advice)
        }
        Ok(meta) => {
            let mode = meta.mode() & 0o777;
            let (result, advice) = rule(mode, meta.uid(), meta.gid(), owners);
            let owner = format!("user {}, group {}", meta.uid(), meta.gid());
            let check =
                Check::new(NAME, result, format!("{key}: {path} has mode {mode:04o}, {owner}"));
            Check {
                advice: advice.map(|advice| advice.replace("FILE", &path.to_string())),
                ..check
            }
        }
    }
}

/// How a mode and an owner are judged. Root may hand a file to the group of the service, with mode
/// 0640; whatever else others may do is no secret any more.
fn rule(mode: u32, uid: u32, gid: u32, owners: &Owners) -> (Ending, Option<&'static str>) {
    if mode & ALL_MAY != 0 {
        return (
            Ending::Fail,
            Some("every user of this machine may use it: chmod 0600 FILE, and make a new secret"),
        );
    }
    if mode & GROUP_MAY_WRITE != 0 {
        return (Ending::Fail, Some("its group may replace it: chmod g-w FILE"));
    }
    let trusted = uid == 0
        || owners.service == Some(uid)
        || owners.ours == Some(uid)
        // Root sees the files of everybody, and without a database nobody says whose service it is.
        || (owners.ours == Some(0) && owners.service.is_none());
    if !trusted {
        return (
            Ending::Warn,
            Some("its owner is neither root nor the service, and may replace it: chown FILE"),
        );
    }
    if mode & GROUP_MAY_READ != 0 && (uid != 0 || gid == 0) {
        return (Ending::Warn, Some("its group may read it: chmod 0600 FILE"));
    }
    (Ending::Pass, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_for_its_owner_or_for_a_group_that_root_chose() {
        let owners = Owners { ours: Some(1000), service: Some(990) };
        let table = [
            (0o600, 1000, 1000, Ending::Pass),
            (0o400, 990, 990, Ending::Pass),
            (0o640, 0, 990, Ending::Pass),
            (0o640, 0, 0, Ending::Warn),
            (0o640, 1000, 1000, Ending::Warn),
            (0o600, 1001, 1001, Ending::Warn),
            (0o660, 0, 990, Ending::Fail),
            (0o644, 0, 0, Ending::Fail),
            (0o602, 0, 0, Ending::Fail),
            (0o601, 0, 0, Ending::Fail),
        ];
        for (mode, uid, gid, result) in table {
            assert_eq!(rule(mode, uid, gid, &owners).0, result, "{mode:o} {uid}:{gid}");
        }
        let root = Owners { ours: Some(0), service: None };
        assert_eq!(rule(0o600, 1001, 1001, &root).0, Ending::Pass);
    }
}
