//! `list`: deliveries with verdict and reason.

use std::path::Path;

use chrono::TimeDelta;

use super::{
    context::{Context, UsageError},
    exit::Exit,
    table::{self, Style},
};
use crate::{
    config,
    domain::{ids::EventName, verdict::Verdict},
    report::{self, DeliveryList, ListQuery},
};

/// Arguments of `list`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only what is missing
    #[arg(long)]
    missing: bool,
    /// Only this hook
    #[arg(long, value_name = "NAME")]
    hook: Option<String>,
    /// Only this verdict
    #[arg(long, value_parser = Verdict::WORDS)]
    verdict: Option<String>,
    /// Only this event, e.g. `push`, or only one action of it, e.g. `issues.opened`
    #[arg(long)]
    event: Option<String>,
    /// Only first attempted within this time, e.g. `3d`
    #[arg(long, value_name = "DURATION", value_parser = config::span)]
    since: Option<TimeDelta>,
    /// At most this many
    #[arg(long, default_value_t = 100)]
    limit: usize,
}

pub(super) async fn run(file: Option<&Path>, args: &Args, style: Style) -> anyhow::Result<Exit> {
    let context = Context::open(file).await?;
    if let Some(Err(why)) = args.event.as_deref().map(EventName::new) {
        return Err(UsageError(format!("--event: the event {why}")).into());
    }
    let query = ListQuery {
        hook: args
            .hook
            .as_deref()
            .map(|name| context.hook(name).map(|h| h.name.clone()))
            .transpose()?,
        missing: args.missing,
        verdict: args.verdict.clone(),
        event: args.event.clone(),
        since: args.since.map(|span| context.now() - span),
        limit: args.limit,
        depth: report::DEPTH,
    };
    let list = report::list(&context.store, &context.config, &query, context.now()).await?;
    if style.json {
        table::json(&list)?;
    } else {
        table::out(&text(&list, style))?;
    }
    Ok(if args.missing && !list.deliveries.is_empty() { Exit::Missing } else { Exit::Fine })
}

fn text(list: &DeliveryList, style: Style) -> String {
    let mut table = table::table(&[
        "HOOK",
        "GUID",
        "EVENT",
        "VERDICT",
        "REASON",
        "TRIES",
        "ASKED",
        "FIRST ATTEMPT",
        "RECEIVED",
        "HAND-OVER",
    ]);
    for delivery in &list.deliveries {
        let event = match &delivery.action {
            Some(action) => format!("{}.{action}", delivery.event),
            None => delivery.event.clone(),
        };
        table.add_row(vec![
            delivery.hook.clone(),
            delivery.guid.clone(),
            event,
            delivery.verdict.to_owned(),
            delivery.reason.to_owned(),
            delivery.attempts.to_string(),
            delivery.redeliveries.to_string(),
            table::time_or_dash(delivery.first_attempt_at, style),
            table::time_or_dash(delivery.received_at, style),
            delivery.handover.unwrap_or("-").to_owned(),
        ]);
    }
    let mut text =
        if list.deliveries.is_empty() { "nothing".to_owned() } else { table.to_string() };
    if let Some(at) = list.looked_back_to {
        text += "\nwhat is older than ";
        text += &table::time_or_dash(Some(at), style);
        text += " may not be shown; narrow the list with --since, --hook or --event";
    }
    text
}
