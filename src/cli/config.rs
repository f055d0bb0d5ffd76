//! `config check | show | schema`: what is written, what it means, what may be written.

use std::path::Path;

use clap::Subcommand;
use serde::Serialize;

use super::{
    exit::Exit,
    table::{self, Style},
};
use crate::{
    clock::{Clock, SystemClock},
    config::{self, Env, Loaded, Problem, SecretNote, Severity},
};

/// Arguments of `config`.
#[derive(Debug, Subcommand)]
pub(super) enum Args {
    /// Report every problem at once, with key and hint
    Check,
    /// Print the effective configuration, secrets masked
    Show,
    /// Print the JSON Schema of the configuration file
    Schema,
}

#[derive(Debug, Serialize)]
struct Checked {
    ok: bool,
    file: Option<String>,
    problems: Vec<ProblemView>,
    secrets: Vec<String>,
    next_runs: Vec<chrono::DateTime<chrono::Utc>>,
}

#[derive(Debug, Serialize)]
struct ProblemView {
    severity: &'static str,
    key: String,
    value: Option<String>,
    message: String,
    hint: Option<String>,
}

pub(super) fn run(file: Option<&Path>, args: &Args, style: Style) -> anyhow::Result<Exit> {
    let env = Env::of_process();
    let file = config::locate(file, &env);
    match args {
        Args::Check => check(file.as_deref(), &env, style),
        Args::Show => {
            let loaded = config::load(file.as_deref(), &env)?;
            let shown = config::show(&loaded);
            if style.json {
                table::json(&toml::from_str::<toml::Table>(shown)?)?;
            } else {
                table::out(shown)?;
            }
            Ok(Exit::Fine)
        }
        Args::Schema => {
            table::json(&config::schema())?;
            Ok(Exit::Fine)
        }
    }
}

fn check(file: Option<&Path>, env: &Env, style: Style) -> anyhow::Result<Exit> {
    let loaded =
        config::load(file, env).and_then(|loaded| loaded.config.require_hooks().map(|()| loaded));
    let (problems, loaded) = match &loaded {
        Ok(loaded) => (&loaded.warnings, Some(loaded)),
        Err(problems) => (&problems.all, None),
    };
    if style.json {
        table::json(&checked(file, problems, loaded))?;
    } else {
        for problem in problems {
            table::err(&problem.to_string());
        }
        if let Some(loaded) = loaded {
            table::out(&summary(file, loaded, style))?;
        }
    }
    Ok(if loaded.is_some() { Exit::Fine } else { Exit::Usage })
}

fn runs(loaded: &Loaded) -> Vec<chrono::DateTime<chrono::Utc>> {
    config::next_runs(&loaded.config.sweep.schedule, SystemClock.now(), 3)
}

fn checked(file: Option<&Path>, problems: &[Problem], loaded: Option<&Loaded>) -> Checked {
    Checked {
        ok: loaded.is_some(),
        file: file.map(|path| path.display().to_string()),
        problems: problems
            .iter()
            .map(|problem| ProblemView {
                severity: match problem.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                },
                key: problem.key.clone(),
                value: problem.value.clone(),
                message: problem.message.clone(),
                hint: problem.hint.clone(),
            })
            .collect(),
        secrets: loaded
            .map(|loaded| loaded.secrets.iter().map(secret).collect())
            .unwrap_or_default(),
        next_runs: loaded.map(runs).unwrap_or_default(),
    }
}

fn summary(file: Option<&Path>, loaded: &Loaded, style: Style) -> String {
    let source = file.map_or_else(|| "environment".to_owned(), |path| path.display().to_string());
    let hooks = match loaded.config.hooks.len() {
        1 => "1 hook".to_owned(),
        several => format!("{several} hooks"),
    };
    let mut lines = vec![format!("{source}: fine, {hooks}")];
    lines.extend(loaded.secrets.iter().map(|note| format!("  {}", secret(note))));
    let next: Vec<_> = runs(loaded).into_iter().map(|at| table::time(at, style)).collect();
    lines.push(format!("  next sweeps: {}", next.join(", ")));
    lines.join("\n")
}

/// What can be said of a secret: where it is and how long, never what.
fn secret(note: &SecretNote) -> String {
    let trimmed = if note.trimmed { ", line break cut off" } else { "" };
    format!("{}: {} bytes from {}{trimmed}", note.key, note.length, note.source)
}
