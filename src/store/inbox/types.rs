//! What goes into and comes out of the inbox.

use chrono::{DateTime, Utc};

use crate::{
    domain::{
        ids::{EventName, Guid, HookName},
        retry::{HandoverResult, HandoverState, Next},
    },
    store::types::StoredReceipt,
};

/// A request for events to be handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Events at most.
    pub limit: u32,
    /// Of these, for events that failed before, while both kinds wait.
    pub retries: u32,
    /// Until when they are ours, unless renewed.
    pub lease_until: DateTime<Utc>,
    /// Leases that ended before this are taken over: now, less a margin for other clocks.
    pub expired_before: DateTime<Utc>,
    /// An event whose worker was lost in this attempt is dead.
    pub max_attempts: u32,
    /// Whether events of one repository go one after the other.
    pub ordered: bool,
    /// With `ordered`: repositories after this one come first. What [`Turn::cursor`] said last.
    pub cursor: i64,
}

/// One claimed event. The claim is ours as long as nobody else claims it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claimed {
    /// Which event.
    pub seq: i64,
    /// The fence: a result with another token is refused.
    pub token: i64,
    /// Which attempt of the present round, from 1: what `max_attempts` limits.
    pub attempt: u32,
    /// Which hand-over of this event at all, from 1.
    pub nth: u32,
}

/// How the hand-over of one claimed event ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// What was claimed.
    pub claimed: Claimed,
    /// When the request began.
    pub started_at: DateTime<Utc>,
    /// When its answer was read, or given up.
    pub finished_at: DateTime<Utc>,
    /// How it ended.
    pub result: HandoverResult,
    /// The application's status code; `None`: no answer.
    pub status_code: Option<u16>,
    /// The application's words, or what went wrong; bounded by the caller.
    pub detail: Option<String>,
    /// What follows.
    pub next: Next,
    /// Repository and time of the event, where they are known; kept of what was processed, so that
    /// older events after it can be marked.
    pub mark: Option<(i64, DateTime<Utc>)>,
}

/// What one turn of a worker did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    /// Ours now, in order of receipt.
    pub claimed: Vec<Claimed>,
    /// Conclusions that came too late: the claim had been taken over. Recorded, without effect.
    pub refused: Vec<i64>,
    /// Leases found expired, whose events wait again.
    pub expired: u32,
    /// Leases found expired, whose events are dead now.
    pub expired_dead: u32,
    /// Where the next ordered claim goes on.
    pub cursor: i64,
}

/// One event as it is handed over.
#[derive(Clone, PartialEq, Eq)]
pub struct Sendable {
    /// What arrived; without bytes when retention, against its rules, removed them.
    pub receipt: StoredReceipt,
    /// When GitHub first sent it, as far as its list told.
    pub first_attempt_at: Option<DateTime<Utc>>,
    /// The newest event of the same repository that was handed over.
    pub newest_handed_at: Option<DateTime<Utc>>,
    /// Whether an operator asked for it to be handed over again.
    pub replayed: bool,
}

/// Where one event stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRow {
    /// Its state.
    pub state: HandoverState,
    /// Attempts of the present round.
    pub attempts: u32,
    /// Hand-overs still owed after the present one.
    pub replays: u32,
    /// When it is due, while waiting.
    pub due_at: DateTime<Utc>,
    /// Until when it is claimed.
    pub lease_until: Option<DateTime<Utc>>,
    /// Who claimed it last.
    pub owner: Option<String>,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    /// When it reached its final state.
    pub finished_at: Option<DateTime<Utc>>,
}

/// One hand-over of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoverRow {
    /// From 1.
    pub nth: u32,
    /// Who made it.
    pub owner: Option<String>,
    /// `None`: the worker was lost, so nobody knows.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: DateTime<Utc>,
    /// How.
    pub result: HandoverResult,
    /// The application's status code.
    pub status_code: Option<u16>,
    /// The application's words, or what went wrong.
    pub detail: Option<String>,
    /// Whether the claim had been taken over, so that the result changed nothing.
    pub late: bool,
}

/// How many events of a hook are where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InboxCounts {
    /// To be handed over.
    pub waiting: u64,
    /// Claimed.
    pub processing: u64,
    /// Taken by the application, as far as retention goes back.
    pub processed: u64,
    /// Given up.
    pub dead: u64,
    /// When the oldest event arrived that no worker has claimed yet.
    pub oldest_fresh_at: Option<DateTime<Utc>>,
}

/// One dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// Orders dead letters by receipt.
    pub seq: i64,
    /// Its hook.
    pub hook: HookName,
    /// Its key.
    pub guid: Guid,
    /// The event.
    pub event: EventName,
    /// The event's action.
    pub action: Option<String>,
    /// The repository.
    pub repository_id: Option<i64>,
    /// When it arrived.
    pub received_at: DateTime<Utc>,
    /// When it was given up.
    pub died_at: Option<DateTime<Utc>>,
    /// Hand-overs so far.
    pub attempts: u32,
    /// Why the last one failed.
    pub last_error: Option<String>,
}

/// What asking for a replay did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// It will be handed over; `from` is where it stood. `None`: it had never been meant for that.
    Queued {
        /// The state before.
        from: Option<HandoverState>,
    },
    /// Nothing with this key ever arrived.
    Unknown,
    /// Its bytes are gone, or were never here.
    NoPayload,
}
