//! The decision: which conditions hold, in words that a person can act on.

use chrono::{DateTime, Utc};

use super::{
    Condition, Disk, Facts, Finding, HookFacts, Look, StoreFacts, Thresholds,
    credential::authorization,
    draft::{Draft, span, time},
    handover::{dead, stalled},
    overdue_after,
    shortfall::{closing, exhausted, lost, missing},
};
use crate::domain::later;

/// Requests that must fail verification before that is more than a stranger's try.
const UNVERIFIED: u64 = 3;

/// Every condition of every hook and of the daemon, in the order of [`Condition::ALL`].
#[must_use]
pub fn assess(facts: &Facts, thresholds: &Thresholds, now: DateTime<Utc>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for hook in &facts.hooks {
        findings.extend([
            missing(hook, thresholds),
            closing(hook),
            lost(hook),
            exhausted(hook),
            endpoint(hook, now),
            overdue(hook, thresholds, facts.able_since, now),
            authorization(hook),
            signatures(hook, facts.started_at, now),
            silence(hook, thresholds, now),
            dead(hook),
            stalled(hook, now),
        ]);
    }
    findings.extend([store(&facts.store), disk(&facts.disk)]);
    findings.sort_by_key(|finding| finding.subject.condition);
    findings
}

fn endpoint(hook: &HookFacts, now: DateTime<Utc>) -> Finding {
    let name = &hook.name;
    let draft = Draft::of(name, Condition::EndpointFailing, "redeliverd doctor");
    // The list tells of attempts only as far as it was read.
    let unread = match &hook.complete_at {
        Ok(Some(at)) if later(*at, HookFacts::ATTEMPTS_BACK) > now => None,
        Ok(_) => Some("GitHub's list was not read to its end lately"),
        Err(why) => Some(why.as_str()),
    };
    match &hook.attempts {
        Err(why) => draft.unknown("how attempts fare", why),
        Ok(attempts) if attempts.succeeded => {
            draft.resolved("recent attempts reached the endpoint")
        }
        Ok(attempts) if attempts.failed > 0 => {
            let code = attempts
                .newest_code
                .map_or_else(String::new, |code| format!(", the newest with code {code}"));
            let since = attempts
                .failing_since
                .map_or_else(String::new, |at| format!(" (from {} on)", time(at)));
            let mut finding = draft.fires(format!(
                "every attempt by GitHub on hook {name} in the last {}{since} failed: {}{code}; \
                 check that the receiver is reachable at the URL that GitHub has",
                span(HookFacts::ATTEMPTS_BACK),
                attempts.failed,
            ));
            finding.count = attempts.failed;
            finding.oldest = attempts.failing_since;
            finding
        }
        Ok(_) => match unread {
            Some(why) => draft.unknown("how attempts fare", why),
            None => draft.resolved("no attempt failed lately"),
        },
    }
}

fn overdue(
    hook: &HookFacts,
    thresholds: &Thresholds,
    able_since: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Finding {
    let name = &hook.name;
    let draft = Draft::of(name, Condition::SweepOverdue, format!("redeliverd sweep --hook {name}"));
    let complete_at = match &hook.complete_at {
        Err(why) => return draft.unknown("when the last complete sweep was", why),
        Ok(at) => *at,
    };
    // Whoever was stopped, or had no store, needs the time to sweep again.
    let since = complete_at.map_or(able_since, |at| at.max(able_since));
    if now - since <= overdue_after(thresholds.period) {
        return draft.resolved("sweeps end in time");
    }
    let last = complete_at
        .map_or_else(|| "there was none yet".to_owned(), |at| format!("the last at {}", time(at)));
    let error = match &hook.last_sweep {
        Ok(Some(sweep)) => {
            sweep.error.as_ref().map_or_else(String::new, |error| format!("; {error}"))
        }
        Ok(None) | Err(_) => String::new(),
    };
    let mut finding = draft.fires(format!(
        "no complete sweep of hook {name} within {}, {last}{error}",
        span(overdue_after(thresholds.period))
    ));
    finding.oldest = complete_at;
    finding
}

fn signatures(hook: &HookFacts, started_at: DateTime<Utc>, now: DateTime<Utc>) -> Finding {
    let name = &hook.name;
    let draft = Draft::of(name, Condition::SignatureFailures, "redeliverd doctor");
    let requests = hook.requests;
    if requests.unverified < UNVERIFIED || requests.unverified <= requests.verified {
        // A start forgets the requests before it, and cures no secret.
        if requests.verified == 0 && now - started_at < HookFacts::REQUESTS_BACK {
            return draft.unknown(
                "whether signatures match",
                "this process was started lately and has verified none yet",
            );
        }
        return draft.resolved("signatures match");
    }
    let mut finding = draft.fires(format!(
        "{} of {} requests on hook {name} in the last {} had a wrong signature; the webhook \
         secret here and at GitHub probably differ",
        requests.unverified,
        requests.unverified + requests.verified,
        span(HookFacts::REQUESTS_BACK),
    ));
    finding.count = requests.unverified;
    finding
}

fn silence(hook: &HookFacts, thresholds: &Thresholds, now: DateTime<Utc>) -> Finding {
    let name = &hook.name;
    let draft = Draft::of(name, Condition::Silence, "redeliverd doctor");
    let Some(after) = thresholds.silence_after else {
        return draft.resolved("silence_after is not set");
    };
    match &hook.last_delivery_at {
        Err(why) => draft.unknown("when something last came", why),
        Ok(None) => draft.unknown("when something last came", "nothing is recorded yet"),
        Ok(Some(at)) if now - *at <= after => draft.resolved("deliveries come"),
        Ok(Some(at)) => {
            let mut finding = draft.fires(format!(
                "nothing was delivered on hook {name} since {}; either nothing happened, or \
                 GitHub no longer sends: check that the webhook is active and has its events",
                time(*at)
            ));
            finding.oldest = Some(*at);
            finding
        }
    }
}

fn store(facts: &StoreFacts) -> Finding {
    let draft = Draft::whole(Condition::StoreFailing, "redeliverd doctor");
    match facts {
        StoreFacts::Writable => draft.resolved("the database takes writes"),
        StoreFacts::Failing(why) => draft.fires(format!(
            "the database does not take writes, so deliveries are refused and nothing is asked \
             for: {why}"
        )),
    }
}

fn disk(look: &Look<Disk>) -> Finding {
    let draft = Draft::whole(Condition::DiskLow, "redeliverd prune");
    match look {
        Err(why) => draft.unknown("free disk space", why),
        Ok(disk) if !disk.is_low() => draft.resolved("there is disk space"),
        Ok(Disk { free, total }) => draft.fires(format!(
            "{} MiB of {} MiB are free on the database's file system; when it is full, deliveries \
             are refused",
            free >> 20,
            total >> 20
        )),
    }
}
