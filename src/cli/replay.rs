//! `replay GUID...`: hand over again what is stored.

use std::path::Path;

use serde::Serialize;

use super::{
    context::Context,
    exit::Exit,
    table::{self, Style},
};
use crate::{domain::retry::HandoverState, store::types::Replay};

/// Arguments of `replay`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Values of X-GitHub-Delivery
    #[arg(required = true)]
    guids: Vec<String>,
    /// Of this hook; needed only when several hooks got the event
    #[arg(long, value_name = "NAME")]
    hook: Option<String>,
    /// How often the application is to get each, always with the same idempotency key
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    times: u32,
}

#[derive(Debug, Serialize)]
struct Replays {
    replays: Vec<Replayed>,
}

#[derive(Debug, Serialize)]
struct Replayed {
    hook: String,
    guid: String,
    times: u32,
    /// Where it stood; `None`: it had never been meant for the application.
    from: Option<&'static str>,
}

pub(super) async fn run(file: Option<&Path>, args: &Args, style: Style) -> anyhow::Result<Exit> {
    let context = Context::open(file).await?;
    let mut replays = Vec::new();
    let mut exit = Exit::Fine;
    for text in &args.guids {
        // One bad item never stops the rest.
        match replay(&context, text, args).await {
            Ok(done) => {
                if !style.json {
                    let again = if args.times == 1 { "again" } else { "again and again" };
                    table::out(&format!("{}  will be handed over {again}", done.guid))?;
                }
                replays.push(done);
            }
            Err(error) => {
                exit = exit.max(super::context::exit_of(&error));
                table::err(&format!("error: {}", super::context::said(&error)));
            }
        }
    }
    if style.json {
        table::json(&Replays { replays })?;
    }
    Ok(exit)
}

async fn replay(context: &Context, text: &str, args: &Args) -> anyhow::Result<Replayed> {
    let (hook, guid) = context.delivery(text, args.hook.as_deref()).await?;
    if hook.forward.is_none() {
        let name = &hook.name;
        let message = format!("hook {name} hands nothing over; it has no [hooks.forward]");
        return Err(super::context::UsageError(message).into());
    }
    match context.store.replay(&hook.name, &guid, args.times, context.now()).await? {
        Replay::Queued { from } => Ok(Replayed {
            hook: hook.name.to_string(),
            guid: guid.to_string(),
            times: args.times,
            from: from.map(HandoverState::as_str),
        }),
        Replay::Unknown => {
            anyhow::bail!("{guid} never arrived, so there is nothing to hand over; try `redeliver`")
        }
        Replay::NoPayload => anyhow::bail!(
            "the payload of {guid} is not stored (any more); `redeliver` brings it back if GitHub still has it"
        ),
    }
}
