//! When the next hand-over of an event is due, and when the event is dead.

use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};

use super::delivery::words;

/// The longest wait that an application may ask for. A typing error in its `Retry-After` must not
/// park an event for years.
const LONGEST: TimeDelta = TimeDelta::days(1);

/// The shortest wait that an application may ask for; `Retry-After: 0` must not use up all attempts
/// within a blink.
const SHORTEST: TimeDelta = TimeDelta::seconds(1);

/// The wait may be shorter or longer than configured by this part of it.
const SPREAD: f64 = 0.2;

/// Where an event stands on its way to the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HandoverState {
    /// To be handed over, now or after a wait.
    Waiting,
    /// Claimed by a worker.
    Processing,
    /// The application took it.
    Processed,
    /// Given up; stays until an operator acts.
    Dead,
    /// Given up by an operator, or recognised as a repetition of what retention removed.
    Discarded,
    /// Received, but the hook's filter does not want it, or it is a ping: never handed over.
    Ignored,
}

words!(HandoverState {
    Waiting = "waiting",
    Processing = "processing",
    Processed = "processed",
    Dead = "dead",
    Discarded = "discarded",
    Ignored = "ignored",
});

/// How one hand-over ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HandoverResult {
    /// 2xx.
    Processed,
    /// 410: never to be sent again.
    Gone,
    /// Any other status, redirects included.
    Failed,
    /// No complete answer in time.
    Timeout,
    /// No connection, or it broke.
    Unreachable,
    /// The stored bytes are not there to be sent.
    Unsendable,
    /// The worker did not finish within its lease.
    Expired,
}

words!(HandoverResult {
    Processed = "processed",
    Gone = "gone",
    Failed = "failed",
    Timeout = "timeout",
    Unreachable = "unreachable",
    Unsendable = "unsendable",
    Expired = "expired",
});

/// The configured rules for one hook's hand-overs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// After so many attempts an event is dead; at least 1.
    pub max_attempts: u32,
    /// `backoff[n-1]` is the wait after the nth attempt; the last value repeats.
    pub backoff: Vec<Duration>,
}

/// What becomes of an event after a hand-over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The application has it.
    Done,
    /// Once more, not before `due_at`.
    Again {
        /// When.
        due_at: DateTime<Utc>,
    },
    /// No more.
    Dead,
}

/// What follows the `attempt`th hand-over (from 1) that ended at `now`. `retry_after` is what the
/// application asked for; `jitter` a random number from 0 to 1 (0.5: exactly as configured).
#[must_use]
pub fn next(
    policy: &RetryPolicy,
    result: HandoverResult,
    attempt: u32,
    retry_after: Option<TimeDelta>,
    jitter: f64,
    now: DateTime<Utc>,
) -> Next {
    match result {
        HandoverResult::Processed => return Next::Done,
        HandoverResult::Gone | HandoverResult::Unsendable => return Next::Dead,
        HandoverResult::Failed
        | HandoverResult::Timeout
        | HandoverResult::Unreachable
        | HandoverResult::Expired => {}
    }
    if attempt >= policy.max_attempts {
        return Next::Dead;
    }
    let wait = match retry_after {
        Some(asked) => asked.clamp(SHORTEST, LONGEST),
        None => spread(backoff(&policy.backoff, attempt), jitter),
    };
    Next::Again { due_at: now.checked_add_signed(wait).unwrap_or(now) }
}

fn backoff(waits: &[Duration], attempt: u32) -> Duration {
    let at = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
    waits.get(at).or(waits.last()).copied().unwrap_or_default()
}

fn spread(wait: Duration, jitter: f64) -> TimeDelta {
    let factor = 1.0 - SPREAD + 2.0 * SPREAD * jitter.clamp(0.0, 1.0);
    // Whole milliseconds: PostgreSQL would round anything finer than microseconds.
    let millis = wait.mul_f64(factor).as_millis();
    i64::try_from(millis).ok().and_then(TimeDelta::try_milliseconds).unwrap_or(LONGEST)
}

/// How a status code ends a hand-over.
#[must_use]
pub fn classify(status: u16) -> HandoverResult {
    match status {
        200..=299 => HandoverResult::Processed,
        410 => HandoverResult::Gone,
        _ => HandoverResult::Failed,
    }
}

/// The wait that a `Retry-After` header asks for, in either of its forms: seconds, or a date in one
/// of the three notations of HTTP. A date in the past is no wait. `None`: not understood.
#[must_use]
pub fn retry_after(value: &str, now: DateTime<Utc>) -> Option<TimeDelta> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // More digits than a number holds is a very long wait, and is cut like one.
        let seconds = value.parse::<u32>().unwrap_or(u32::MAX);
        return Some(TimeDelta::seconds(i64::from(seconds)));
    }
    let date = |format| NaiveDateTime::parse_from_str(value, format).ok().map(|at| at.and_utc());
    let at = date("%a, %d %b %Y %H:%M:%S GMT")
        .or_else(|| date("%A, %d-%b-%y %H:%M:%S GMT"))
        .or_else(|| date("%a %b %e %H:%M:%S %Y"))?;
    Some((at - now).max(TimeDelta::zero()))
}

/// How many of `free` slots go to events that failed before, when both kinds wait: half, so that
/// neither starves the other. A single slot goes to them every other `turn`.
#[must_use]
pub fn share_of_retries(free: u32, turn: u64) -> u32 {
    if free % 2 == 1 && turn % 2 == 1 { free / 2 + 1 } else { free / 2 }
}

#[cfg(test)]
mod tests;
