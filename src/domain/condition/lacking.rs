//! Adds up missing deliveries for the conditions about them, one by one, so that memory stays flat.

use chrono::{DateTime, TimeDelta, Utc};

use super::{GUIDS, Thresholds};
use crate::domain::{
    ids::Guid,
    later,
    verdict::{Loss, Verdict},
};

/// One missing delivery.
#[derive(Debug, Clone, Copy)]
pub struct Lacking<'a> {
    /// Which.
    pub guid: &'a Guid,
    /// Its verdict: one that counts as missing, or the grace of one more attempt.
    pub verdict: &'a Verdict,
    /// When it was first attempted.
    pub first_attempt_at: DateTime<Utc>,
    /// When it was first judged missing; `None`: only now.
    pub missing_since: Option<DateTime<Utc>>,
    /// The end of its window.
    pub expires_at: DateTime<Utc>,
}

/// Some deliveries: how many, since when, and the oldest by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Group {
    /// How many.
    pub count: u64,
    /// Up to [`GUIDS`], the oldest first, with the time of their first attempt.
    oldest: Vec<(DateTime<Utc>, Guid)>,
}

/// What is missing on one hook, by what it is told as.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shortfall {
    /// Missing for longer than allowed.
    pub overdue: Group,
    /// About to leave the window.
    pub closing: Group,
    /// When the first of those leaves it.
    pub closes_at: Option<DateTime<Utc>>,
    /// Out of the window.
    pub lost: Group,
    /// Asked for as often as allowed.
    pub exhausted: Group,
}

impl Group {
    fn add(&mut self, guid: &Guid, at: DateTime<Utc>) {
        self.count += 1;
        let place = self.oldest.partition_point(|(other, id)| (other, id) <= (&at, guid));
        if place < GUIDS {
            self.oldest.insert(place, (at, guid.clone()));
            self.oldest.truncate(GUIDS);
        }
    }

    /// When the oldest was first attempted.
    #[must_use]
    pub fn since(&self) -> Option<DateTime<Utc>> {
        self.oldest.first().map(|(at, _)| *at)
    }

    /// The oldest, at most [`GUIDS`].
    #[must_use]
    pub fn guids(&self) -> Vec<Guid> {
        self.oldest.iter().map(|(_, guid)| guid.clone()).collect()
    }
}

impl Shortfall {
    /// Counts one missing delivery.
    pub fn add(&mut self, lacking: &Lacking<'_>, thresholds: &Thresholds, now: DateTime<Utc>) {
        let Lacking { guid, verdict, first_attempt_at, missing_since, expires_at } = *lacking;
        let missing_for = missing_since.map_or(TimeDelta::zero(), |since| now - since);
        if missing_for > thresholds.missing_after {
            self.overdue.add(guid, first_attempt_at);
        }
        match verdict {
            Verdict::Abandoned(Loss::Expired) => {
                self.lost.add(guid, first_attempt_at);
                return;
            }
            Verdict::Abandoned(Loss::Exhausted) => self.exhausted.add(guid, first_attempt_at),
            Verdict::Due { .. }
            | Verdict::Waiting { .. }
            | Verdict::Settled(_)
            | Verdict::Excused(_) => {}
        }
        if expires_at <= later(now, thresholds.closing_within) {
            self.closing.add(guid, first_attempt_at);
            self.closes_at = self.closes_at.into_iter().chain([expires_at]).min();
        }
    }
}
