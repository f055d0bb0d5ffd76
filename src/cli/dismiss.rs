//! `dismiss GUID...`: take deliveries out of missing.

use std::path::Path;

use serde::Serialize;

use super::{
    context::Context,
    exit::Exit,
    table::{self, Style},
};

/// Arguments of `dismiss`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Values of X-GitHub-Delivery
    #[arg(required = true)]
    guids: Vec<String>,
    /// Of this hook; needed only when several hooks got the event
    #[arg(long, value_name = "NAME")]
    hook: Option<String>,
    /// Why, for whoever reads the story later
    #[arg(long)]
    note: Option<String>,
}

#[derive(Debug, Serialize)]
struct Dismissed {
    dismissed: Vec<String>,
}

pub(super) async fn run(file: Option<&Path>, args: &Args, style: Style) -> anyhow::Result<Exit> {
    let context = Context::open(file).await?;
    let mut dismissed = Vec::new();
    let mut exit = Exit::Fine;
    for text in &args.guids {
        // One unknown GUID does not stop the others.
        match dismiss(&context, text, args).await {
            Ok(guid) => dismissed.push(guid),
            Err(error) => {
                exit = exit.max(super::context::exit_of(&error));
                table::err(&format!("error: {}", super::context::said(&error)));
            }
        }
    }
    if style.json {
        table::json(&Dismissed { dismissed })?;
    } else {
        for guid in dismissed {
            table::out(&format!("{guid} dismissed"))?;
        }
    }
    Ok(exit)
}

async fn dismiss(context: &Context, text: &str, args: &Args) -> anyhow::Result<String> {
    let (hook, guid) = context.delivery(text, args.hook.as_deref()).await?;
    let note = args.note.as_deref();
    if context.store.dismiss(&hook.name, &guid, note, context.now()).await? {
        Ok(guid.to_string())
    } else {
        Err(super::context::unknown(text))
    }
}
