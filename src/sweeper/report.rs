//! What a sweep says at its end: the object of `sweep --json`, and how the sweep ended.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde::Serialize;

use crate::{
    domain::{
        delivery::{Outcome, words},
        ids::{AttemptId, Guid, HookName},
    },
    store::types::{SweepNumbers, SweepRow},
};

/// How a sweep ended, the worst last; decides exit codes and the metric label `result`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Ending {
    /// Everything was read, and everything due and allowed was asked.
    #[default]
    Complete,
    /// The page budget left a rest of the list for the next passes.
    Partial,
    /// A shutdown stopped it between two steps.
    Stopped,
    /// A limit stopped it.
    RateLimited,
    /// The list or the store failed.
    Failed,
    /// What answered is not the API, or has no such App: `api_url` is wrong.
    Misconfigured,
    /// GitHub refused the credential.
    Unauthorized,
}

words!(Ending {
    Complete = "complete",
    Partial = "partial",
    Stopped = "stopped",
    RateLimited = "rate_limited",
    Failed = "failed",
    Misconfigured = "misconfigured",
    Unauthorized = "unauthorized",
});

/// One finished sweep: SPEC section 10, `sweep --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SweepReport {
    /// The hook's name.
    pub hook: String,
    /// `startup`, `scheduled` or `manual`.
    pub trigger: String,
    /// Whether nothing was to be changed at GitHub.
    pub dry_run: bool,
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
    /// When it began; RFC 3339, UTC.
    pub started_at: String,
    /// How long it took.
    pub duration_ms: u64,
    /// What was asked, or would be.
    pub requests: Vec<RequestReport>,
    /// How it ended.
    #[serde(skip)]
    pub ending: Ending,
}

/// One request of a sweep, or one that a dry run would make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestReport {
    /// The delivery.
    pub guid: String,
    /// The attempt to repeat, as a string: it does not fit a floating-point number.
    pub attempt_id: String,
    /// Which request of this delivery it is.
    pub nth: u32,
    /// Why: the reason of the verdict, or `by_hand`.
    pub reason: &'static str,
    /// `accepted`, `refused`, `ambiguous`, `deferred` or `planned`.
    pub outcome: &'static str,
    /// GitHub's words, where there are any.
    pub detail: Option<String>,
}

/// The outcome word of a request that a dry run did not make.
pub(super) const PLANNED: &str = "planned";

impl RequestReport {
    pub(super) fn new(guid: &Guid, attempt: AttemptId, nth: u32, reason: &'static str) -> Self {
        Self {
            guid: guid.to_string(),
            attempt_id: attempt.to_string(),
            nth,
            reason,
            outcome: PLANNED,
            detail: None,
        }
    }

    pub(super) fn concluded(mut self, outcome: Outcome, detail: Option<String>) -> Self {
        self.outcome = outcome.shown();
        self.detail = detail;
        self
    }
}

/// What a sweep knows of itself when it ends, beside its numbers.
pub(super) struct Header<'a> {
    pub(super) hook: &'a HookName,
    pub(super) trigger: &'a str,
    pub(super) dry_run: bool,
    pub(super) started_at: DateTime<Utc>,
    pub(super) duration_ms: u64,
}

impl SweepReport {
    pub(super) fn new(
        header: &Header<'_>,
        numbers: &SweepNumbers,
        requests: Vec<RequestReport>,
        ending: Ending,
    ) -> Self {
        Self {
            hook: header.hook.to_string(),
            trigger: header.trigger.to_owned(),
            dry_run: header.dry_run,
            complete: numbers.complete,
            listed: numbers.listed,
            new_attempts: numbers.new_attempts,
            unreadable: numbers.unreadable,
            api_calls: numbers.api_calls,
            due: numbers.due,
            requested: numbers.requested,
            deferred: numbers.deferred,
            fetched: numbers.fetched,
            missing: numbers.missing,
            lost: numbers.lost,
            adopted: numbers.adopted,
            error: numbers.error.clone(),
            started_at: header.started_at.to_rfc3339_opts(SecondsFormat::Micros, true),
            duration_ms: header.duration_ms,
            requests,
            ending,
        }
    }
}

impl SweepReport {
    /// A sweep of the past as far as its row tells: without its requests, and its duration zero
    /// while it runs or when it was killed.
    #[must_use]
    pub fn from_history(row: &SweepRow) -> Self {
        let took = row.finished_at.map_or_else(TimeDelta::zero, |at| at - row.started_at);
        let header = Header {
            hook: &row.hook,
            trigger: &row.trigger,
            dry_run: row.dry_run,
            started_at: row.started_at,
            duration_ms: u64::try_from(took.num_milliseconds()).unwrap_or_default(),
        };
        let ending = match (&row.numbers.error, row.numbers.complete) {
            (Some(_), _) => Ending::Failed,
            (None, true) => Ending::Complete,
            (None, false) => Ending::Partial,
        };
        Self::new(&header, &row.numbers, Vec::new(), ending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_has_exactly_the_promised_fields_and_ids_are_strings() {
        let guid = Guid::new("g-1").unwrap();
        // L1: above 2^53, so a number would be rounded by many readers.
        let attempt = AttemptId::new(3_800_000_000_000_000_123).unwrap();
        let request = RequestReport::new(&guid, attempt, 2, "unseen")
            .concluded(Outcome::Gone, Some("Not Found".to_owned()));
        let header = Header {
            hook: &HookName::new("ci").unwrap(),
            trigger: "manual",
            dry_run: false,
            started_at: "2026-11-30T12:00:00Z".parse().unwrap(),
            duration_ms: 12,
        };
        let report =
            SweepReport::new(&header, &SweepNumbers::default(), vec![request], Ending::Partial);
        let json = serde_json::to_value(&report).unwrap();
        let mut fields: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        let mut promised = vec![
            "hook",
            "trigger",
            "dry_run",
            "complete",
            "listed",
            "new_attempts",
            "unreadable",
            "api_calls",
            "due",
            "requested",
            "deferred",
            "fetched",
            "missing",
            "lost",
            "adopted",
            "error",
            "started_at",
            "duration_ms",
            "requests",
        ];
        promised.sort_unstable();
        assert_eq!(fields, promised);
        assert_eq!(
            json["requests"][0],
            serde_json::json!({
                "guid": "g-1",
                "attempt_id": "3800000000000000123",
                "nth": 2,
                "reason": "unseen",
                "outcome": "refused",
                "detail": "Not Found",
            })
        );
        assert_eq!(json["started_at"], "2026-11-30T12:00:00.000000Z");
    }
}
