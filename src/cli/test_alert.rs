//! `test-alert`: send a marked test through every channel.

use std::path::Path;

use serde::Serialize;

use super::{
    context::configuration,
    exit::Exit,
    table::{self, Style},
};
use crate::{
    clock::{Clock as _, SystemClock},
    notify::{self, Notice},
};

#[derive(Debug, Serialize)]
struct Tested {
    channels: Vec<Outcome>,
}

#[derive(Debug, Serialize)]
struct Outcome {
    channel: String,
    result: &'static str,
    error: Option<String>,
}

/// Needs no hook and no database. Fails when any channel did.
pub(super) async fn run(file: Option<&Path>, style: Style) -> anyhow::Result<Exit> {
    let config = configuration(file)?;
    let notice = Notice::test(SystemClock.now());
    let mut tested = Tested { channels: Vec::new() };
    for channel in notify::channels(&config.alerts)? {
        let told = channel.notifier.tell(&notice).await;
        tested.channels.push(Outcome {
            channel: channel.name,
            result: if told.is_ok() { "sent" } else { "failed" },
            error: told.err().map(|failure| failure.message),
        });
    }
    if style.json {
        table::json(&tested)?;
    } else {
        for Outcome { channel, result, error } in &tested.channels {
            let why = error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
            table::out(&format!("{channel}: {result}{why}"))?;
        }
    }
    let all_sent = tested.channels.iter().all(|outcome| outcome.error.is_none());
    Ok(if all_sent { Exit::Fine } else { Exit::Failed })
}
