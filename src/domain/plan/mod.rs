//! Which due deliveries are asked for now, in which order, and which wait: budget, slow start, probes.

mod batch;
#[cfg(test)]
mod drill;
mod ramp;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};

pub use self::{
    batch::{BatchFacts, batch_facts},
    ramp::{Down, Ramp},
};
use super::{
    ids::{AttemptId, Guid},
    later,
    policy::{Endpoint, Policy},
};

/// Sweeps do not begin on the tick: without this slack a pause of one period would skip a sweep
/// whenever the next one begins some milliseconds earlier after its tick.
const TICK_JITTER: TimeDelta = TimeDelta::seconds(1);

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

/// What is done with each candidate: every GUID stands in exactly one of the lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// To be asked for now, in this order. They are probes exactly when the endpoint is judged down.
    pub ask: Vec<Candidate>,
    /// Due, and left for a later sweep by the budget or the slow start.
    pub deferred: Vec<Candidate>,
    /// Waiting until the endpoint, judged down, shows a sign of life.
    pub held_back: Vec<Candidate>,
}

/// Distributes the due deliveries of one sweep. Those nearest to the end of their window go first,
/// because they cannot wait. Of several candidates with one GUID the first counts.
///
/// Probes are chosen by the fewest requests first: probes use up no attempts, so a delivery that
/// can never succeed would otherwise be probed for ever while the others wait behind it.
#[must_use]
pub fn plan(candidates: Vec<Candidate>, ramp: &Ramp, policy: &Policy, now: DateTime<Utc>) -> Plan {
    let mut seen = BTreeSet::new();
    let mut queue = candidates;
    queue.retain(|candidate| seen.insert(candidate.guid.clone()));
    queue.sort_by(|a, b| (a.expires_at, &a.guid).cmp(&(b.expires_at, &b.guid)));
    match ramp.endpoint() {
        Endpoint::Up => {
            let deferred = split(&mut queue, ramp.allowance.min(policy.max_requests));
            Plan { ask: queue, deferred, held_back: Vec::new() }
        }
        Endpoint::Down { next_probe_at } => {
            queue.sort_by_key(|candidate| candidate.nth);
            let allowed = next_probe_at <= later(now, TICK_JITTER);
            let probes = if allowed { ramp::slow_start(policy) } else { 0 };
            let held_back = split(&mut queue, probes);
            Plan { ask: queue, deferred: Vec::new(), held_back }
        }
    }
}

/// Leaves at most `keep` in the queue and returns the rest.
fn split(queue: &mut Vec<Candidate>, keep: u32) -> Vec<Candidate> {
    let keep = usize::try_from(keep).unwrap_or(usize::MAX).min(queue.len());
    queue.split_off(keep)
}
