//! `dead list | requeue | discard`: what the application would not take.

use std::path::Path;

use anyhow::anyhow;
use serde::Serialize;

use super::{
    context::{self, Context, UsageError},
    exit::Exit,
    table::{self, Style},
};
use crate::{
    domain::ids::HookName,
    report::{self, DeadList},
};

/// The commands of `dead`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// List dead letters in order of receipt
    List(List),
    /// Give dead letters all their attempts again
    Requeue(Choice),
    /// Give dead letters up for good
    Discard(Choice),
}

/// Arguments of `dead list`.
#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// Only this hook
    #[arg(long, value_name = "NAME")]
    hook: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 1_000)]
    limit: usize,
}

/// Arguments of `dead requeue` and `dead discard`.
#[derive(Debug, clap::Args)]
pub(super) struct Choice {
    /// Values of X-GitHub-Delivery
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    guids: Vec<String>,
    /// Every dead letter (of the hook, where one is named)
    #[arg(long)]
    all: bool,
    /// Of this hook
    #[arg(long, value_name = "NAME")]
    hook: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Requeue,
    Discard,
}

impl Act {
    fn done(self) -> &'static str {
        match self {
            Self::Requeue => "requeued",
            Self::Discard => "discarded",
        }
    }
}

#[derive(Debug, Serialize)]
struct Changed {
    action: &'static str,
    count: u64,
}

pub(super) async fn run(
    file: Option<&Path>,
    command: &Command,
    style: Style,
) -> anyhow::Result<Exit> {
    let context = Context::open(file).await?;
    match command {
        Command::List(args) => list(&context, args, style).await,
        Command::Requeue(choice) => act(&context, choice, Act::Requeue, style).await,
        Command::Discard(choice) => act(&context, choice, Act::Discard, style).await,
    }
}

async fn list(context: &Context, args: &List, style: Style) -> anyhow::Result<Exit> {
    let hook = named(context, args.hook.as_deref()).await?;
    let dead = report::dead(&context.store, &context.config, hook.as_ref(), args.limit).await?;
    if style.json {
        table::json(&dead)?;
    } else {
        table::out(&text(&dead, style))?;
    }
    Ok(Exit::Fine)
}

fn text(list: &DeadList, style: Style) -> String {
    let mut table =
        table::table(&["HOOK", "GUID", "EVENT", "TRIES", "RECEIVED", "DIED", "LAST ERROR"]);
    for letter in &list.dead {
        let event = match &letter.action {
            Some(action) => format!("{}.{action}", letter.event),
            None => letter.event.clone(),
        };
        let error = letter.last_error.as_deref().and_then(|text| text.lines().next());
        table.add_row(vec![
            if letter.configured {
                letter.hook.clone()
            } else {
                format!("{} (not configured)", letter.hook)
            },
            letter.guid.clone(),
            event,
            letter.attempts.to_string(),
            table::time(letter.received_at, style),
            table::time_or_dash(letter.died_at, style),
            error.unwrap_or("-").chars().take(80).collect(),
        ]);
    }
    if list.dead.is_empty() { "nothing".to_owned() } else { table.to_string() }
}

async fn act(context: &Context, choice: &Choice, act: Act, style: Style) -> anyhow::Result<Exit> {
    let (count, exit) = if choice.all {
        (all(context, choice, act).await?, Exit::Fine)
    } else {
        some(context, choice, act).await?
    };
    if style.json {
        table::json(&Changed { action: act.done(), count })?;
    } else {
        table::out(&format!("{count} {}", act.done()))?;
    }
    Ok(exit)
}

/// The hook that was named, configured or not; dead letters outlive their hook's configuration.
async fn named(context: &Context, hook: Option<&str>) -> anyhow::Result<Option<HookName>> {
    match hook {
        Some(name) => context.hook_or_trace(name).await.map(Some),
        None => Ok(None),
    }
}

/// Whether anybody would hand over what waits at this hook; if not, it would wait for ever.
fn takes_part(context: &Context, hook: &HookName) -> anyhow::Result<()> {
    let lacking = match context.config.hook(hook.as_str()) {
        Some(configured) if configured.forward.is_some() => return Ok(()),
        Some(_) => "has no [hooks.forward]",
        None => "is not configured",
    };
    Err(UsageError(format!(
        "hook {hook} {lacking}, so nothing of it is handed over: configure it, or \
         `redeliverd dead discard --hook {hook} GUID`"
    ))
    .into())
}

async fn all(context: &Context, choice: &Choice, act: Act) -> anyhow::Result<u64> {
    let (store, now) = (&context.store, context.now());
    let hooks = match named(context, choice.hook.as_deref()).await? {
        Some(hook) => vec![hook],
        None => store.known_hooks().await?,
    };
    let mut count = 0;
    for hook in hooks {
        count += match act {
            Act::Requeue => match takes_part(context, &hook) {
                Ok(()) => store.requeue_all(&hook, now).await?,
                // The other hooks' letters can go all the same, and without any there is no trouble.
                Err(error) if choice.hook.is_none() => {
                    if !store.dead_letters(&hook, 0, 1).await?.is_empty() {
                        table::err(&format!("left dead: {error}"));
                    }
                    0
                }
                Err(error) => return Err(error),
            },
            Act::Discard => store.discard_all(&hook, now).await?,
        };
    }
    Ok(count)
}

async fn some(context: &Context, choice: &Choice, act: Act) -> anyhow::Result<(u64, Exit)> {
    let (mut count, mut exit) = (0, Exit::Fine);
    for text in &choice.guids {
        // One bad item never stops the rest.
        match one(context, text, choice.hook.as_deref(), act).await {
            Ok(()) => count += 1,
            Err(error) => {
                exit = exit.max(context::exit_of(&error));
                table::err(&format!("error: {}", context::said(&error)));
            }
        }
    }
    Ok((count, exit))
}

async fn one(context: &Context, text: &str, hook: Option<&str>, act: Act) -> anyhow::Result<()> {
    let guid = context::parse(text)?;
    let hook = match named(context, hook).await? {
        Some(hook) => hook,
        None => context.holder(&guid).await?,
    };
    let (store, now) = (&context.store, context.now());
    let changed = match act {
        Act::Requeue => {
            takes_part(context, &hook)?;
            store.requeue(&hook, &guid, now).await?
        }
        Act::Discard => store.discard(&hook, &guid, now).await?,
    };
    if changed {
        return Ok(());
    }
    let state = store.inbox_row(&hook, &guid).await?.map(|row| row.state.as_str());
    Err(match state {
        Some(state) => anyhow!("{guid} is no dead letter, it is {state}"),
        None => UsageError(format!("{guid} is no dead letter")).into(),
    })
}
