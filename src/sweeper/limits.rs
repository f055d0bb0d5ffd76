//! How long to keep quiet after GitHub said that a limit is reached; pure.

use chrono::{DateTime, TimeDelta, Utc};

/// The first pause of the growing series.
const FIRST: TimeDelta = TimeDelta::minutes(1);
/// No pause grows beyond this.
const LONGEST: TimeDelta = TimeDelta::hours(1);

/// When sending is allowed again after the `streak`th limit in a row (1: the first).
///
/// GitHub's own word comes first. A limit met again right after waiting one out means that the
/// wait was too short, so from the second on it is at least two minutes, then four, and so on up
/// to an hour: going on at the old pace may get an App banned (GITHUB.md section 3).
pub(super) fn quiet_until(told: DateTime<Utc>, streak: u32, now: DateTime<Utc>) -> DateTime<Utc> {
    if streak <= 1 {
        return told;
    }
    let factor = 2_i32.checked_pow(streak - 1).unwrap_or(i32::MAX);
    let pause = FIRST.checked_mul(factor).map_or(LONGEST, |pause| pause.min(LONGEST));
    told.max(now + pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn the_first_limit_lasts_as_long_as_github_says() {
        assert_eq!(quiet_until(at(7), 1, at(0)), at(7));
    }

    #[test]
    fn limits_in_a_row_double_from_a_minute_and_end_at_an_hour() {
        let pauses: Vec<_> = [2, 3, 4, 7, 200]
            .into_iter()
            .map(|streak| (quiet_until(at(60), streak, at(0)) - at(0)).num_seconds())
            .collect();
        assert_eq!(pauses, [120, 240, 480, 3600, 3600]);
    }

    #[test]
    fn a_longer_word_of_github_is_kept() {
        assert_eq!(quiet_until(at(5000), 3, at(0)), at(5000));
    }
}
