//! `sweep`: one pass by hand, also beside a running daemon.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Context as _;
use chrono::TimeDelta;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{
    context::{Context, UsageError},
    exit::Exit,
    progress::Bar,
    table::{self, Style},
    wait::{self, Arrived},
};
use crate::{
    app,
    config::{self, Hook},
    lifecycle::Shutdown,
    sweeper::{Ending, Request, Sweep, SweepReport, Sweeper, Trigger},
    telemetry::Metrics,
};

/// How long a sweep by hand waits for one that already runs.
const PATIENCE: Duration = Duration::from_mins(1);

/// Arguments of `sweep`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this hook
    #[arg(long, value_name = "NAME")]
    hook: Option<String>,
    /// Also ask for adopted deliveries first attempted within this time, e.g. `3d`
    #[arg(long, value_name = "DURATION", value_parser = config::span)]
    since: Option<TimeDelta>,
    /// Show the plan; change nothing at GitHub
    #[arg(long)]
    dry_run: bool,
    /// Watch until what was asked has arrived, at most this long
    #[arg(long, value_name = "DURATION", value_parser = config::span, num_args = 0..=1, default_missing_value = "30s")]
    wait: Option<TimeDelta>,
}

#[derive(Debug, Serialize)]
struct Sweeps {
    sweeps: Vec<SweepReport>,
}

pub(super) async fn run(file: Option<&Path>, args: &Args, style: Style) -> anyhow::Result<Exit> {
    if args.dry_run && args.wait.is_some() {
        return Err(UsageError("--wait has nothing to watch with --dry-run".to_owned()).into());
    }
    let context = Context::open(file).await?;
    let hooks: Vec<&Hook> = match args.hook.as_deref() {
        Some(name) => vec![context.hook(name)?],
        None => context.config.hooks.iter().collect(),
    };
    let metrics = Arc::new(Metrics::default());
    // A signal ends the sweep between two steps, with everything recorded and the lease given back.
    let shutdown = Shutdown::default();
    shutdown.on_signals()?;
    let cancel = shutdown.soft;
    let mut exit = Exit::Fine;
    let mut sweeps = Vec::new();
    for hook in hooks {
        // One hook that cannot be swept does not stop the others.
        match sweep_and_wait(&context, hook, args, &metrics, &cancel).await {
            Ok((report, arrived)) => {
                exit = exit.max(exit_of(&report));
                if !style.json {
                    table::out(&text(&report, arrived.as_ref()))?;
                }
                sweeps.push(report);
            }
            Err(error) => {
                exit = exit.max(super::context::exit_of(&error));
                table::err(&format!("error: hook {}: {}", hook.name, super::context::said(&error)));
            }
        }
    }
    if style.json {
        table::json(&Sweeps { sweeps })?;
    }
    Ok(exit)
}

async fn sweep_and_wait(
    context: &Context,
    hook: &Hook,
    args: &Args,
    metrics: &Arc<Metrics>,
    cancel: &CancellationToken,
) -> anyhow::Result<(SweepReport, Option<Arrived>)> {
    let sweeper = app::sweeper(&context.config, hook, &context.store, &context.clock, metrics)?;
    let mut report = one(context, &sweeper, args, cancel).await?;
    let arrived = match args.wait {
        Some(patience) => {
            Some(wait::until_arrived(context, hook, &sweeper, &mut report, patience, cancel).await?)
        }
        None => None,
    };
    Ok((report, arrived))
}

async fn one(
    context: &Context,
    sweeper: &Sweeper,
    args: &Args,
    cancel: &CancellationToken,
) -> anyhow::Result<SweepReport> {
    let request = Request {
        trigger: Trigger::Manual,
        since: args.since.map(|span| context.now() - span),
        dry_run: args.dry_run,
        patience: PATIENCE,
    };
    let bar = Bar::follow(sweeper.progress());
    let swept = sweeper.sweep(&request, cancel).await;
    bar.finish();
    match swept.context("the sweep failed")? {
        Sweep::Done(report) => Ok(*report),
        Sweep::Skipped { owner, until } => Err(anyhow::anyhow!(
            "another sweep runs: {owner} holds its lease until {until}; try again later"
        )),
    }
}

fn exit_of(report: &SweepReport) -> Exit {
    match report.ending {
        Ending::Unauthorized => Exit::Refused,
        Ending::Misconfigured => Exit::Usage,
        Ending::Failed | Ending::RateLimited | Ending::Stopped => Exit::Failed,
        Ending::Partial => Exit::Missing,
        Ending::Complete if report.missing > 0 => Exit::Missing,
        Ending::Complete => Exit::Fine,
    }
}

/// `arrived`: what waiting showed, if anybody waited.
fn text(report: &SweepReport, arrived: Option<&Arrived>) -> String {
    let how = if report.complete { "complete" } else { "not complete" };
    let mut lines = vec![format!(
        "{}: {how}; listed {} ({} new), due {}, asked {}, fetched {}, deferred {}, missing {}, lost {}; {} API calls",
        report.hook,
        report.listed,
        report.new_attempts,
        report.due,
        report.requested,
        report.fetched,
        report.deferred,
        report.missing,
        report.lost,
        report.api_calls,
    )];
    if report.unreadable > 0 {
        lines.push(format!("  {} rows of GitHub's list could not be read", report.unreadable));
    }
    if report.adopted > 0 {
        lines.push(format!(
            "  adopted {} that had failed before; `redeliverd sweep --since 3d` asks for them",
            report.adopted
        ));
    }
    for request in &report.requests {
        let detail = request.detail.as_ref().map(|d| format!(": {d}")).unwrap_or_default();
        lines.push(format!(
            "  {}  {:<9} request {}, because {}{detail}",
            request.guid, request.outcome, request.nth, request.reason
        ));
    }
    if let Some(Arrived { asked, waiting }) = arrived {
        lines.push(format!("  arrived: {} of {asked} asked", asked - waiting.len()));
        lines.extend(waiting.iter().map(|guid| format!("  {guid}  has not arrived yet")));
    }
    if let Some(error) = &report.error {
        lines.push(format!("  stopped: {error}"));
    }
    lines.join("\n")
}
