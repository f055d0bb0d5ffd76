//! `redeliver GUID...` and `fetch GUID...`: ask GitHub again, or read through the API, now.

use std::{path::Path, sync::Arc};

use serde::Serialize;

use super::{
    context::Context,
    exit::Exit,
    table::{self, Style},
};
use crate::{app, sweeper::report::RequestReport, telemetry::Metrics};

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
    let metrics = Arc::new(Metrics::default());
    let mut requests = Vec::new();
    let mut exit = Exit::Fine;
    for text in &args.guids {
        match ask(&context, text, args.hook.as_deref(), how, &metrics).await {
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
                table::err(&format!("error: {text}: {error:#}"));
            }
        }
    }
    if style.json {
        table::json(&Requests { requests })?;
    }
    Ok(exit)
}

async fn ask(
    context: &Context,
    guid: &str,
    hook: Option<&str>,
    how: How,
    metrics: &Arc<Metrics>,
) -> anyhow::Result<RequestReport> {
    let (hook, guid) = context.delivery(guid, hook).await?;
    let sweeper = app::sweeper(&context.config, hook, &context.store, &context.clock, metrics)?;
    Ok(match how {
        How::Redeliver => sweeper.ask_one(&guid).await?,
        How::Fetch => sweeper.fetch_one(&guid).await?,
    })
}

fn line(report: &RequestReport) -> String {
    let detail = report.detail.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
    format!(
        "{}  {} (request {}, attempt {}){detail}",
        report.guid, report.outcome, report.nth, report.attempt_id
    )
}
