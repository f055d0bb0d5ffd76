//! `status`: per hook what is missing by reason, the oldest, the last sweep.

use std::path::Path;

use super::{
    context::Context,
    exit::Exit,
    table::{self, Style},
};
use crate::{
    domain::condition::State,
    report::{self, Inbox, Status},
};

/// Arguments of `status`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) async fn run(file: Option<&Path>, _args: &Args, style: Style) -> anyhow::Result<Exit> {
    let context = Context::open(file).await?;
    let status = report::status(&context.store, &context.config, context.now()).await?;
    if style.json {
        table::json(&status)?;
    } else {
        table::out(&text(&status, style))?;
    }
    let missing: u64 = status.hooks.iter().map(|hook| hook.missing.total).sum();
    Ok(if missing == 0 { Exit::Fine } else { Exit::Missing })
}

fn text(status: &Status, style: Style) -> String {
    let mut table = table::table(&[
        "HOOK",
        "TRUST",
        "MISSING",
        "WHY",
        "OLDEST",
        "LAST COMPLETE SWEEP",
        "INBOX",
    ]);
    for hook in &status.hooks {
        let why = hook.missing.why();
        table.add_row(vec![
            hook.name.clone(),
            hook.trust.to_owned(),
            hook.missing.total.to_string(),
            if why.is_empty() { "-".to_owned() } else { why },
            hook.oldest_missing_seconds.map_or_else(|| "-".to_owned(), table::age),
            hook.last_complete_sweep_at
                .map_or_else(|| "never".to_owned(), |at| table::time(at, style)),
            inbox(&hook.inbox),
        ]);
    }
    let mut lines = vec![table.to_string()];
    for condition in status.conditions.iter().filter(|c| c.state != State::Resolved.as_str()) {
        let since = condition
            .since
            .map_or_else(String::new, |at| format!(" since {}", table::time(at, style)));
        let hook = condition.hook.as_ref().map_or_else(String::new, |hook| format!(" on {hook}"));
        let (state, name) = (&condition.state, &condition.name);
        lines.push(format!("{state}{since}: {name}{hook}: {}", condition.summary));
    }
    lines.join("\n")
}

fn inbox(inbox: &Inbox) -> String {
    let states: Vec<String> = inbox
        .by_state()
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    if states.is_empty() { "-".to_owned() } else { states.join(", ") }
}
