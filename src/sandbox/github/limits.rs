//! GitHub's rate limits: the hourly budget and the points per minute (GITHUB.md section 3).

use chrono::{DateTime, TimeDelta, Utc};

/// The limits in force. None by default: what JWT calls are limited to is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    /// The budget told in `x-ratelimit-*`. `None`: no such headers.
    pub primary: Option<Primary>,
    /// The hidden one. `None`: no such limit.
    pub secondary: Option<Secondary>,
}

/// A budget of calls that is refilled at `reset`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Primary {
    /// Calls per hour.
    pub limit: u32,
    /// Calls left.
    pub remaining: u32,
    /// When the budget is full again.
    pub reset: DateTime<Utc>,
}

/// Points per minute: a read costs 1, a POST 5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secondary {
    /// Points allowed in a minute; GitHub documents 900.
    pub points: u32,
    /// 403 or 429: GitHub uses both.
    pub status: u16,
    /// The `retry-after` header in seconds; `None` leaves it out.
    pub retry_after: Option<u32>,
    used: u32,
    since: Option<DateTime<Utc>>,
}

/// Which limit refused a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exceeded {
    Primary,
    Secondary { status: u16, retry_after: Option<u32> },
}

impl Primary {
    /// A budget that has `remaining` of `limit` calls left and is refilled at `reset`.
    #[must_use]
    pub fn new(limit: u32, remaining: u32, reset: DateTime<Utc>) -> Self {
        Self { limit, remaining, reset }
    }
}

impl Secondary {
    /// A limit of `points` per minute that answers `status` with `retry_after`.
    #[must_use]
    pub fn new(points: u32, status: u16, retry_after: Option<u32>) -> Self {
        Self { points, status, retry_after, used: 0, since: None }
    }
}

impl Limits {
    /// Charges one call of `points` at `now`.
    pub(super) fn charge(&mut self, points: u32, now: DateTime<Utc>) -> Result<(), Exceeded> {
        if let Some(primary) = &mut self.primary {
            if now >= primary.reset {
                primary.remaining = primary.limit;
                primary.reset = now + TimeDelta::hours(1);
            }
            if primary.remaining == 0 {
                return Err(Exceeded::Primary);
            }
            primary.remaining -= 1;
        }
        if let Some(secondary) = &mut self.secondary {
            if secondary.since.is_none_or(|since| now >= since + TimeDelta::minutes(1)) {
                secondary.since = Some(now);
                secondary.used = 0;
            }
            if secondary.used + points > secondary.points {
                let Secondary { status, retry_after, .. } = *secondary;
                return Err(Exceeded::Secondary { status, retry_after });
            }
            secondary.used += points;
        }
        Ok(())
    }
}
