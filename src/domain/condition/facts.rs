//! What the conditions are judged from.

use chrono::{DateTime, TimeDelta, Utc};

use super::Shortfall;
use crate::domain::ids::{Guid, HookName};

/// A fact, or why it could not be had.
pub type Look<T> = Result<T, String>;

/// Everything known at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// When this process began to watch.
    pub started_at: DateTime<Utc>,
    /// Since when sweeps could be made: the start, or the end of the last failure of the store.
    pub able_since: DateTime<Utc>,
    /// Whether the store takes writes.
    pub store: StoreFacts,
    /// The file system of the database.
    pub disk: Look<Disk>,
    /// Every configured hook.
    pub hooks: Vec<HookFacts>,
}

/// Whether the store takes writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreFacts {
    /// A commit worked just now.
    Writable,
    /// It did not, for this reason.
    Failing(String),
}

/// Space of a file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk {
    /// What we may still write.
    pub free: u64,
    /// Its size.
    pub total: u64,
}

impl Disk {
    /// Free space below which the disk is low, in bytes; also below a twentieth of its size.
    const FREE: u64 = 512 << 20;

    /// Whether it may soon be full.
    #[must_use]
    pub fn is_low(self) -> bool {
        self.free < Self::FREE || self.free < self.total / 20
    }
}

/// What is known of one hook. Each part is looked up by itself, so that one that cannot be had
/// leaves the others standing.
#[derive(Debug, Clone, PartialEq)]
pub struct HookFacts {
    /// The hook.
    pub name: HookName,
    /// What is missing.
    pub missing: Look<Shortfall>,
    /// When the last complete sweep began; `None`: there was none yet.
    pub complete_at: Look<Option<DateTime<Utc>>>,
    /// GitHub's attempts in the last [`HookFacts::ATTEMPTS_BACK`], by its list.
    pub attempts: Look<Attempts>,
    /// The newest finished sweep; `None`: there was none yet.
    pub last_sweep: Look<Option<LastSweep>>,
    /// GitHub's clock minus ours, as last measured; `None`: they agree, or nobody knows.
    pub clock_offset: Option<TimeDelta>,
    /// Requests to the receiver in the last [`HookFacts::REQUESTS_BACK`].
    pub requests: Requests,
    /// When something was last delivered, or first could have been; `None`: never recorded.
    pub last_delivery_at: Look<Option<DateTime<Utc>>>,
    /// Hand-over; `None`: the hook has none.
    pub inbox: Option<Look<InboxFacts>>,
}

impl HookFacts {
    /// How far back attempts are counted.
    pub const ATTEMPTS_BACK: TimeDelta = TimeDelta::minutes(15);
    /// How far back requests are counted.
    pub const REQUESTS_BACK: TimeDelta = TimeDelta::minutes(15);
}

/// GitHub's attempts of a while. Those without a code yet are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attempts {
    /// Whether any had a 2xx code; the others need then not be counted.
    pub succeeded: bool,
    /// Those without a 2xx code.
    pub failed: u64,
    /// When the oldest failed one was made.
    pub failing_since: Option<DateTime<Utc>>,
    /// The code of the newest one.
    pub newest_code: Option<i32>,
}

/// How a finished sweep ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastSweep {
    /// When it began.
    pub started_at: DateTime<Utc>,
    /// How it ended.
    pub end: SweepEnd,
    /// What cut it short, with a hint where there is one.
    pub error: Option<String>,
}

/// What the end of a sweep says about our credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepEnd {
    /// GitHub took it.
    Authorized,
    /// GitHub refused it.
    Unauthorized,
    /// GitHub was not reached, or not asked.
    Unclear,
}

/// Requests to the receiver of a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Requests {
    /// Those whose signature matched.
    pub verified: u64,
    /// Those whose signature matched no secret.
    pub unverified: u64,
}

/// The state of the hand-over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InboxFacts {
    /// Events given up.
    pub dead: u64,
    /// When the oldest of them was given up.
    pub dead_since: Option<DateTime<Utc>>,
    /// Some of them, the oldest first.
    pub dead_guids: Vec<Guid>,
    /// Events that could be handed over now.
    pub waiting: u64,
    /// Since when the oldest of them could be.
    pub waiting_since: Option<DateTime<Utc>>,
    /// When the application last took an event; `None`: never.
    pub handed_over_at: Option<DateTime<Utc>>,
}
