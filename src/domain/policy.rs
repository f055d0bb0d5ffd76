//! What the operator decided about one hook, and what we know about the hook as a whole.

use chrono::{DateTime, TimeDelta, Utc};

use super::{clock_offset::ClockOffset, delivery::words, filter::Filter};

/// The configured rules for one hook. All durations are positive.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Which witness settles a delivery.
    pub trust: Trust,
    /// How a missing delivery is brought back.
    pub repair: Repair,
    /// Which events matter.
    pub filter: Filter,
    /// How far back GitHub lists and redelivers: 3 days on github.com, 7 on GHES (GITHUB.md section 3).
    pub window: TimeDelta,
    /// How old the newest attempt must be before we conclude anything from it.
    pub settle: TimeDelta,
    /// How long a requested attempt may take to appear in the list.
    pub confirm_within: TimeDelta,
    /// `backoff[n-1]` is the wait after the nth request; the last value repeats. Never empty.
    pub backoff: Vec<TimeDelta>,
    /// Requests per delivery, probes of a dead endpoint not counted.
    pub max_redeliveries: u32,
    /// Requests in one sweep while the endpoint is not known to be well.
    pub probes: u32,
    /// Requests in one sweep at most.
    pub max_requests: u32,
}

/// What is known of a hook as a whole when its deliveries are judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// When our receiver first recorded for this hook, by our clock. `None`: never, so GitHub's word
    /// decides.
    pub recording_since: Option<DateTime<Utc>>,
    /// What was first attempted before this, by the clock that is behind, is not asked for unless by hand.
    /// `None`: not adopted yet.
    pub adopted_at: Option<DateTime<Utc>>,
    /// Whether the endpoint is judged able to receive.
    pub endpoint: Endpoint,
    /// GitHub's clock minus ours.
    pub clock_offset: ClockOffset,
}

/// The judgement about the hook's endpoint, made in `plan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// Nothing speaks against asking.
    Up,
    /// None of the last requests arrived. Probes go out from `next_probe_at` on.
    Down {
        /// When the next probes are allowed.
        next_probe_at: DateTime<Utc>,
    },
}

/// Which witness settles a delivery (SPEC section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trust {
    /// A receipt settles; GitHub's OK alone does not.
    Receipt,
    /// A 2xx attempt settles.
    Github,
    /// Needs both.
    Both,
}

/// How a missing delivery is brought back (SPEC section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Repair {
    /// Ask GitHub to send it again.
    Redeliver,
    /// Read it through the API.
    Fetch,
    /// Ask; once asking has not helped twice, read it through the API.
    RedeliverThenFetch,
}

words!(Trust { Receipt = "receipt", Github = "github", Both = "both" });
words!(Repair {
    Redeliver = "redeliver",
    Fetch = "fetch",
    RedeliverThenFetch = "redeliver_then_fetch",
});
