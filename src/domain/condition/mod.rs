//! What operators are told about: conditions, judged from facts (SPEC section 9).
//!
//! A fact that could not be gathered makes a condition unknown, which is a third state: a check that
//! could not be made is not a check that passed.

mod assess;
mod credential;
mod draft;
mod facts;
mod handover;
mod lacking;
mod shortfall;
#[cfg(test)]
mod tests;

use chrono::{DateTime, TimeDelta, Utc};

pub use self::{
    assess::assess,
    facts::{
        Attempts, Disk, Facts, HookFacts, InboxFacts, LastSweep, Look, Requests, StoreFacts,
        SweepEnd,
    },
    lacking::{Group, Lacking, Shortfall},
};
use super::{
    delivery::words,
    ids::{Guid, HookName},
};

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Condition {
    /// Something has been missing for too long.
    DeliveriesMissing,
    /// A missing delivery soon leaves GitHub's window.
    WindowClosing,
    /// A delivery expired; until it is dismissed.
    DeliveriesLost,
    /// All allowed requests made, still missing.
    DeliveriesExhausted,
    /// Every recent attempt failed.
    EndpointFailing,
    /// No complete sweep for three periods.
    SweepOverdue,
    /// GitHub refuses our credential.
    GithubAuthFailing,
    /// Many requests fail verification.
    SignatureFailures,
    /// Nothing arrives at all.
    Silence,
    /// The application refused an event for good.
    DeadLetters,
    /// Events wait and none is handed over.
    HandoverStalled,
    /// The store does not take writes.
    StoreFailing,
    /// The disk is nearly full.
    DiskLow,
}

words!(Condition {
    DeliveriesMissing = "deliveries_missing",
    WindowClosing = "window_closing",
    DeliveriesLost = "deliveries_lost",
    DeliveriesExhausted = "deliveries_exhausted",
    EndpointFailing = "endpoint_failing",
    SweepOverdue = "sweep_overdue",
    GithubAuthFailing = "github_auth_failing",
    SignatureFailures = "signature_failures",
    Silence = "silence",
    DeadLetters = "dead_letters",
    HandoverStalled = "handover_stalled",
    StoreFailing = "store_failing",
    DiskLow = "disk_low",
});

/// How urgent a condition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Somebody should look today.
    Warning,
    /// Events are being lost, or soon will be.
    Critical,
}

words!(Severity { Warning = "warning", Critical = "critical" });

/// What is known about a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// It holds.
    Firing,
    /// It does not hold.
    Resolved,
    /// Nobody could look.
    Unknown,
}

words!(State { Firing = "firing", Resolved = "resolved", Unknown = "unknown" });

/// What a condition is about: itself, and the hook where there is one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject {
    /// What.
    pub condition: Condition,
    /// Whose; `None`: the whole daemon's.
    pub hook: Option<HookName>,
}

/// One assessed condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub subject: Subject,
    /// What is known.
    pub state: State,
    /// One sentence for a person: what, how many, since when; for `Unknown` what could not be seen.
    pub summary: String,
    /// How many things are concerned; zero where the condition counts nothing.
    pub count: u64,
    /// When the oldest of them happened; `None` where there is no such time.
    pub oldest: Option<DateTime<Utc>>,
    /// Up to [`GUIDS`] deliveries, the oldest first.
    pub guids: Vec<Guid>,
    /// What to run next, to look closer or to repair.
    pub command: String,
}

/// How long the last complete sweep may lie back, for a schedule with this time between two: one that
/// fails and one that is slow are no news yet.
#[must_use]
pub fn overdue_after(period: TimeDelta) -> TimeDelta {
    period * 3
}

/// Deliveries that a finding names at most.
pub const GUIDS: usize = 5;

/// From when on something is worth telling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thresholds {
    /// How long something may be missing.
    pub missing_after: TimeDelta,
    /// How close to the end of its window a missing delivery may come.
    pub closing_within: TimeDelta,
    /// How long no delivery at all may come; `None`: for ever.
    pub silence_after: Option<TimeDelta>,
    /// Time between two scheduled sweeps.
    pub period: TimeDelta,
}

impl Condition {
    /// How urgent it is.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::WindowClosing
            | Self::DeliveriesLost
            | Self::EndpointFailing
            | Self::GithubAuthFailing
            | Self::StoreFailing
            | Self::DiskLow => Severity::Critical,
            Self::DeliveriesMissing
            | Self::DeliveriesExhausted
            | Self::SweepOverdue
            | Self::SignatureFailures
            | Self::Silence
            | Self::DeadLetters
            | Self::HandoverStalled => Severity::Warning,
        }
    }
}
