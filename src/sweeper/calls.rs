//! Every call to GitHub, counted and measured, and the memory of its limits.

use std::sync::atomic::Ordering;

use chrono::{DateTime, Utc};

use super::{Pass, Sweeper, limits::quiet_until, report::Ending};
use crate::{
    domain::ids::AttemptId,
    github::{Detail, Failure, GitHubError, Meta, Page, PageRef},
    store::StoreError,
    telemetry::{CallLabel, HookLabel},
};

/// An answer, and how many HTTP requests it took.
pub(super) type Answer<T> = (Result<T, GitHubError>, u32);

impl Sweeper {
    pub(super) async fn list(&self, page: &PageRef) -> Answer<Page> {
        let answer = self.client.list_attempts(page).await;
        let calls = self.note("list", answer.as_ref().map(|page| &page.meta));
        (answer.map_err(|failure| failure.error), calls)
    }

    pub(super) async fn redeliver(&self, attempt: AttemptId) -> Answer<()> {
        let answer = self.client.redeliver(attempt).await;
        let calls = self.note("redeliver", answer.as_ref());
        (answer.map(|_meta| ()).map_err(|failure| failure.error), calls)
    }

    pub(super) async fn detail(&self, attempt: AttemptId) -> Answer<Detail> {
        let answer = self.client.detail(attempt).await;
        let calls = self.note("detail", answer.as_ref().map(|(_, meta)| meta));
        (answer.map(|(detail, _meta)| detail).map_err(|failure| failure.error), calls)
    }

    /// Counts the requests of one call under its result, those of its retries included.
    fn note(&self, call: &str, answer: Result<&Meta, &Failure>) -> u32 {
        let hook = self.settings.hook.name.to_string();
        let (result, calls) = match answer {
            Ok(meta) => {
                let label = HookLabel { hook: hook.clone() };
                if let Some(remaining) = meta.remaining {
                    self.metrics.github_ratelimit_remaining.get_or_create(&label).set(remaining);
                }
                if let Some(offset) = meta.clock_offset {
                    let seconds = offset.as_seconds_f64();
                    self.metrics.github_clock_offset_seconds.get_or_create(&label).set(seconds);
                }
                ("ok", meta.calls)
            }
            Err(Failure { error, calls, .. }) => (word(error), *calls),
        };
        let label = CallLabel { hook, call: call.to_owned(), result: result.to_owned() };
        self.metrics.github_api_calls.get_or_create(&label).inc_by(u64::from(calls));
        calls
    }

    /// Until when the credential must not be used; `None`: it may be.
    pub(super) async fn limited(
        &self,
        now: DateTime<Utc>,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.store.limit(&self.settings.credential, now).await
    }

    /// Remembers a limit for everybody who uses this credential.
    pub(super) async fn remember_limit(&self, error: &GitHubError) -> Result<(), StoreError> {
        let GitHubError::RateLimited { until: told, .. } = error else { return Ok(()) };
        let streak = self.limit_streak.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let now = self.clock.now();
        let until = quiet_until(*told, streak, now);
        self.store.set_limit(&self.settings.credential, until, now).await
    }
}

impl Pass<'_> {
    /// Whether GitHub may be called at all; if not, the report says until when.
    pub(super) async fn may_call(&mut self) -> Result<bool, StoreError> {
        let Some(until) = self.sweeper.limited(self.now).await? else { return Ok(true) };
        self.tally.stop(Ending::RateLimited, limit_message(until));
        Ok(false)
    }

    /// Ends the series of limits, once a sweep called GitHub and met none.
    pub(super) fn settle_limits(&self) {
        if self.tally.numbers.api_calls > 0 && self.tally.ending != Ending::RateLimited {
            self.sweeper.limit_streak.store(0, Ordering::Relaxed);
        }
    }

    /// A failed call that ends what this sweep does at GitHub.
    pub(super) async fn failed(&mut self, error: &GitHubError) -> Result<(), StoreError> {
        self.tally.stop(ending(error), error.to_string());
        self.sweeper.remember_limit(error).await
    }
}

pub(super) fn limit_message(until: DateTime<Utc>) -> String {
    format!("GitHub's rate limit is reached until {until}; nothing is sent before")
}

pub(super) fn ending(error: &GitHubError) -> Ending {
    match error {
        GitHubError::RateLimited { .. } => Ending::RateLimited,
        GitHubError::Unauthorized { .. } => Ending::Unauthorized,
        GitHubError::Refused { .. } => Ending::Misconfigured,
        GitHubError::Gone { .. }
        | GitHubError::BadCursor { .. }
        | GitHubError::Ambiguous { .. }
        | GitHubError::Failing { .. }
        | GitHubError::Unavailable { .. }
        | GitHubError::ForeignLink { .. } => Ending::Failed,
    }
}

/// The metric label `result`.
fn word(error: &GitHubError) -> &'static str {
    match error {
        GitHubError::RateLimited { .. } => "rate_limited",
        GitHubError::Unauthorized { .. } => "unauthorized",
        GitHubError::Gone { .. } => "gone",
        GitHubError::BadCursor { .. } => "bad_cursor",
        GitHubError::Refused { .. } => "refused",
        GitHubError::Ambiguous { .. } => "ambiguous",
        GitHubError::Failing { .. } => "failing",
        GitHubError::Unavailable { .. } => "unavailable",
        GitHubError::ForeignLink { .. } => "foreign_link",
    }
}
