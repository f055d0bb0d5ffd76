//! `redeliver GUID...` and `fetch GUID...`: ask GitHub again, or read through the API, now.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    path::Path,
    sync::Arc,
};

use serde::Serialize;
use tokio::time::Instant;

use super::{
    context::Context,
    exit::Exit,
    table::{self, Style},
};
use crate::{
    app,
    domain::ids::HookName,
    sweeper::{RequestReport, Sweeper},
    telemetry::Metrics,
};

/// Arguments of `redeliver` and `fetch`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Values of X-GitHub-Delivery
    #[arg(required = true)]
    guids: Vec<String>,
    /// Of this hook; needed only when several hooks got the event
    #[arg(long, value_name = "NAME")]
    hook: Option<String>,
}

/// Which of the two commands.
#[derive(Debug, Clone, Copy)]
pub(super) enum How {
    Redeliver,
    Fetch,
}

#[derive(Debug, Serialize)]
struct Requests {
    requests: Vec<RequestReport>,
}

pub(super) async fn run(
    file: Option<&Path>,
    args: &Args,
    how: How,
    style: Style,
) -> anyhow::Result<Exit> {
    let context = Context::open(file).await?;
    let mut hands = Hands { context: &context, how, sweepers: BTreeMap::new(), next: None };
    let mut requests = Vec::new();
    let mut exit = Exit::Fine;
    let mut asked = BTreeSet::new();
    for text in args.guids.iter().filter(|text| asked.insert(text.as_str())) {
        match hands.ask(text, args.hook.as_deref()).await {
            Ok(report) => {
                if report.outcome != "accepted" {
                    exit = exit.max(Exit::Failed);
                }
                if !style.json {
                    table::out(&line(&report))?;
                }
                requests.push(report);
            }
            // One bad item never stops the rest.
            Err(error) => {
                exit = exit.max(super::context::exit_of(&error));
                table::err(&format!("error: {text}: {}", super::context::said(&error)));
            }
        }
    }
    if style.json {
        table::json(&Requests { requests })?;
    }
    Ok(exit)
}

/// One sweeper per hook, and the pause that GitHub wants between two requests.
struct Hands<'a> {
    context: &'a Context,
    how: How,
    sweepers: BTreeMap<HookName, Sweeper>,
    next: Option<Instant>,
}

impl Hands<'_> {
    async fn ask(&mut self, guid: &str, hook: Option<&str>) -> anyhow::Result<RequestReport> {
        let Context { config, store, clock, .. } = self.context;
        let (hook, guid) = self.context.delivery(guid, hook).await?;
        let sweeper = match self.sweepers.entry(hook.name.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                let metrics = Arc::new(Metrics::default());
                free.insert(app::sweeper(config, hook, store, clock, &metrics)?)
            }
        };
        if let Some(next) = self.next {
            tokio::time::sleep_until(next).await;
        }
        self.next = Some(Instant::now() + config.sweep.min_interval);
        Ok(match self.how {
            How::Redeliver => sweeper.ask_one(&guid).await?,
            How::Fetch => sweeper.fetch_one(&guid).await?,
        })
    }
}

fn line(report: &RequestReport) -> String {
    let detail = report.detail.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
    format!(
        "{}  {} (request {}, attempt {}){detail}",
        report.guid, report.outcome, report.nth, report.attempt_id
    )
}
