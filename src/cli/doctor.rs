//! `doctor` and `healthcheck`: is it well, asked from outside.

use std::{
    io::{self, IsTerminal as _},
    path::Path,
    sync::Arc,
};

use super::{
    context,
    exit::Exit,
    table::{self, Style},
};
use crate::{
    clock::SystemClock,
    config::{self, Env, LogFormat},
    doctor::{self, Check, Ending, Findings, Patient, Probe},
    telemetry,
};

pub(super) async fn run(file: Option<&Path>, style: Style) -> anyhow::Result<Exit> {
    let env = Env::of_process();
    let loaded = config::load(config::locate(file, &env).as_deref(), &env)?;
    loaded.config.require_hooks()?;
    // What is doubtful is shown as a check.
    telemetry::log_to_stderr("error", LogFormat::Text);
    let findings = doctor::examine(Patient {
        config: &loaded.config,
        warnings: &loaded.warnings,
        file: loaded.source.as_ref().map(|source| source.file.clone()),
        secrets: &loaded.secrets,
        credentials: env.credentials,
        clock: Arc::new(SystemClock),
    })
    .await;
    if style.json {
        table::json(&findings)?;
    } else {
        let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        table::out(&text(&findings, colour))?;
    }
    Ok(match findings.count(Ending::Fail) {
        _ if findings.refused => Exit::Refused,
        0 => Exit::Fine,
        _ => Exit::Failed,
    })
}

/// One line for each check, one below it with the advice, and a last one with the sum.
fn text(findings: &Findings, colour: bool) -> String {
    let shown = |check: &Check| match &check.hook {
        Some(hook) => format!("{} ({hook})", check.name),
        None => check.name.to_owned(),
    };
    let width = findings.checks.iter().map(|check| shown(check).chars().count()).max();
    let width = width.unwrap_or_default();
    let mut lines = Vec::new();
    for check in &findings.checks {
        let result = format!("{:<7}", check.result.as_str());
        let result = if colour { painted(check.result, &result) } else { result };
        lines.push(format!("{result}  {:<width$}  {}", shown(check), check.detail));
        if let Some(advice) = &check.advice {
            lines.push(format!("{:9}{:width$}  -> {advice}", "", ""));
        }
    }
    let sums: Vec<String> = Ending::ALL
        .into_iter()
        .map(|ending| format!("{} {}", findings.count(ending), ending.as_str()))
        .collect();
    lines.push(format!("{} checks: {}", findings.checks.len(), sums.join(", ")));
    lines.join("\n")
}

fn painted(result: Ending, text: &str) -> String {
    let code = match result {
        Ending::Pass => 32,
        Ending::Warn => 33,
        Ending::Fail => 31,
        Ending::Unknown => 35,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

#[derive(Debug, clap::Args)]
pub(super) struct Healthcheck {
    /// Ask whether it can also store what arrives
    #[arg(long)]
    ready: bool,
}

/// For a container's health check: exit code 0 when the daemon's admin listener says yes.
pub(super) async fn healthcheck(
    file: Option<&Path>,
    args: &Healthcheck,
    style: Style,
) -> anyhow::Result<Exit> {
    let address = context::configuration(file)?.admin.listen;
    let (probe, word) =
        if args.ready { (Probe::Ready, "ready") } else { (Probe::Alive, "healthy") };
    let asked = doctor::healthy(address, probe).await;
    if style.json {
        let error = asked.as_ref().err();
        table::json(&serde_json::json!({ "healthy": asked.is_ok(), "error": error }))?;
        return Ok(if asked.is_ok() { Exit::Fine } else { Exit::Failed });
    }
    match asked {
        Ok(()) => {
            table::out(&format!("{word}: the daemon answers at {address}"))?;
            Ok(Exit::Fine)
        }
        Err(why) => anyhow::bail!("no {word} daemon at {address} (admin.listen): {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_aligned_and_coloured_only_where_wanted() {
        let check = |name, hook: Option<&str>, result, advice: Option<&str>| Check {
            name,
            hook: hook.map(str::to_owned),
            result,
            detail: "so it is".to_owned(),
            advice: advice.map(str::to_owned),
        };
        let checks = vec![
            check("disk", None, Ending::Pass, None),
            check("clock", Some("ci"), Ending::Fail, Some("set it")),
        ];
        let findings = Findings { checks, refused: false };
        assert_eq!(
            text(&findings, false),
            "pass     disk        so it is\n\
             fail     clock (ci)  so it is\n\
             \x20                    -> set it\n\
             2 checks: 1 pass, 0 warn, 1 fail, 0 unknown"
        );
        assert!(text(&findings, true).starts_with("\u{1b}[32mpass   \u{1b}[0m  disk"));
    }
}
