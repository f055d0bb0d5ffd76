//! How many requests to the receiver were verified or not lately, from counters that only grow.

use std::collections::VecDeque;

use chrono::{DateTime, Utc};

use crate::{
    config::Hook,
    domain::condition::{HookFacts, Requests},
    telemetry::{HookLabel, Metrics, SlotLabel},
};

/// Readings of one hook's counters over the last while.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// The newest reading at or before the beginning of the while; before that, where the counters
    /// stood when the counting began.
    before: Requests,
    readings: VecDeque<(DateTime<Utc>, Requests)>,
}

impl Meter {
    /// Counts from now on: what the counters hold by now is old.
    pub(super) fn beginning(hook: &Hook, metrics: &Metrics) -> Self {
        Self { before: counters(hook, metrics), readings: VecDeque::new() }
    }

    /// Reads the counters, and tells by how much they grew within [`HookFacts::REQUESTS_BACK`].
    pub(super) fn read(&mut self, hook: &Hook, metrics: &Metrics, now: DateTime<Utc>) -> Requests {
        self.growth(counters(hook, metrics), now)
    }

    fn growth(&mut self, total: Requests, now: DateTime<Utc>) -> Requests {
        while let Some((at, reading)) = self.readings.front() {
            if *at > now - HookFacts::REQUESTS_BACK {
                break;
            }
            self.before = *reading;
            self.readings.pop_front();
        }
        self.readings.push_back((now, total));
        Requests {
            verified: total.verified.saturating_sub(self.before.verified),
            unverified: total.unverified.saturating_sub(self.before.unverified),
        }
    }
}

fn counters(hook: &Hook, metrics: &Metrics) -> Requests {
    let name = hook.name.to_string();
    let verified = (0..hook.secrets.len())
        .map(|slot| {
            let label = SlotLabel { hook: name.clone(), slot: slot.to_string() };
            metrics.secret_matches.get_or_create(&label).get()
        })
        .sum();
    let unverified = metrics.signature_failures.get_or_create(&HookLabel { hook: name }).get();
    Requests { verified, unverified }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn only_the_last_while_counts() {
        let mut meter = Meter::default();
        let begin: DateTime<Utc> = "2026-11-30T12:00:00Z".parse().unwrap();
        let mut read = |minute: i64, verified: u64, unverified: u64| {
            let now = begin + TimeDelta::minutes(minute);
            let grown = meter.growth(Requests { verified, unverified }, now);
            (grown.verified, grown.unverified)
        };
        assert_eq!(read(0, 2, 1), (2, 1), "what came before the first reading is young");
        assert_eq!(read(10, 5, 4), (5, 4));
        assert_eq!(read(15, 5, 4), (3, 3), "the first reading is a while ago");
        assert_eq!(read(24, 5, 9), (3, 8));
        assert_eq!(read(60, 6, 9), (1, 0));
    }
}
