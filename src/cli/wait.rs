//! `sweep --wait`: watches until what was asked has arrived, or the time is over.

use std::time::Duration;

use chrono::TimeDelta;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::context::Context;
use crate::{
    config::Hook,
    domain::ids::Guid,
    report,
    sweeper::{Request, Sweep, SweepReport, Sweeper, Trigger},
};

/// How often the store is asked.
const LOOK: Duration = Duration::from_millis(250);
/// How often GitHub's list is read meanwhile: a receipt shows by itself, GitHub's word does not.
const LIST: Duration = Duration::from_secs(3);

/// What became of the requests of one sweep.
#[derive(Debug)]
pub(super) struct Arrived {
    /// How many were sent.
    pub(super) asked: usize,
    /// Those of them that are not settled yet.
    pub(super) waiting: Vec<Guid>,
}

/// Returns when everything asked in `report` is settled, `patience` is over, or `cancel` says so;
/// then `report.missing` is up to date.
pub(super) async fn until_arrived(
    context: &Context,
    hook: &Hook,
    sweeper: &Sweeper,
    report: &mut SweepReport,
    patience: TimeDelta,
    cancel: &CancellationToken,
) -> anyhow::Result<Arrived> {
    let mut open: Vec<Guid> = report
        .requests
        .iter()
        .filter(|request| matches!(request.outcome, "accepted" | "ambiguous"))
        .filter_map(|request| Guid::new(&request.guid).ok())
        .collect();
    let asked = open.len();
    let end = Instant::now() + patience.to_std().unwrap_or_default();
    let mut list_at = Instant::now() + LIST;
    loop {
        open = still_open(context, hook, open).await?;
        if open.is_empty() || Instant::now() >= end || cancel.is_cancelled() {
            break;
        }
        if Instant::now() >= list_at {
            let look = Request {
                trigger: Trigger::Manual,
                since: None,
                dry_run: true,
                patience: Duration::ZERO,
            };
            if let Sweep::Done(seen) = sweeper.sweep(&look, cancel).await? {
                report.api_calls += seen.api_calls;
            }
            list_at = Instant::now() + LIST;
        }
        tokio::time::sleep(LOOK).await;
    }
    let status = report::status(&context.store, &context.config, context.now()).await?;
    if let Some(now) = status.hooks.iter().find(|status| status.name == report.hook) {
        report.missing = u32::try_from(now.missing.total).unwrap_or(u32::MAX);
    }
    Ok(Arrived { asked, waiting: open })
}

async fn still_open(context: &Context, hook: &Hook, asked: Vec<Guid>) -> anyhow::Result<Vec<Guid>> {
    let bench = report::Bench::of(&context.store, hook).await?;
    let mut open = Vec::new();
    for guid in asked {
        let known = context.store.delivery(&hook.name, &guid).await?;
        let closed = known.is_some_and(|it| bench.judge(&it.delivery, context.now()).is_closed());
        if !closed {
            open.push(guid);
        }
    }
    Ok(open)
}
