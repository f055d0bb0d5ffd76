//! What `[sweep]` means: the rhythm of passes, and the rules that go into every hook's policy.

use std::time::Duration;

use chrono::TimeDelta;

use super::{
    Sweep,
    checker::{Check, delta},
    cron, raw,
    read::At,
};

/// The part of `[sweep]` that goes into every hook's policy.
#[derive(Clone)]
pub(super) struct SweepRules {
    pub(super) settle: TimeDelta,
    pub(super) confirm_within: TimeDelta,
    pub(super) backoff: Vec<TimeDelta>,
    pub(super) max_redeliveries: u32,
    pub(super) probes: u32,
    pub(super) max_requests: u32,
}

/// The section itself, and the rules for the hooks; `None`: problems were noted.
pub(super) fn sweep(
    check: &mut Check<'_>,
    at: &At,
    raw: raw::Sweep,
) -> Option<(Sweep, SweepRules)> {
    let schedule = check.need(at, "schedule", raw.schedule);
    let schedule = schedule.and_then(|text| match cron::period(&text) {
        Ok(period) => Some((text, period)),
        Err(wrong) => check.wrong(at, "schedule", Some(&text), wrong),
    });
    let settle = check.positive(at, "settle", raw.settle);
    let confirm_within = check.positive(at, "confirm_within", raw.confirm_within);
    let overlap = check.span(at, "overlap", raw.overlap);
    let recheck_every = check.positive(at, "recheck_every", raw.recheck_every);
    let recheck_back = check.span(at, "recheck_back", raw.recheck_back);
    let backoff = check.backoff(at, raw.backoff);
    let max_redeliveries = check.between(at, "max_redeliveries", raw.max_redeliveries, 1, 1000);
    let lease = check.span(at, "lease", raw.lease);
    let min_interval = check.span(at, "min_interval", raw.min_interval);
    let max_requests = check.between(at, "max_requests", raw.max_requests, 1, u32::MAX);
    // A pass needs one page for the head and one for the rest.
    let max_pages = check.between(at, "max_pages", raw.max_pages, 2, u32::MAX);
    let probes = check.between(at, "probes", raw.probes, 1, u32::MAX);
    if lease.is_some_and(|lease| lease < Duration::from_secs(10)) {
        check.error(at, "lease", "is too short to be renewed in time", "at least \"10s\"");
    }
    let rules = SweepRules {
        settle: delta(settle?),
        confirm_within: delta(confirm_within?),
        backoff: backoff?.into_iter().map(delta).collect(),
        max_redeliveries: max_redeliveries?,
        probes: probes?,
        max_requests: max_requests?,
    };
    let (schedule, period) = schedule?;
    let sweep = Sweep {
        schedule,
        period,
        overlap: delta(overlap?),
        recheck_every: delta(recheck_every?),
        recheck_back: delta(recheck_back?),
        lease: lease?,
        min_interval: min_interval?,
        max_pages: max_pages?,
    };
    Some((sweep, rules))
}
