//! The sweep's settings and its books: numbers, log line, metrics and the row of history.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{
    Pass, Request,
    report::{Ending, Header, RequestReport, SweepReport},
};
use crate::{
    config,
    domain::{
        attempt::Attempt,
        clock_offset::ClockOffset,
        delivery::{Delivery, Via},
        verdict::{Excuse, Loss, Verdict},
    },
    store::{
        StoreError,
        types::{OpenDelivery, SweepNumbers},
    },
    telemetry::{HookLabel, SweepLabel, ViaLabel},
};

/// What a [`super::Sweeper`] is told once.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The hook it sweeps.
    pub hook: config::Hook,
    /// `[sweep]`.
    pub sweep: config::Sweep,
    /// Names the credential in the store, so that all its users share a limit; no secret.
    pub credential: String,
    /// Names the rules by which deliveries are closed. When it changes, they are judged again.
    pub fingerprint: String,
}

impl Settings {
    /// Derives credential name and fingerprint from the configuration.
    #[must_use]
    pub fn new(hook: config::Hook, sweep: config::Sweep) -> Self {
        let credential = hook.api.credential_name();
        // Pace and caps are looked at anew in every sweep anyway.
        let fingerprint = config::rules_fingerprint(&hook);
        Self { hook, sweep, credential, fingerprint }
    }
}

/// What a running sweep has counted so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) numbers: SweepNumbers,
    pub(super) requests: Vec<RequestReport>,
    pub(super) ending: Ending,
    /// The newest page was read: what we know is not older than this sweep.
    pub(super) head_read: bool,
    /// Attempts from before this may be unread. `None`: none.
    pub(super) unread: Option<DateTime<Utc>>,
    /// The newest attempt read in this sweep that GitHub says succeeded.
    pub(super) newest_success: Option<DateTime<Utc>>,
}

impl Tally {
    /// Notes what cut the sweep short. The first error is told, the worst ending counts.
    pub(super) fn stop(&mut self, ending: Ending, error: String) {
        self.numbers.error.get_or_insert(error);
        self.ending = self.ending.max(ending);
    }
}

/// What a new verdict means beside the verdict before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing to count.
    None,
    /// It had been missing or asked for, and is settled.
    Repaired,
    /// It expired without arriving.
    Lost,
    /// It was adopted although no attempt had succeeded.
    Adopted,
}

/// Compares the last stored (verdict, reason) with the new one.
pub(super) fn turn(open: &OpenDelivery, verdict: &Verdict) -> Turn {
    if open.judged.as_ref().is_some_and(|(v, r)| v == verdict.word() && r == verdict.reason()) {
        return Turn::None;
    }
    match verdict {
        Verdict::Settled(_)
            if open.missing_since.is_some() || open.delivery.requests().next().is_some() =>
        {
            Turn::Repaired
        }
        Verdict::Abandoned(Loss::Expired) => Turn::Lost,
        Verdict::Excused(Excuse::Adopted)
            if !open.delivery.attempts.iter().any(Attempt::succeeded) =>
        {
            Turn::Adopted
        }
        Verdict::Settled(_)
        | Verdict::Abandoned(Loss::Exhausted)
        | Verdict::Excused(_)
        | Verdict::Waiting { .. }
        | Verdict::Due { .. } => Turn::None,
    }
}

/// How and when, by our clock, a settled delivery came: by our receipt, else by GitHub's word.
fn arrival(delivery: &Delivery, clock: ClockOffset) -> Option<(Via, DateTime<Utc>)> {
    if let Some(receipt) = &delivery.receipt {
        return Some((receipt.via, receipt.received_at));
    }
    let first =
        delivery.attempts.iter().filter(|a| a.succeeded()).min_by_key(|a| a.delivered_at)?;
    let via = if first.redelivery { Via::Redelivery } else { Via::Delivery };
    Some((via, clock.to_ours(first.delivered_at)))
}

impl Pass<'_> {
    /// Counts what a new verdict means. A dry run counts in its report only, never in metrics.
    pub(super) fn count(&mut self, open: &OpenDelivery, verdict: &Verdict) {
        let metrics = (!self.request.dry_run).then_some(&self.sweeper.metrics);
        let hook = open.hook.to_string();
        match turn(open, verdict) {
            Turn::None => {}
            Turn::Adopted => self.tally.numbers.adopted += 1,
            Turn::Lost => {
                self.tally.numbers.lost += 1;
                if let Some(metrics) = metrics {
                    metrics.lost.get_or_create(&HookLabel { hook }).inc();
                }
            }
            Turn::Repaired => {
                let arrival = arrival(&open.delivery, self.clock);
                let (Some(metrics), Some((via, at))) = (metrics, arrival) else { return };
                if let Some(first) = open.delivery.first_attempt_at() {
                    let took =
                        (at - self.clock.to_ours(first)).to_std().unwrap_or_default().as_secs_f64();
                    let label = HookLabel { hook: hook.clone() };
                    metrics.repair_seconds.get_or_create(&label).observe(took);
                }
                let label = ViaLabel { hook, via: via.as_str().to_owned() };
                metrics.repaired.get_or_create(&label).inc();
            }
        }
    }

    /// Completes the row of history, writes the one log line and the metrics.
    pub(super) async fn finish(&mut self, took: Duration) -> Result<SweepReport, StoreError> {
        let Tally { mut numbers, requests, ending, .. } = std::mem::take(&mut self.tally);
        numbers.ending = Some(ending.as_str().to_owned());
        let sweeper = self.sweeper;
        let stored = sweeper.store.finish_sweep(self.id, &numbers, sweeper.clock.now()).await;
        let header = Header {
            hook: &sweeper.settings.hook.name,
            trigger: self.request.trigger.as_str(),
            dry_run: self.request.dry_run,
            started_at: self.now,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        };
        let report = SweepReport::new(&header, &numbers, requests, ending);
        log(self.id, &report);
        self.measure(&report, took);
        stored.map(|()| report)
    }

    fn measure(&self, report: &SweepReport, took: Duration) {
        let metrics = &self.sweeper.metrics;
        let Request { trigger, .. } = self.request;
        let label = HookLabel { hook: report.hook.clone() };
        metrics.sweep_duration_seconds.get_or_create(&label).observe(took.as_secs_f64());
        let label = SweepLabel {
            hook: label.hook,
            trigger: trigger.as_str().to_owned(),
            result: report.ending.as_str().to_owned(),
        };
        metrics.sweeps.get_or_create(&label).inc();
    }
}

fn log(id: i64, report: &SweepReport) {
    tracing::info!(
        sweep.id = id,
        sweep.hook = report.hook,
        sweep.trigger = report.trigger,
        sweep.result = report.ending.as_str(),
        sweep.dry_run = report.dry_run,
        sweep.complete = report.complete,
        sweep.listed = report.listed,
        sweep.new_attempts = report.new_attempts,
        sweep.unreadable = report.unreadable,
        sweep.api_calls = report.api_calls,
        sweep.due = report.due,
        sweep.requested = report.requested,
        sweep.deferred = report.deferred,
        sweep.fetched = report.fetched,
        sweep.missing = report.missing,
        sweep.lost = report.lost,
        sweep.adopted = report.adopted,
        sweep.error = report.error,
        duration_ms = report.duration_ms,
        "sweep finished"
    );
    if report.adopted > 0 {
        tracing::info!(
            sweep.hook = report.hook,
            deliveries = report.adopted,
            "deliveries from before this hook was adopted had failed and are not asked for; \
             `redeliverd sweep --since 3d` would repair them"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        attempt::Attempt,
        ids::{AttemptId, EventName, Guid, HookName},
        verdict::{Proof, Wait},
    };

    /// Failed once, and last judged as said; missing since then where that says so.
    fn open(judged: Option<(&str, &str)>, missing: bool) -> OpenDelivery {
        let at = DateTime::UNIX_EPOCH;
        let attempt = Attempt {
            id: AttemptId::new(1).unwrap(),
            delivered_at: at,
            redelivery: false,
            status: String::new(),
            code: Some(502),
        };
        OpenDelivery {
            hook: HookName::new("ci").unwrap(),
            delivery: Delivery {
                guid: Guid::new("g").unwrap(),
                event: EventName::new("push").unwrap(),
                action: None,
                installation_id: None,
                repository_id: None,
                attempts: vec![attempt],
                redeliveries: Vec::new(),
                receipt: None,
                dismissed: false,
                asked_by_hand: false,
            },
            judged: judged.map(|(verdict, reason)| (verdict.to_owned(), reason.to_owned())),
            missing_since: missing.then_some(at),
        }
    }

    #[test]
    fn only_what_had_been_missing_counts_as_repaired() {
        let settled = Verdict::Settled(Proof::Received);
        assert_eq!(turn(&open(Some(("due", "failed")), true), &settled), Turn::Repaired);
        assert_eq!(turn(&open(Some(("waiting", "grace")), false), &settled), Turn::None);
        assert_eq!(turn(&open(None, false), &settled), Turn::None);
    }

    #[test]
    fn a_loss_is_counted_once() {
        let expired = Verdict::Abandoned(Loss::Expired);
        assert_eq!(turn(&open(Some(("due", "failed")), true), &expired), Turn::Lost);
        assert_eq!(turn(&open(Some(("abandoned", "exhausted")), true), &expired), Turn::Lost);
        assert_eq!(turn(&open(Some(("abandoned", "expired")), true), &expired), Turn::None);
    }

    #[test]
    fn an_adopted_delivery_counts_unless_an_attempt_succeeded() {
        let adopted = Verdict::Excused(Excuse::Adopted);
        assert_eq!(turn(&open(None, false), &adopted), Turn::Adopted);
        let mut fine = open(None, false);
        fine.delivery.attempts[0].code = Some(200);
        assert_eq!(turn(&fine, &adopted), Turn::None);
        let backoff = Verdict::Waiting { why: Wait::Backoff, until: DateTime::UNIX_EPOCH };
        assert_eq!(turn(&open(None, false), &backoff), Turn::None);
    }

    #[test]
    fn the_first_error_is_told_and_the_worst_ending_counts() {
        let mut tally = Tally::default();
        tally.stop(Ending::Unauthorized, "first".to_owned());
        tally.stop(Ending::Stopped, "second".to_owned());
        assert_eq!(tally.numbers.error.as_deref(), Some("first"));
        assert_eq!(tally.ending, Ending::Unauthorized);
    }
}
