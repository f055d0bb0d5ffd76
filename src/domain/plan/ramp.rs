//! How fast a hook may be repaired: the slow start, and the pause between probes of a dead endpoint.

use chrono::{DateTime, TimeDelta, Utc};

use super::BatchFacts;
use crate::domain::{
    later,
    policy::{Endpoint, Policy},
};

/// The longest pause between probes, if sweeps come that often.
const LONGEST_PAUSE: TimeDelta = TimeDelta::minutes(10);

/// How fast a hook's repair may go; stored per hook between sweeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ramp {
    /// Requests allowed in the next sweep while the endpoint is up.
    pub allowance: u32,
    /// When the first request of the batch under observation was made. `None`: nothing asked since
    /// the ramp began or since the last batch was judged.
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

/// What a sweep may ask while nothing is known of the endpoint; never nothing, or no repair began.
pub(super) fn slow_start(policy: &Policy) -> u32 {
    policy.probes.max(1).min(policy.max_requests)
}

impl Ramp {
    /// The slow start.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        Self { allowance: slow_start(policy), last_batch_at: None, down: None }
    }

    /// The endpoint as deliveries are judged by it.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        match &self.down {
            Some(down) => Endpoint::Down { next_probe_at: down.next_probe_at },
            None => Endpoint::Up,
        }
    }

    /// An arrival after this says that the endpoint is well. `None`: nobody needs to know.
    #[must_use]
    pub fn reference(&self) -> Option<DateTime<Utc>> {
        self.down.as_ref().map(|down| down.since).or(self.last_batch_at)
    }

    /// Learns from the batch asked since `last_batch_at`; called once at the start of a sweep.
    /// `period` is the time between two sweeps, the first pause.
    ///
    /// A batch is judged when something of it arrived, when nothing of it is pending, or when it had
    /// `confirm_within` to arrive; then it is forgotten, so that it counts once. Refusals by GitHub
    /// say nothing of the endpoint: they stop the growth and no more.
    #[must_use]
    pub fn observe(
        self,
        batch: &BatchFacts,
        policy: &Policy,
        period: TimeDelta,
        now: DateTime<Utc>,
    ) -> Self {
        if batch.arrived > 0 {
            let allowance =
                self.allowance.saturating_mul(2).clamp(slow_start(policy), policy.max_requests);
            return Self { allowance, last_batch_at: None, down: None };
        }
        let had_time = self.last_batch_at.is_some_and(|at| later(at, policy.confirm_within) <= now);
        let undecided = batch.pending > 0 && !had_time;
        let last_batch_at = if undecided { self.last_batch_at } else { None };
        let nothing_came = !undecided && batch.failed + batch.pending > 0;

        // Fresh deliveries that arrive prove the endpoint well, whatever became of the batch; but
        // one of them is no licence for a burst.
        let alive = self.reference().is_some_and(|since| batch.fresh_arrival > Some(since));
        if alive && (self.down.is_some() || nothing_came) {
            return Self { allowance: slow_start(policy), last_batch_at, down: None };
        }
        if nothing_came {
            let down = Some(Down::again(self.down, period, now));
            return Self { allowance: slow_start(policy), last_batch_at, down };
        }
        let allowance = if batch.refused > 0 && !undecided {
            slow_start(policy)
        } else {
            self.allowance.min(policy.max_requests)
        };
        Self { allowance, last_batch_at, down: self.down }
    }

    /// Notes that requests were made, the first of them at `first_asked_at`. While an earlier batch
    /// is undecided they join it. Probes also begin a new pause, lest each sweep probe again while
    /// the answer is pending.
    #[must_use]
    pub fn asked(self, first_asked_at: DateTime<Utc>) -> Self {
        let down = self.down.map(|down| {
            let next_probe_at = down.next_probe_at.max(later(first_asked_at, down.pause));
            Down { next_probe_at, ..down }
        });
        let last_batch_at =
            self.last_batch_at.map_or(first_asked_at, |earlier| earlier.min(first_asked_at));
        Self { last_batch_at: Some(last_batch_at), down, ..self }
    }

    /// Back to the slow start, for a sweep that found nothing due. An undecided batch is kept, and
    /// so is `down`: nothing may be due just because everything is in backoff.
    #[must_use]
    pub fn rest(self, policy: &Policy) -> Self {
        if self.last_batch_at.is_none() {
            Self { down: self.down, ..Self::new(policy) }
        } else {
            self
        }
    }
}

impl Down {
    /// Judged down for the first time, or once more.
    fn again(before: Option<Self>, period: TimeDelta, now: DateTime<Utc>) -> Self {
        let (since, pause) = match before {
            None => (now, period.min(LONGEST_PAUSE)),
            Some(down) => {
                let pause = down.pause.min(LONGEST_PAUSE);
                (down.since, (pause + pause).min(LONGEST_PAUSE))
            }
        };
        Self { since, next_probe_at: later(now, pause), pause }
    }
}
