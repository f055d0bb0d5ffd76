//! The decision core: pure. No async, no I/O, no clock, no logging; facts go in, decisions with
//! reasons come out.

pub mod attempt;
pub mod boundary;
pub mod clock_offset;
pub mod condition;
pub mod delivery;
pub mod filter;
pub mod headers;
pub mod ids;
pub mod notice;
pub mod plan;
pub mod policy;
pub mod retry;
#[cfg(test)]
mod samples;
pub mod verdict;

use chrono::{DateTime, TimeDelta, Utc};

/// `at` plus `by`; the last time that can be written where the sum lies beyond it, since facts and
/// settings come from outside and no decision may panic.
fn later(at: DateTime<Utc>, by: TimeDelta) -> DateTime<Utc> {
    at.checked_add_signed(by).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// `at` minus `by`; the first time that can be written where the difference lies beyond it.
fn earlier(at: DateTime<Utc>, by: TimeDelta) -> DateTime<Utc> {
    at.checked_sub_signed(by).unwrap_or(DateTime::<Utc>::MIN_UTC)
}
