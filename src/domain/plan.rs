//! Which due deliveries are asked for now, in which order, and which wait: budget, slow start, probes.

use chrono::{DateTime, TimeDelta, Utc};

use super::ids::{AttemptId, Guid};

/// One due delivery, ready to be planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The delivery.
    pub guid: Guid,
    /// The attempt to repeat.
    pub attempt: AttemptId,
    /// Which request this would be.
    pub nth: u32,
    /// End of its window: newest attempt plus window. The nearest goes first.
    pub expires_at: DateTime<Utc>,
}

/// How fast a hook's repair may go; stored per hook between sweeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ramp {
    /// Requests allowed in the next sweep while the endpoint is up.
    pub allowance: u32,
    /// When the first request of the last asking sweep was made. `None`: nothing asked since the ramp began.
    pub last_batch_at: Option<DateTime<Utc>>,
    /// Set while the endpoint is judged down.
    pub down: Option<Down>,
}

/// The endpoint is judged down: nothing of the last batch arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Down {
    /// When it was first judged down.
    pub since: DateTime<Utc>,
    /// When probes may go out again.
    pub next_probe_at: DateTime<Utc>,
    /// The present pause between probes; doubles from one sweep period to ten minutes.
    pub pause: TimeDelta,
}
