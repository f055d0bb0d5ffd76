//! `show GUID`: one delivery's story as a timeline, with the verdict and why.

use std::path::Path;

use super::{
    context::Context,
    exit::Exit,
    table::{self, Style},
};
use crate::report::{self, Shown};

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The value of X-GitHub-Delivery
    guid: String,
    /// Of this hook; needed only when several hooks got the event
    #[arg(long, value_name = "NAME")]
    hook: Option<String>,
}

pub(super) async fn run(file: Option<&Path>, args: &Args, style: Style) -> anyhow::Result<Exit> {
    let context = Context::open(file).await?;
    let (hook, guid) = context.delivery(&args.guid, args.hook.as_deref()).await?;
    let shown = report::show(&context.store, hook, &guid, context.now())
        .await?
        .ok_or_else(|| super::context::unknown(&args.guid))?;
    if style.json {
        table::json(&shown)?;
    } else {
        table::out(&text(&shown, style))?;
    }
    Ok(Exit::Fine)
}

fn text(shown: &Shown, style: Style) -> String {
    let delivery = &shown.delivery;
    let action = delivery.action.as_ref().map(|a| format!(".{a}")).unwrap_or_default();
    let mut lines = vec![
        format!("{} on hook {}: {}{action}", delivery.guid, delivery.hook, delivery.event),
        match shown.until {
            Some(until) => format!(
                "{} ({}) until {}",
                delivery.verdict,
                delivery.reason,
                table::time(until, style)
            ),
            None => format!("{} ({})", delivery.verdict, delivery.reason),
        },
        String::new(),
    ];
    for event in &shown.timeline {
        lines.push(format!("{}  {:<10}  {}", table::time(event.at, style), event.what, event.text));
    }
    lines.join("\n")
}
