//! Hand-overs and dead letters as scripts read them.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::{
    config::Config,
    domain::ids::HookName,
    store::{
        Store, StoreError,
        types::{DeadLetter, HandoverRow, InboxRow},
    },
};

/// How many dead letters are read at once.
const BATCH: u32 = 1_000;

/// One hand-over of the past.
#[derive(Debug, Clone, Serialize)]
pub struct HandoverView {
    /// From 1: what `X-Redeliverd-Attempt` said.
    pub nth: u32,
    /// `None`: the worker was lost, so nobody knows.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: DateTime<Utc>,
    /// The result's word.
    pub result: &'static str,
    /// The application's status code.
    pub status_code: Option<u16>,
    /// The beginning of the application's answer, or what went wrong.
    pub detail: Option<String>,
    /// Which process made it.
    pub owner: Option<String>,
    /// Whether the claim had been taken over, so that the result changed nothing.
    pub late: bool,
}

impl HandoverView {
    pub(super) fn new(row: &HandoverRow) -> Self {
        Self {
            nth: row.nth,
            started_at: row.started_at,
            finished_at: row.finished_at,
            result: row.result.as_str(),
            status_code: row.status_code,
            detail: row.detail.clone(),
            owner: row.owner.clone(),
            late: row.late,
        }
    }

    /// One line for a person.
    pub(super) fn text(&self) -> String {
        let code = self.status_code.map(|code| format!(" {code}")).unwrap_or_default();
        let late = if self.late { ", too late to count" } else { "" };
        let words = self.detail.as_deref().and_then(|words| words.lines().next());
        let words = words.map(|line| format!(": {line}")).unwrap_or_default();
        format!("hand-over {}: {}{code}{late}{words}", self.nth, self.result)
    }
}

/// Where an event stands on its way to the application.
#[derive(Debug, Clone, Serialize)]
pub struct InboxView {
    /// The state's word.
    pub state: &'static str,
    /// Attempts since it was last made waiting afresh.
    pub attempts: u32,
    /// When it is due; `None` unless waiting.
    pub due_at: Option<DateTime<Utc>>,
    /// Until when it is claimed; `None` unless being handed over.
    pub lease_until: Option<DateTime<Utc>>,
    /// Who claimed it last.
    pub owner: Option<String>,
    /// Replays owed after the present hand-over.
    pub replays: u32,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    /// When it reached its final state.
    pub finished_at: Option<DateTime<Utc>>,
}

impl InboxView {
    pub(super) fn new(row: InboxRow) -> Self {
        use crate::domain::retry::HandoverState::{Processing, Waiting};
        Self {
            state: row.state.as_str(),
            attempts: row.attempts,
            due_at: (row.state == Waiting).then_some(row.due_at),
            lease_until: row.lease_until.filter(|_| row.state == Processing),
            owner: row.owner,
            replays: row.replays,
            last_error: row.last_error,
            finished_at: row.finished_at,
        }
    }
}

/// `dead list --json`.
#[derive(Debug, Serialize)]
pub struct DeadList {
    /// In order of receipt, hook by hook; those of hooks no longer configured at the end.
    pub dead: Vec<DeadView>,
}

/// One dead letter. Ids are strings, as everywhere.
#[derive(Debug, Serialize)]
pub struct DeadView {
    /// The hook's name.
    pub hook: String,
    /// Whether such a hook is configured. If not, it can be discarded, but not handed over.
    pub configured: bool,
    /// The event's key.
    pub guid: String,
    /// The event.
    pub event: String,
    /// `None` for events without one.
    pub action: Option<String>,
    /// `None` when unknown or none.
    pub repository_id: Option<String>,
    /// When it arrived.
    pub received_at: DateTime<Utc>,
    /// When it was given up.
    pub died_at: Option<DateTime<Utc>>,
    /// Hand-overs so far.
    pub attempts: u32,
    /// Why the last one failed.
    pub last_error: Option<String>,
}

impl DeadView {
    fn new(letter: DeadLetter, configured: bool) -> Self {
        Self {
            hook: letter.hook.to_string(),
            configured,
            guid: letter.guid.to_string(),
            event: letter.event.to_string(),
            action: letter.action,
            repository_id: letter.repository_id.map(|id| id.to_string()),
            received_at: letter.received_at,
            died_at: letter.died_at,
            attempts: letter.attempts,
            last_error: letter.last_error,
        }
    }
}

/// The dead letters of one hook, or of every one that has left a trace; at most `limit`.
pub async fn dead(
    store: &Store,
    config: &Config,
    hook: Option<&HookName>,
    limit: usize,
) -> Result<DeadList, StoreError> {
    let mut dead = Vec::new();
    let traces = store.known_hooks().await?;
    let forgotten = traces.iter().filter(|name| config.hook(name.as_str()).is_none());
    let names = config.hooks.iter().map(|hook| (&hook.name, true));
    for (name, configured) in names.chain(forgotten.map(|name| (name, false))) {
        if hook.is_some_and(|wanted| wanted != name) {
            continue;
        }
        let mut after = 0;
        while dead.len() < limit {
            let letters = store.dead_letters(name, after, BATCH).await?;
            let Some(last) = letters.last() else { break };
            after = last.seq;
            dead.extend(letters.into_iter().map(|letter| DeadView::new(letter, configured)));
        }
    }
    dead.truncate(limit);
    Ok(DeadList { dead })
}
