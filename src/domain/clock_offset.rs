//! The distance between GitHub's clock and ours, and how a time is carried from one to the other.

use chrono::{DateTime, TimeDelta, Utc};

use super::{earlier, later};

/// A `Date` header has whole seconds and took a while to get here; less than this proves nothing.
const NOISE: TimeDelta = TimeDelta::seconds(2);

/// GitHub's clock minus ours. The default, zero, stands also for a distance that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClockOffset(TimeDelta);

impl ClockOffset {
    /// From what was stored.
    #[must_use]
    pub const fn new(githubs_minus_ours: TimeDelta) -> Self {
        Self(githubs_minus_ours)
    }

    /// From GitHub's `Date` minus our clock; zero where that lies within the error of measuring.
    #[must_use]
    pub fn measured(githubs_minus_ours: TimeDelta) -> Self {
        if githubs_minus_ours.abs() <= NOISE { Self::default() } else { Self(githubs_minus_ours) }
    }

    /// The distance itself.
    #[must_use]
    pub const fn get(self) -> TimeDelta {
        self.0
    }

    /// When our clock shows it, for a time by GitHub's clock.
    #[must_use]
    pub fn to_ours(self, githubs: DateTime<Utc>) -> DateTime<Utc> {
        earlier(githubs, self.0)
    }

    /// When GitHub's clock shows it, for a time by ours.
    #[must_use]
    pub fn to_githubs(self, ours: DateTime<Utc>) -> DateTime<Utc> {
        later(ours, self.0)
    }

    /// What the clock that is behind shows, GitHub's or ours, for a time by ours. Nobody can prove
    /// which is right, and a boundary by this one lies beyond no row.
    #[must_use]
    pub fn earliest(self, ours: DateTime<Utc>) -> DateTime<Utc> {
        self.to_githubs(ours).min(ours)
    }

    /// When our clock shows it, for a time by the clock that is behind.
    #[must_use]
    pub fn earliest_to_ours(self, earliest: DateTime<Utc>) -> DateTime<Utc> {
        self.to_ours(earliest).max(earliest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_goes_to_the_other_clock_and_back() {
        let githubs: DateTime<Utc> = "2026-11-30T12:20:00Z".parse().unwrap();
        let ours: DateTime<Utc> = "2026-11-30T12:00:00Z".parse().unwrap();
        let behind = ClockOffset::measured(TimeDelta::minutes(20));
        assert_eq!((behind.to_ours(githubs), behind.to_githubs(ours)), (ours, githubs));
        let ahead = ClockOffset::measured(TimeDelta::minutes(-20));
        assert_eq!((ahead.to_ours(ours), ahead.to_githubs(githubs)), (githubs, ours));
    }

    #[test]
    fn the_clock_that_is_behind_sets_the_boundary() {
        let ours: DateTime<Utc> = "2026-11-30T12:00:00Z".parse().unwrap();
        let back = ours - TimeDelta::minutes(20);
        for (minutes, earliest) in [(20, ours), (0, ours), (-20, back)] {
            let offset = ClockOffset::measured(TimeDelta::minutes(minutes));
            assert_eq!(offset.earliest(ours), earliest, "{minutes}");
            assert_eq!(offset.earliest_to_ours(earliest), ours, "{minutes}");
        }
    }

    #[test]
    fn what_a_date_header_cannot_tell_is_no_offset() {
        for millis in [-2000, -999, 0, 999, 2000] {
            let offset = ClockOffset::measured(TimeDelta::milliseconds(millis));
            assert_eq!(offset, ClockOffset::default(), "{millis} ms");
        }
        let offset = ClockOffset::measured(TimeDelta::milliseconds(-2001));
        assert_eq!(offset.get(), TimeDelta::milliseconds(-2001));
    }

    #[test]
    fn an_absurd_offset_is_no_panic() {
        let far = ClockOffset::measured(TimeDelta::MAX);
        assert_eq!(far.to_githubs(DateTime::UNIX_EPOCH), DateTime::<Utc>::MAX_UTC);
        assert_eq!(far.to_ours(DateTime::UNIX_EPOCH), DateTime::<Utc>::MIN_UTC);
    }
}
