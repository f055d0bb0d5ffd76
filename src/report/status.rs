//! `status`: per hook, what is missing and why, and when the list was last read to its end.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::Bench;
use crate::{
    config::{Config, Hook},
    domain::{condition::State, ids::Guid},
    store::{Store, StoreError, types::Conditions},
};

/// What was found out holds for so many looks, and at least for a minute.
const LOOKS: i32 = 4;
const SHORTEST: TimeDelta = TimeDelta::minutes(1);

/// How many deliveries are read at once; bounds memory, not the answer.
const BATCH: u32 = 1_000;

/// `status --json`.
#[derive(Debug, Serialize)]
pub struct Status {
    /// One entry per configured hook, in the order of the configuration.
    pub hooks: Vec<HookStatus>,
    /// The conditions that alerts are made of.
    pub conditions: Vec<ConditionView>,
}

/// One hook at a glance.
#[derive(Debug, Serialize)]
pub struct HookStatus {
    /// The configured name.
    pub name: String,
    /// Which witness settles.
    pub trust: &'static str,
    /// What should be here and is not.
    pub missing: Missing,
    /// Age of the oldest missing delivery since its first attempt; `None`: nothing is missing.
    pub oldest_missing_seconds: Option<i64>,
    /// Start of the last pass that left nothing unread; `None`: there was none yet.
    pub last_complete_sweep_at: Option<DateTime<Utc>>,
    /// Events by hand-over state.
    pub inbox: Inbox,
}

/// Missing deliveries by reason.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// All of them.
    pub total: u64,
    /// Due: no attempt succeeded.
    pub failed: u64,
    /// Due: GitHub reports success, no receipt.
    pub unseen: u64,
    /// Asked, the attempt has not appeared.
    pub in_flight: u64,
    /// Waiting until it is asked for again.
    pub backoff: u64,
    /// Waiting for the endpoint.
    pub endpoint_down: u64,
    /// Given up: asked as often as allowed.
    pub exhausted: u64,
    /// Given up: out of GitHub's window.
    pub expired: u64,
}

/// Events by hand-over state.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Inbox {
    /// Received, not handed over yet.
    pub waiting: u64,
    /// Being handed over.
    pub processing: u64,
    /// Taken by the application.
    pub processed: u64,
    /// Given up.
    pub dead: u64,
}

/// One condition.
#[derive(Debug, Serialize)]
pub struct ConditionView {
    /// Its name.
    pub name: String,
    /// The hook it is about; `None`: the whole daemon.
    pub hook: Option<String>,
    /// `firing`, `resolved` or `unknown`.
    pub state: String,
    /// Since when.
    pub since: Option<DateTime<Utc>>,
    /// One sentence for a person.
    pub summary: String,
}

impl Missing {
    /// Counts one missing delivery under the reason's word.
    fn count(&mut self, reason: &str) {
        self.total += 1;
        let slot = match reason {
            "failed" => &mut self.failed,
            "unseen" => &mut self.unseen,
            "in_flight" => &mut self.in_flight,
            "backoff" => &mut self.backoff,
            "endpoint_down" => &mut self.endpoint_down,
            "exhausted" => &mut self.exhausted,
            "expired" => &mut self.expired,
            _ => return,
        };
        *slot += 1;
    }

    /// One line for a person: `3 missing (1 failed, 2 unseen)`.
    pub fn line(&self) -> String {
        match self.why() {
            why if why.is_empty() => format!("{} missing", self.total),
            why => format!("{} missing ({why})", self.total),
        }
    }

    /// The reasons that occur, with their numbers; empty when nothing is missing.
    pub fn why(&self) -> String {
        let occurring = self.by_reason().into_iter().filter(|(_, count)| *count > 0);
        let words: Vec<_> = occurring.map(|(reason, count)| format!("{count} {reason}")).collect();
        words.join(", ")
    }

    /// Every reason with its number, for tables and metrics.
    pub fn by_reason(&self) -> [(&'static str, u64); 7] {
        [
            ("failed", self.failed),
            ("unseen", self.unseen),
            ("in_flight", self.in_flight),
            ("backoff", self.backoff),
            ("endpoint_down", self.endpoint_down),
            ("exhausted", self.exhausted),
            ("expired", self.expired),
        ]
    }
}

/// The state of every configured hook, judged at `now`. Costs time by what is open.
pub async fn status(
    store: &Store,
    config: &Config,
    now: DateTime<Utc>,
) -> Result<Status, StoreError> {
    let mut hooks = Vec::with_capacity(config.hooks.len());
    for hook in &config.hooks {
        hooks.push(hook_status(store, hook, now).await?);
    }
    Ok(Status { hooks, conditions: conditions(store, config, now).await? })
}

/// What `serve` last found out about its own state. What it found too long ago is not known now.
async fn conditions(
    store: &Store,
    config: &Config,
    now: DateTime<Utc>,
) -> Result<Vec<ConditionView>, StoreError> {
    let Conditions { checked_at, rows } = store.conditions().await?;
    let check_every = TimeDelta::from_std(config.alerts.check_every).unwrap_or(TimeDelta::MAX);
    let valid = check_every.checked_mul(LOOKS).unwrap_or(TimeDelta::MAX).max(SHORTEST);
    let unseen = checked_at.filter(|at| now - *at > valid);
    Ok(rows
        .into_iter()
        .map(|row| {
            let (state, since, summary) = match unseen {
                None => (row.state, row.since, row.summary),
                Some(at) => (
                    State::Unknown,
                    at,
                    format!(
                        "nobody has looked since {}: is redeliverd serve running? Then it was {}",
                        at.format("%Y-%m-%d %H:%M UTC"),
                        row.state.as_str()
                    ),
                ),
            };
            ConditionView {
                name: row.subject.condition.as_str().to_owned(),
                hook: row.subject.hook.as_ref().map(ToString::to_string),
                state: state.as_str().to_owned(),
                since: Some(since),
                summary,
            }
        })
        .collect())
}

async fn hook_status(
    store: &Store,
    hook: &Hook,
    now: DateTime<Utc>,
) -> Result<HookStatus, StoreError> {
    let bench = Bench::of(store, hook).await?;
    let mut missing = Missing::default();
    let mut oldest: Option<DateTime<Utc>> = None;
    let mut after: Option<Guid> = None;
    loop {
        let batch = store.open_deliveries(&hook.name, after.as_ref(), BATCH).await?;
        let Some(last) = batch.last() else { break };
        after = Some(last.delivery.guid.clone());
        for open in &batch {
            let verdict = bench.judge(&open.delivery, now);
            if verdict.is_missing() {
                missing.count(verdict.reason());
                oldest = oldest.into_iter().chain(open.delivery.first_attempt_at()).min();
            }
        }
    }
    Ok(HookStatus {
        name: hook.name.to_string(),
        trust: hook.policy.trust.as_str(),
        missing,
        oldest_missing_seconds: oldest
            .map(|at| (now - bench.memory.clock_offset.to_ours(at)).num_seconds().max(0)),
        last_complete_sweep_at: bench.memory.complete_at(),
        inbox: inbox(store, hook).await?,
    })
}

async fn inbox(store: &Store, hook: &Hook) -> Result<Inbox, StoreError> {
    let counts = store.inbox_counts(&hook.name).await?;
    Ok(Inbox {
        waiting: counts.waiting,
        processing: counts.processing,
        processed: counts.processed,
        dead: counts.dead,
    })
}

impl Inbox {
    /// Every state with its number, for tables and metrics.
    pub fn by_state(&self) -> [(&'static str, u64); 4] {
        [
            ("waiting", self.waiting),
            ("processing", self.processing),
            ("processed", self.processed),
            ("dead", self.dead),
        ]
    }
}
