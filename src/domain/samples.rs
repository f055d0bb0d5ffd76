//! Sample facts for the tests of the decision core; times are seconds after one fixed moment.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    attempt::Attempt,
    clock_offset::ClockOffset,
    delivery::{Delivery, Means, Outcome, Receipt, Redelivery, Via},
    filter::Filter,
    ids::{AttemptId, EventName, Guid},
    policy::{Endpoint, Policy, Repair, Standing, Trust},
};

pub(super) const MINUTE: i64 = 60;
pub(super) const HOUR: i64 = 60 * MINUTE;
pub(super) const DAY: i64 = 24 * HOUR;

/// This many seconds after the fixed moment.
pub(super) fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
}

pub(super) fn id(number: u64) -> AttemptId {
    AttemptId::new(number).unwrap()
}

pub(super) fn guid(text: &str) -> Guid {
    Guid::new(text).unwrap()
}

pub(super) fn event(text: &str) -> EventName {
    EventName::new(text).unwrap()
}

pub(super) fn secs(seconds: i64) -> TimeDelta {
    TimeDelta::seconds(seconds)
}

/// The documented defaults: settle 30 s, confirm 10 m, window 3 d, 8 requests.
pub(super) fn policy() -> Policy {
    let waits = [MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR];
    Policy {
        trust: Trust::Receipt,
        repair: Repair::Redeliver,
        filter: Filter::default(),
        window: secs(3 * DAY),
        settle: secs(30),
        confirm_within: secs(10 * MINUTE),
        backoff: waits.map(secs).to_vec(),
        max_redeliveries: 8,
        probes: 3,
        max_requests: 500,
    }
}

/// Recording and adopted since long before the fixed moment, endpoint up.
pub(super) fn standing() -> Standing {
    Standing {
        recording_since: Some(at(-30 * DAY)),
        adopted_at: Some(at(-30 * DAY)),
        endpoint: Endpoint::Up,
        clock_offset: ClockOffset::default(),
    }
}

/// A wanted delivery of which nothing is known yet.
pub(super) fn delivery() -> Delivery {
    Delivery {
        guid: guid("0b989ba4-242f-11e5-81e1-c7b6966d2516"),
        event: event("push"),
        action: None,
        installation_id: Some(1),
        repository_id: Some(2),
        attempts: Vec::new(),
        redeliveries: Vec::new(),
        receipt: None,
        dismissed: false,
        asked_by_hand: false,
    }
}

pub(super) fn attempt(number: u64, delivered: i64, code: Option<i32>) -> Attempt {
    Attempt {
        id: id(number),
        delivered_at: at(delivered),
        redelivery: number > 1,
        status: "free text".to_owned(),
        code,
    }
}

pub(super) fn request(nth: u32, number: u64, asked: i64, outcome: Outcome) -> Redelivery {
    Redelivery {
        nth,
        means: Means::Redeliver,
        attempt: id(number),
        asked_at: at(asked),
        outcome,
        probe: false,
    }
}

pub(super) fn receipt(received: i64) -> Receipt {
    Receipt { received_at: at(received), via: Via::Delivery }
}

/// One attempt at the fixed moment with this code.
pub(super) fn attempted(code: i32) -> Delivery {
    Delivery { attempts: vec![attempt(1, 0, Some(code))], ..delivery() }
}
