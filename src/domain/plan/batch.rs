//! What became of the deliveries that were asked for last: the evidence for the slow start.

use chrono::{DateTime, Utc};

use crate::domain::{
    attempt::Attempt,
    delivery::{Delivery, Means, Outcome, Redelivery, Via},
    later,
    policy::{Policy, Repair, Standing, Trust},
    verdict::{Verdict, judge},
};

/// What became of one batch, in deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BatchFacts {
    /// Settled since, by what the endpoint took.
    pub arrived: u32,
    /// Attempted again without arriving, or never attempted within `confirm_within`.
    pub failed: u32,
    /// Not known yet.
    pub pending: u32,
    /// Refused by GitHub, or not readable through its API: no word on the endpoint.
    pub refused: u32,
    /// The newest arrival on the whole hook by the witness in force; the caller's to fill in.
    /// `None`: none known.
    pub fresh_arrival: Option<DateTime<Utc>>,
}

/// Classifies the deliveries that were asked for since `since`, each by its last request.
/// Deliveries whose requests since then were all deferred, those nobody wants any more, and those
/// that were settled by reading them through the API are no evidence. `fresh_arrival` stays `None`.
#[must_use]
pub fn batch_facts(
    deliveries: &[Delivery],
    since: DateTime<Utc>,
    policy: &Policy,
    standing: &Standing,
    now: DateTime<Utc>,
) -> BatchFacts {
    let mut facts = BatchFacts::default();
    for delivery in deliveries {
        let asked = delivery.requests().filter(|r| r.asked_at >= since).max_by_key(|r| r.nth);
        let Some(asked) = asked else { continue };
        match judge(delivery, policy, standing, now) {
            Verdict::Settled(_) if tells_of_endpoint(delivery, policy) => facts.arrived += 1,
            Verdict::Settled(_) | Verdict::Excused(_) => {}
            Verdict::Waiting { .. } | Verdict::Due { .. } | Verdict::Abandoned(_) => {
                match unsettled(delivery, asked, policy, now) {
                    Fate::Failed => facts.failed += 1,
                    Fate::Pending => facts.pending += 1,
                    Fate::Refused => facts.refused += 1,
                }
            }
        }
    }
    facts
}

/// Whether a settled delivery says that asking works. What was read through the API never touched
/// the endpoint, so a dead one would look well; where everything is read, there is no endpoint.
fn tells_of_endpoint(delivery: &Delivery, policy: &Policy) -> bool {
    let read = delivery.receipt.as_ref().is_some_and(|receipt| receipt.via == Via::Api);
    let github_saw =
        policy.trust == Trust::Github && delivery.attempts.iter().any(Attempt::succeeded);
    !read || github_saw || policy.repair == Repair::Fetch
}

/// What became of a request whose delivery has not arrived.
enum Fate {
    Failed,
    Pending,
    Refused,
}

fn unsettled(delivery: &Delivery, asked: &Redelivery, policy: &Policy, now: DateTime<Utc>) -> Fate {
    let refused = match asked.outcome {
        Outcome::Gone | Outcome::Refused => true,
        Outcome::Intended | Outcome::Accepted | Outcome::Ambiguous | Outcome::Deferred => false,
    };
    // A fetch never touches the endpoint.
    if refused || asked.means == Means::Fetch {
        return Fate::Refused;
    }
    // A newer attempt with a code has been answered: even a 2xx is a failure here, because the
    // witness in force did not see it arrive.
    let answered = delivery.newest().is_some_and(|a| a.id != asked.attempt && a.code.is_some());
    if answered || later(asked.asked_at, policy.confirm_within) <= now {
        Fate::Failed
    } else {
        Fate::Pending
    }
}
