//! Loads secrets: where a file is looked for, what is trimmed, and what is remarkable about it.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret, SecretString};

use super::problem::{OPEN_TO_ALL, Problem, Problems, unreadable};

/// Where files are looked for.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// The directory of the configuration file; absolute.
    pub(super) base: PathBuf,
    /// `$CREDENTIALS_DIRECTORY`.
    pub(super) credentials: Option<PathBuf>,
}

/// What `config check` tells of a secret. Never the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretNote {
    /// The key it is for, such as `hooks[ci].webhook_secret_files[0]`.
    pub key: String,
    /// The file, or `environment`.
    pub source: String,
    /// Its length in bytes after trimming.
    pub length: usize,
    /// Whether line breaks were cut from its end.
    pub trimmed: bool,
}

/// More than any key or secret; keeps a mistyped path from filling the memory.
const LIMIT: u64 = 64 * 1024;

impl Places {
    /// An absolute path as it is; a relative one among the credentials, or, where there is no such
    /// credential, beside the configuration file.
    pub(super) fn find(&self, path: &Path) -> PathBuf {
        let beside = self.base.join(path);
        match &self.credentials {
            // Also when the file is there: it may be for root alone, which is why it was passed on.
            Some(credentials) if path.is_relative() && credentials.join(path).exists() => {
                credentials.join(path)
            }
            Some(_) | None => beside,
        }
    }
}

/// Reads a file of text as it is.
pub(super) fn read(
    path: &Path,
    places: &Places,
    key: &str,
    problems: &mut Problems,
) -> Option<(String, PathBuf)> {
    let found = places.find(path);
    let mut bytes = Vec::new();
    let opened = open(&found).and_then(|file| {
        warn_if_open_to_all(&file, key, &found, problems);
        file.take(LIMIT + 1).read_to_end(&mut bytes)
    });
    let problem = match opened {
        Err(error) => {
            let also = match &places.credentials {
                Some(credentials) if path.is_relative() && !found.starts_with(credentials) => {
                    ", nor is it among the credentials"
                }
                Some(_) | None => "",
            };
            let reason = unreadable(&error);
            Problem::error(key, format!("cannot be read: {reason}{also}"))
                .hint("a path is relative to the directory of the configuration file")
        }
        Ok(_) if bytes.len() as u64 > LIMIT => Problem::error(key, "is larger than 64 KiB"),
        Ok(_) => match String::from_utf8(bytes) {
            Ok(text) => return Some((text, found)),
            Err(_) => Problem::error(key, "is not UTF-8 text"),
        },
    };
    problems.push(if may_show(path) { problem.value(found.display()) } else { problem });
    None
}

/// Opens a file and nothing else: a pipe would hold up the start, and every reload.
fn open(path: &Path) -> io::Result<File> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_file() || kind.is_dir() {
        File::open(path)
    } else {
        Err(io::Error::other("it is a pipe or a device"))
    }
}

/// A secret from its file.
pub(super) fn from_file(
    path: &Path,
    places: &Places,
    key: &str,
    problems: &mut Problems,
    notes: &mut Vec<SecretNote>,
) -> Option<SecretString> {
    let (text, found) = read(path, places, key, problems)?;
    from_text(&text, &found.display().to_string(), key, problems, notes)
}

/// A secret from its text: line breaks at the end are cut, all else is kept.
pub(super) fn from_text(
    text: &str,
    source: &str,
    key: &str,
    problems: &mut Problems,
    notes: &mut Vec<SecretNote>,
) -> Option<SecretString> {
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.trim().is_empty() {
        problems.push(Problem::error(key, "is empty").hint("there is no secret by default"));
        return None;
    }
    if secret.trim() != secret {
        problems.push(
            Problem::warning(key, "begins or ends with white space, which is kept")
                .hint("both sides must have the very same secret"),
        );
    }
    if secret.starts_with('\u{feff}') {
        problems.push(
            Problem::warning(key, "begins with a byte order mark, which is kept")
                .hint("save the file as UTF-8 without it"),
        );
    }
    if secret.contains(['\r', '\n']) {
        problems.push(Problem::warning(key, "has more than one line"));
    }
    note(secret.len(), text.len() != secret.len(), source, key, notes);
    Some(secret.into())
}

pub(super) fn note(
    length: usize,
    trimmed: bool,
    source: &str,
    key: &str,
    notes: &mut Vec<SecretNote>,
) {
    notes.push(SecretNote { key: key.to_owned(), source: source.to_owned(), length, trimmed });
}

/// Whether two secrets are the same. For remarks only; timing does not matter here.
pub(super) fn same(left: &SecretString, right: &SecretString) -> bool {
    left.expose_secret() == right.expose_secret()
}

/// A path is shown, unless it looks like a secret that was put in the place of a path.
fn may_show(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.len() < 20 || text.contains(['/', '.'])
}

fn warn_if_open_to_all(file: &File, key: &str, path: &Path, problems: &mut Problems) {
    use std::os::unix::fs::MetadataExt as _;

    if file.metadata().is_ok_and(|meta| meta.is_file() && meta.mode() & 0o006 != 0) {
        problems
            .push(Problem::warning(key, OPEN_TO_ALL).value(path.display()).hint("chmod o-rw it"));
    }
}
