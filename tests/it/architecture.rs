//! The import rules: which module may know which, and which crate lives where.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Module -> the modules of ours it may name. `cli` and `app` see everything below them.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("clock", &[]),
    ("schedule", &[]),
    ("pulse", &[]),
    ("connections", &[]),
    ("lifecycle", &["pulse"]),
    ("config", &["domain"]),
    ("telemetry", &["config"]),
    ("github", &["domain", "clock", "config"]),
    ("store", &["domain", "config", "github", "pulse"]),
    ("report", &["domain", "config", "store"]),
    ("forward", &["domain", "clock", "config", "store", "telemetry"]),
    ("retention", &["domain", "clock", "config", "store"]),
    ("receiver", &["domain", "clock", "config", "connections", "store", "telemetry"]),
    ("notify", &["domain", "clock", "config", "store", "report", "sweeper", "telemetry"]),
    ("sweeper", &["domain", "clock", "config", "store", "github", "pulse", "telemetry"]),
    (
        "admin",
        &[
            "domain",
            "clock",
            "config",
            "connections",
            "lifecycle",
            "store",
            "report",
            "sweeper",
            "telemetry",
        ],
    ),
    ("doctor", &["domain", "clock", "config", "github", "notify", "store"]),
    (
        "app",
        &[
            "admin",
            "clock",
            "config",
            "domain",
            "forward",
            "github",
            "lifecycle",
            "notify",
            "pulse",
            "receiver",
            "report",
            "retention",
            "schedule",
            "store",
            "sweeper",
            "telemetry",
        ],
    ),
    (
        "sandbox",
        &[
            "app",
            "clock",
            "config",
            "domain",
            "lifecycle",
            "report",
            "store",
            "sweeper",
            "telemetry",
        ],
    ),
    (
        "cli",
        &[
            "app",
            "clock",
            "config",
            "doctor",
            "domain",
            "github",
            "lifecycle",
            "notify",
            "report",
            "retention",
            "sandbox",
            "store",
            "sweeper",
            "telemetry",
        ],
    ),
];

/// Crate -> the only places (path prefixes under `src/`) that may name it.
const HOMES: &[(&str, &[&str])] = &[
    ("sqlx", &["store/"]),
    ("octocrab", &["github/"]),
    ("jsonwebtoken", &["github/", "sandbox/github/"]),
    ("axum", &["admin/", "sandbox/"]),
    ("hyper", &["receiver/", "admin/", "github/", "sandbox/github/"]),
    ("sd_notify", &["lifecycle/"]),
    ("listenfd", &["lifecycle/"]),
    ("tokio_cron_scheduler", &["schedule.rs"]),
    ("clap", &["cli/"]),
    ("lettre", &["notify/email.rs"]),
    ("rustix", &["notify/space.rs", "store/reserve.rs"]),
    ("prometheus_client", &["telemetry/", "receiver/hook.rs"]),
    (
        "reqwest",
        &["github/transport.rs", "sandbox/github/", "forward/", "notify/", "doctor/reach.rs"],
    ),
];

/// What the pure core may name at all.
const DOMAIN_CRATES: &[&str] = &["std", "core", "chrono", "thiserror", "crate", "super", "self"];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("src is readable") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

/// (path under src, code without comments) of every source file; test modules are left out.
fn files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    sources(&root, &mut paths);
    paths
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).expect("below src").display().to_string();
            let text = fs::read_to_string(&path).expect("readable");
            // Only the inline module: what follows `#[cfg(test)] mod tests;` ships.
            let shipped = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let code: Vec<_> =
                shipped.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            (name, code.join("\n"))
        })
        .filter(|(name, _)| !is_test(name))
        .collect()
}

/// Files that `#[cfg(test)] mod ...;` brings in.
fn is_test(name: &str) -> bool {
    ["tests.rs", "properties.rs", "samples.rs", "drill.rs"].iter().any(|end| name.ends_with(end))
        || name.contains("/tests/")
}

fn module(file: &str) -> &str {
    file.split('/').next().unwrap_or(file).trim_end_matches(".rs")
}

/// Names that follow `crate::`, also inside a braced `use crate::{...}`.
fn imported(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(inner) = rest.strip_prefix('{') {
            let mut depth = 0_i32;
            let mut item = String::new();
            for c in inner.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => names.push(std::mem::take(&mut item)),
                    c if depth == 0 => item.push(c),
                    _ => {}
                }
            }
            names.push(item);
        } else {
            names.push(rest.to_owned());
        }
    }
    names
        .into_iter()
        .map(|name| name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
        .filter(|name: &String| !name.is_empty())
        .collect()
}

#[test]
fn modules_import_only_what_the_map_allows() {
    let mut wrong = Vec::new();
    for (file, code) in files() {
        let from = module(&file);
        if matches!(from, "main" | "lib") {
            continue;
        }
        let allowed = MAY_IMPORT
            .iter()
            .find(|(name, _)| *name == from)
            .unwrap_or_else(|| panic!("{file}: put the module {from} on the map"))
            .1;
        for name in imported(&code) {
            if name != from && !allowed.contains(&name.as_str()) {
                wrong.push(format!("{file} imports crate::{name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_crate_stays_at_home() {
    let mut wrong = Vec::new();
    for (file, code) in files() {
        for (name, homes) in HOMES {
            let named = code.contains(&format!("{name}::"))
                || code.contains(&format!("use {name}"))
                || code.contains(&format!("#[{name}("));
            if named && !homes.iter().any(|home| file.starts_with(home)) {
                wrong.push(format!("{file} names {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_core_is_pure() {
    let mut wrong = Vec::new();
    for (file, code) in files().into_iter().filter(|(file, _)| file.starts_with("domain/")) {
        for line in code.lines().filter_map(|line| line.trim().strip_prefix("use ")) {
            let root = line.split([':', ';', ' ']).next().unwrap_or_default();
            if !DOMAIN_CRATES.contains(&root) {
                wrong.push(format!("{file} uses {root}"));
            }
        }
        for word in ["async ", ".await", "tracing::", "Utc::now", "println!"] {
            if code.contains(word) {
                wrong.push(format!("{file} contains {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_it_owns_and_stays_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    sources(&root, &mut paths);
    for path in paths {
        let text = fs::read_to_string(&path).expect("readable");
        let name = path.strip_prefix(&root).expect("below src").display().to_string();
        assert!(is_test(&name) || text.starts_with("//! "), "{name} opens without a sentence");
        // A table of cases may be long; code may not.
        assert!(is_test(&name) || text.lines().count() <= 400, "{name} is over 400 lines");
    }
}
