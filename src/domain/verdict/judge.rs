//! The thirteen questions in their order, and the choice of means for what is due.

use chrono::{DateTime, TimeDelta, Utc};

use super::{Excuse, Fault, Loss, Proof, Verdict, Wait};
use crate::domain::{
    attempt::Attempt,
    delivery::{Delivery, Means, Outcome},
    filter::Interest,
    later,
    policy::{Endpoint, Policy, Repair, Standing, Trust},
};

/// Judges one delivery. The first question that is answered with yes decides:
///
/// | # | question | verdict |
/// |--:|---|---|
/// | 1 | dismissed by an operator? | excused `dismissed` |
/// | 2 | excluded by the filter, or a ping? | excused `not_wanted` |
/// | 3 | receipt, and (where trust is `both`) a 2xx attempt? | settled `received` |
/// | 4 | a 2xx attempt, and trust is `github` or first attempted before recording began? | settled `github_ok` |
/// | 5 | first attempted before adoption, and not asked for by hand? | excused `adopted` |
/// | 6 | newest attempt younger than `settle`, or without a code yet? | waiting `grace` |
/// | 7 | asked, and no attempt newer than the one known then, within `confirm_within`? | waiting `in_flight` |
/// | 8 | newest attempt older than the window, or refused as gone? | abandoned `expired` |
/// | 9 | asked as often as allowed? | abandoned `exhausted` |
/// | 10 | backoff since the last request still running? | waiting `backoff` |
/// | 11 | endpoint judged down? | waiting `endpoint_down` |
/// | 12 | a 2xx attempt but no receipt? | due `unseen` |
/// | 13 | otherwise | due `failed` |
///
/// Attempts carry GitHub's time and the rest ours: rows 4, 6 and 8 first bring the former to our clock,
/// row 5 compares two times of GitHub's, rows 7 and 10 two of ours. So `until` is by our clock.
///
/// Row 11: a sweep judges its probes with [`Endpoint::Up`], so that they come out due.
#[must_use]
pub fn judge(
    delivery: &Delivery,
    policy: &Policy,
    standing: &Standing,
    now: DateTime<Utc>,
) -> Verdict {
    // 1
    if delivery.dismissed {
        return Verdict::Excused(Excuse::Dismissed);
    }
    // 2
    let interest = policy.filter.wants(
        &delivery.event,
        delivery.action.as_deref(),
        delivery.installation_id,
        delivery.repository_id,
    );
    if interest == Interest::Unwanted {
        return Verdict::Excused(Excuse::NotWanted);
    }
    // 3
    let succeeded = delivery.attempts.iter().any(Attempt::succeeded);
    if delivery.receipt.is_some() && (succeeded || policy.trust != Trust::Both) {
        return Verdict::Settled(Proof::Received);
    }
    // 4
    let first = delivery.first_attempt_at();
    let clock = standing.clock_offset;
    let before_recording = standing
        .recording_since
        .is_none_or(|since| first.map(|at| clock.to_ours(at)) < Some(since));
    if succeeded && (policy.trust == Trust::Github || before_recording) {
        return Verdict::Settled(Proof::GithubOk);
    }
    // Nothing below can be asked of a delivery that GitHub has not listed.
    let (Some(first), Some(newest)) = (first, delivery.newest()) else {
        return unlisted(delivery, policy, now);
    };
    // 5
    if standing.adopted_at.is_some_and(|adopted| first < adopted) && !delivery.asked_by_hand {
        return Verdict::Excused(Excuse::Adopted);
    }
    judge_open(delivery, newest, succeeded, policy, standing, now)
}

/// Rows 6 to 13: wanted, not arrived, listed and ours to repair.
fn judge_open(
    delivery: &Delivery,
    newest: &Attempt,
    succeeded: bool,
    policy: &Policy,
    standing: &Standing,
    now: DateTime<Utc>,
) -> Verdict {
    // 6
    let patience = match newest.code {
        Some(_) => policy.settle,
        None => policy.settle.max(policy.confirm_within),
    };
    let attempted_at = standing.clock_offset.to_ours(newest.delivered_at);
    let until = later(attempted_at, patience);
    if now < until {
        return Verdict::Waiting { why: Wait::Grace, until };
    }
    // 7: by identity. GitHub's clock may be off, so "newer" means another id, not a later time.
    let asked = delivery.requests().filter(|r| r.may_bring_attempt()).max_by_key(|r| r.nth);
    if let Some(asked) = asked.filter(|asked| asked.attempt == newest.id) {
        let until = later(asked.asked_at, policy.confirm_within);
        if now < until {
            return Verdict::Waiting { why: Wait::InFlight, until };
        }
    }
    // 8: the word "gone" holds for the attempt that was asked for, until another one is listed.
    let expires_at = later(attempted_at, policy.window);
    let gone = delivery.requests().any(|r| r.outcome == Outcome::Gone && r.attempt == newest.id);
    if expires_at <= now || gone {
        return Verdict::Abandoned(Loss::Expired);
    }
    // 9
    let counted = delivery.counted().count();
    if counted >= usize::try_from(policy.max_redeliveries).unwrap_or(usize::MAX) {
        return Verdict::Abandoned(Loss::Exhausted);
    }
    // 10. Here and below the end of the window, which lies ahead, can change the answer earlier.
    if let Some(last) = delivery.counted().max_by_key(|r| r.nth) {
        let until = later(last.asked_at, backoff(policy, counted));
        if now < until {
            return Verdict::Waiting { why: Wait::Backoff, until: until.min(expires_at) };
        }
    }
    // 11
    if let Endpoint::Down { next_probe_at } = standing.endpoint {
        // Probes may be allowed already and this one not be among them: look again soon.
        let until = next_probe_at.max(later(now, TimeDelta::seconds(1)));
        return Verdict::Waiting { why: Wait::EndpointDown, until: until.min(expires_at) };
    }
    // 12, 13
    let why = if succeeded && delivery.receipt.is_none() { Fault::Unseen } else { Fault::Failed };
    let made = u32::try_from(delivery.requests().count()).unwrap_or(u32::MAX);
    Verdict::Due { why, attempt: newest.id, nth: made.saturating_add(1) }
}

/// A delivery without any attempt: there is nothing yet to ask GitHub for. Where it has a receipt
/// (and trust is `both`, or row 3 had settled it), GitHub has the window's time to list it.
fn unlisted(delivery: &Delivery, policy: &Policy, now: DateTime<Utc>) -> Verdict {
    let until = match &delivery.receipt {
        Some(receipt) => later(receipt.received_at, policy.window),
        None => later(now, policy.settle),
    };
    if now < until {
        Verdict::Waiting { why: Wait::Grace, until }
    } else {
        Verdict::Abandoned(Loss::Expired)
    }
}

/// The wait after the nth counted request; the last value repeats.
fn backoff(policy: &Policy, nth: usize) -> TimeDelta {
    let wait = nth.checked_sub(1).and_then(|index| policy.backoff.get(index));
    wait.or(policy.backoff.last()).copied().unwrap_or_default()
}

/// How a due delivery is repaired now. With `redeliver_then_fetch`: by reading it once two requests
/// have not helped, probes included, since they did ask GitHub; a fetch that did not help either is
/// followed by asking again.
#[must_use]
pub fn means(delivery: &Delivery, policy: &Policy) -> Means {
    match policy.repair {
        Repair::Redeliver => Means::Redeliver,
        Repair::Fetch => Means::Fetch,
        Repair::RedeliverThenFetch => {
            let fetched =
                delivery.requests().filter(|r| r.means == Means::Fetch).map(|r| r.nth).max();
            let asked = delivery
                .requests()
                .filter(|r| r.means == Means::Redeliver && Some(r.nth) > fetched)
                .count();
            if asked >= 2 { Means::Fetch } else { Means::Redeliver }
        }
    }
}
