//! One request to GitHub: the intent is committed, then it is sent, then its outcome is committed.

use super::{Sweeper, calls::Answer, report::RequestReport};
use crate::{
    domain::{
        clock_offset::ClockOffset,
        delivery::{Delivery, Means, Outcome},
        ids::AttemptId,
        policy::Repair,
    },
    github::GitHubError,
    store::{
        StoreError,
        types::{Intent, Lease},
    },
    telemetry::OutcomeLabel,
};

/// What is asked, and on whose behalf.
pub(super) struct Ask<'a> {
    pub(super) delivery: &'a Delivery,
    pub(super) attempt: AttemptId,
    pub(super) means: Means,
    pub(super) probe: bool,
    pub(super) clock: ClockOffset,
    /// The reason's word, for log and report.
    pub(super) reason: &'static str,
    /// The sweep that asks, with its fence; `None`: a person.
    pub(super) sweep: Option<(i64, &'a Lease)>,
}

/// What became of it.
pub(super) struct Asked {
    pub(super) report: RequestReport,
    pub(super) means: Means,
    pub(super) outcome: Outcome,
    pub(super) calls: u32,
    /// GitHub's failure, for the caller to draw conclusions beyond this one delivery.
    pub(super) error: Option<GitHubError>,
}

impl Sweeper {
    /// Asks once and never again by itself. A kill at any point leaves either nothing or an
    /// intent, which counts as asked.
    pub(super) async fn ask(&self, ask: &Ask<'_>) -> Result<Asked, StoreError> {
        let hook = &self.settings.hook.name;
        let guid = &ask.delivery.guid;
        let intent = Intent {
            hook: hook.clone(),
            guid: guid.clone(),
            means: ask.means,
            attempt: ask.attempt,
            probe: ask.probe,
            sweep: ask.sweep.map(|(id, _)| id),
            asked_at: self.clock.now(),
        };
        let nth = self.store.intend(&intent, ask.sweep.map(|(_, lease)| lease)).await?;
        let (answer, calls) = match ask.means {
            Means::Redeliver => self.redeliver(ask.attempt).await,
            Means::Fetch => self.fetch(ask).await?,
        };
        let (outcome, error) = match answer {
            Ok(()) => (Outcome::Accepted, None),
            Err(error) => (self.outcome(ask, &error), Some(error)),
        };
        let detail = error.as_ref().map(ToString::to_string);
        let now = self.clock.now();
        self.store.conclude(hook, guid, nth, outcome, detail.as_deref(), now).await?;
        if let Some(error) = &error {
            self.remember_limit(error).await?;
        }
        self.tell(ask, nth, outcome, detail.as_deref());
        let report =
            RequestReport::new(guid, ask.attempt, nth, ask.reason).concluded(outcome, detail);
        Ok(Asked { report, means: ask.means, outcome, calls, error })
    }

    /// What a failed request means for its delivery.
    fn outcome(&self, ask: &Ask<'_>, error: &GitHubError) -> Outcome {
        let outcome = outcome(error);
        let repair = self.settings.hook.policy.repair;
        let fresh = ask.delivery.newest().is_some_and(|newest| {
            self.clock.now() - ask.clock.to_ours(newest.delivered_at)
                < self.settings.hook.policy.confirm_within
        });
        match (outcome, ask.means) {
            // A fresh id may be unknown to the detail call for some seconds (L23). And that GitHub has
            // no payload to read does not mean that it cannot send it again.
            (Outcome::Gone, Means::Fetch) if fresh || repair != Repair::Fetch => Outcome::Refused,
            _ => outcome,
        }
    }

    fn tell(&self, ask: &Ask<'_>, nth: u32, outcome: Outcome, detail: Option<&str>) {
        let hook = self.settings.hook.name.to_string();
        tracing::info!(
            hook,
            delivery.guid = %ask.delivery.guid,
            attempt.id = %ask.attempt,
            redelivery.nth = nth,
            redelivery.means = ask.means.as_str(),
            redelivery.outcome = outcome.shown(),
            reason = ask.reason,
            detail,
            "asked GitHub"
        );
        if ask.means == Means::Redeliver {
            let label = OutcomeLabel { hook, outcome: outcome.shown().to_owned() };
            self.metrics.redeliveries.get_or_create(&label).inc();
        }
    }

    async fn fetch(&self, ask: &Ask<'_>) -> Result<Answer<()>, StoreError> {
        let (answer, calls) = self.detail(ask.attempt).await;
        let taken = match answer {
            Ok(detail) => self.take_in(ask.delivery, detail).await?,
            Err(error) => Err(error),
        };
        Ok((taken, calls))
    }
}

/// What a failed request means: only what surely was not taken counts as never asked.
fn outcome(error: &GitHubError) -> Outcome {
    match error {
        // A 403 can be about one delivery, for the list was read with the same credential. It counts and
        // is followed by a wait, lest it stand before the others for ever.
        GitHubError::Unauthorized { status: 403, .. }
        | GitHubError::Refused { .. }
        | GitHubError::BadCursor { .. }
        | GitHubError::ForeignLink { .. } => Outcome::Refused,
        GitHubError::RateLimited { .. }
        | GitHubError::Unauthorized { .. }
        | GitHubError::Unavailable { .. } => Outcome::Deferred,
        GitHubError::Gone { .. } => Outcome::Gone,
        // Another answer to the same question is no nearer, so it counts and is followed by a wait.
        GitHubError::Ambiguous { .. } | GitHubError::Failing { .. } => Outcome::Ambiguous,
    }
}
