//! Rules for the store's own source that no compiler checks.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn files() -> Vec<(PathBuf, String)> {
    let directory = format!("{}/src/store", env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(directory.as_ref(), &mut files);
    assert!(files.len() > 10);
    files
}

fn collect(directory: &Path, files: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push((path.clone(), fs::read_to_string(path).unwrap()));
        }
    }
}

// S2
#[test]
fn every_writing_transaction_begins_with_the_dialects_words() {
    for (path, text) in files() {
        assert!(!text.contains(".begin()"), "{}", path.display());
        let begins = text.matches(".begin_with(").count();
        let name = path.file_name().unwrap().to_str().unwrap();
        let allowed = match name {
            "backend.rs" => 2,
            "migrate.rs" | "writer.rs" => 1,
            _ => 0,
        };
        assert_eq!(begins, allowed, "{name}");
        // A migration's words are its caller's.
        for begin in text.split(".begin_with(").skip(1).filter(|_| name != "migrate.rs") {
            let words = begin.split(')').next().unwrap();
            assert!(words.ends_with("SQLITE_BEGIN") || words.ends_with("POSTGRES_BEGIN"), "{name}");
        }
    }
}

// S8, S11, S14
#[test]
fn no_lock_outlives_its_transaction() {
    for (path, text) in files() {
        for word in ["pg_advisory_lock", "pg_try_advisory_lock", "LISTEN "] {
            assert!(!text.contains(word), "{}: {word}", path.display());
        }
    }
}

#[test]
fn sql_is_constant_and_never_asks_for_the_time() {
    for (path, text) in files() {
        for word in ["AssertSqlSafe", "CURRENT_TIMESTAMP", "now()", "datetime("] {
            assert!(!text.contains(word), "{}: {word}", path.display());
        }
    }
}
