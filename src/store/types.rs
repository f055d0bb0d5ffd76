//! What goes into and comes out of the store, where no domain type says it already.

use chrono::{DateTime, Utc};

use crate::domain::{
    boundary::Listing,
    clock_offset::ClockOffset,
    condition::{State, Subject},
    delivery::{Delivery, Means, Via},
    ids::{AttemptId, EventName, Guid, HookName},
    plan::Ramp,
    policy::{Endpoint, Standing},
};

pub use super::inbox::types::*;

/// One verified arrival, to be recorded.
#[derive(Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The hook whose path and secret matched.
    pub hook: HookName,
    /// The event's key.
    pub guid: Guid,
    /// The event.
    pub event: EventName,
    /// Best effort, from the body.
    pub action: Option<String>,
    /// Best effort, from the body.
    pub installation_id: Option<i64>,
    /// Best effort, from the body.
    pub repository_id: Option<i64>,
    /// How it came.
    pub via: Via,
    /// When the request was complete, on our clock.
    pub received_at: DateTime<Utc>,
    /// Whether the filter wants it; `false` also for pings. Such rows are recorded, not handed over.
    pub wanted: bool,
    /// Whether it is to be handed to the application: wanted, on a hook with `[hooks.forward]`. Not
    /// stored; the inbox tells what became of it.
    pub forward: bool,
    /// Allow-listed headers, names in lower case, values as sent.
    pub headers: Vec<(String, String)>,
    /// The bytes as sent.
    pub body: bytes::Bytes,
}

/// What recording did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// First arrival.
    New,
    /// Known, and no conflict; counted as another arrival.
    Again,
    /// Known, other bytes, and neither was read through the API, which gives no original bytes; the
    /// first bytes are kept, the arrival and the conflict counted.
    Conflict,
}

/// A receipt as stored.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredReceipt {
    /// The facts of the first arrival; the body is empty when `body_pruned`.
    pub arrival: Arrival,
    /// Arrivals so far, the first included.
    pub arrivals: u32,
    /// Arrivals with other bytes.
    pub conflicts: u32,
    /// Size of the original body in bytes.
    pub body_size: u64,
    /// SHA-256 of the original body.
    pub digest: [u8; 32],
    /// Whether retention already removed the bytes.
    pub body_pruned: bool,
}

/// What is remembered of a hook between sweeps.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HookMemory {
    /// When the receiver began to record, by our clock; `None`: never.
    pub recording_since: Option<DateTime<Utc>>,
    /// From when on, by the clock that is behind, deliveries are asked for; `None`: not adopted yet.
    pub adopted_at: Option<DateTime<Utc>>,
    /// How far the list was read, by the clock that is behind.
    pub listing: Listing,
    /// How fast repair may go; `None`: never asked.
    pub ramp: Option<Ramp>,
    /// The rules that closed deliveries were judged by; `None`: never judged.
    pub rules_fingerprint: Option<String>,
    /// As last measured.
    pub clock_offset: ClockOffset,
}

impl HookMemory {
    /// When the last pass that left nothing unread began, by our clock; the listing has it by the
    /// clock that is behind. `None`: there was none yet.
    pub fn complete_at(&self) -> Option<DateTime<Utc>> {
        self.listing.complete_at.map(|at| self.clock_offset.earliest_to_ours(at))
    }

    /// What judging needs of it.
    pub fn standing(&self) -> Standing {
        let down = self.ramp.as_ref().and_then(|ramp| ramp.down.as_ref());
        Standing {
            recording_since: self.recording_since,
            adopted_at: self.adopted_at,
            endpoint: down
                .map_or(Endpoint::Up, |down| Endpoint::Down { next_probe_at: down.next_probe_at }),
            clock_offset: self.clock_offset,
        }
    }
}

/// A held sweep lease. Writes that carry it fail with `LeaseLost` once another token holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The hook it covers.
    pub hook: HookName,
    /// Who holds it, e.g. `host/pid/…`.
    pub owner: String,
    /// The fencing token.
    pub token: i64,
}

/// The answer to [`super::Store::acquire`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquired {
    /// It is ours.
    Held(Lease),
    /// Somebody else has it.
    Busy {
        /// Who.
        owner: String,
        /// Until when, unless renewed.
        until: DateTime<Utc>,
    },
}

/// What storing a page did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SavedPage {
    /// Attempts not known before.
    pub new_attempts: u32,
}

/// A delivery with what was last stored about its judgement.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenDelivery {
    /// Its hook.
    pub hook: HookName,
    /// Its facts.
    pub delivery: Delivery,
    /// Last stored (verdict, reason); `None`: never judged.
    pub judged: Option<(String, String)>,
    /// When it was first judged missing in its present episode; `None`: not missing when last judged.
    pub missing_since: Option<DateTime<Utc>>,
}

impl OpenDelivery {
    /// When the event was first heard of: its first attempt, else its receipt.
    pub fn known_since(&self) -> DateTime<Utc> {
        self.delivery
            .first_attempt_at()
            .or_else(|| self.delivery.receipt.as_ref().map(|receipt| receipt.received_at))
            .unwrap_or(DateTime::UNIX_EPOCH)
    }
}

/// One request to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The hook.
    pub hook: HookName,
    /// The delivery.
    pub guid: Guid,
    /// How.
    pub means: Means,
    /// The attempt to repeat: the newest known.
    pub attempt: AttemptId,
    /// Whether it is a probe of an endpoint judged down.
    pub probe: bool,
    /// The sweep that makes it; `None`: a request by hand.
    pub sweep: Option<i64>,
    /// When, on our clock.
    pub asked_at: DateTime<Utc>,
}

/// What `list` asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// Only this hook.
    pub hook: Option<HookName>,
    /// Only this event.
    pub event: Option<String>,
    /// Only first attempted (or received) at or after this.
    pub since: Option<DateTime<Utc>>,
    /// Of those that GitHub has not listed, only received at or after this.
    pub unlisted_since: Option<DateTime<Utc>>,
    /// Only deliveries not closed by a verdict.
    pub open_only: bool,
    /// Only what comes after this (known since, GUID) in the order of the answer. Hooks share
    /// GUIDs, so only the answer for one hook can be continued so without a loss.
    pub before: Option<(DateTime<Utc>, Guid)>,
    /// At most this many.
    pub limit: u32,
}

/// One delivery with everything for `show`.
#[derive(Clone, PartialEq)]
pub struct Story {
    /// The delivery and its last judgement.
    pub open: OpenDelivery,
    /// GitHub's words per request, by nth.
    pub details: Vec<(u32, Option<String>)>,
    /// The receipt, body left out.
    pub receipt: Option<StoredReceipt>,
    /// When and with which note it was dismissed.
    pub dismissed: Option<(DateTime<Utc>, Option<String>)>,
}

/// The numbers of one finished sweep: its log line, its row and its JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SweepNumbers {
    /// Nothing of the list is left unread.
    pub complete: bool,
    /// Rows read.
    pub listed: u32,
    /// Of these, attempts not known before.
    pub new_attempts: u32,
    /// Rows that could not be read.
    pub unreadable: u32,
    /// HTTP requests made.
    pub api_calls: u32,
    /// Deliveries judged due.
    pub due: u32,
    /// Redeliveries asked.
    pub requested: u32,
    /// Due, left for a later sweep.
    pub deferred: u32,
    /// Payloads read through the API.
    pub fetched: u32,
    /// Missing in total, after this sweep.
    pub missing: u32,
    /// Expired in this sweep.
    pub lost: u32,
    /// Adopted in this sweep although no attempt had succeeded.
    pub adopted: u32,
    /// What cut the sweep short; `None`: nothing.
    pub error: Option<String>,
    /// The word for how it ended; `None` while it runs.
    pub ending: Option<String>,
}

/// One row of sweep history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepRow {
    /// Its id.
    pub id: i64,
    /// Its hook.
    pub hook: HookName,
    /// `startup`, `scheduled` or `manual`.
    pub trigger: String,
    /// Whether nothing was to be changed at GitHub.
    pub dry_run: bool,
    /// When it began.
    pub started_at: DateTime<Utc>,
    /// When it ended; `None`: still running, or killed.
    pub finished_at: Option<DateTime<Utc>>,
    /// Its numbers; all zero while running.
    pub numbers: SweepNumbers,
}

/// What is known about one condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionRow {
    /// What it is about.
    pub subject: Subject,
    /// What is known.
    pub state: State,
    /// Since when that is so.
    pub since: DateTime<Utc>,
    /// One sentence for a person.
    pub summary: String,
}

/// What is known about every condition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conditions {
    /// When somebody last looked; `None`: nobody ever did.
    pub checked_at: Option<DateTime<Utc>>,
    /// One row each, in the order of their names.
    pub rows: Vec<ConditionRow>,
}

/// How GitHub's attempts of a while fared. Those without a code yet are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AttemptCount {
    /// Whether any had a 2xx code; the failed ones are then not counted.
    pub succeeded: bool,
    /// Those without.
    pub failed: u64,
    /// When the oldest of them was made.
    pub failing_since: Option<DateTime<Utc>>,
    /// The code of the newest.
    pub newest_code: Option<i32>,
}
