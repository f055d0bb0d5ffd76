//! The sweep's schedule: checked as the scheduler will read it, and its period.

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use croner::{
    Cron,
    parser::{CronParser, Seconds},
};

use super::read::Wrong;

const EXAMPLE: &str = "\"0 */2 * * * *\" is every two minutes";
/// How many runs are looked at for the shortest gap: more than a day of hours, a month of days.
const RUNS: usize = 64;

/// Parses with the options of `tokio-cron-scheduler`, so that what is accepted here runs there.
fn parse(schedule: &str) -> Result<Cron, Wrong> {
    match schedule.split_whitespace().count() {
        6 => {}
        5 => {
            return Err(Wrong::new("has five fields, but the first of six is the seconds")
                .hint(format!("write \"0 {}\"", schedule.trim())));
        }
        _ => {
            return Err(Wrong::new(
                "must have six fields: second, minute, hour, day, month, weekday",
            )
            .hint(EXAMPLE));
        }
    }
    CronParser::builder()
        .seconds(Seconds::Required)
        .dom_and_dow(true)
        .build()
        .parse(schedule)
        .map_err(|error| Wrong::new(format!("is no cron expression: {error}")).hint(EXAMPLE))
}

/// The shortest time between two runs.
pub(super) fn period(schedule: &str) -> Result<TimeDelta, Wrong> {
    let cron = parse(schedule)?;
    // Any fixed moment will do; this one is just before a leap year with its 29th of February.
    let start = DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(19_722);
    let runs: Vec<_> = cron.iter_after(start).take(RUNS).collect();
    runs.iter()
        .zip(runs.iter().skip(1))
        .map(|(earlier, later)| *later - *earlier)
        .min()
        .ok_or_else(|| Wrong::new("never comes").hint(EXAMPLE))
}

/// The next `count` runs after `now`; empty for an invalid schedule.
#[must_use]
pub fn next_runs(schedule: &str, now: DateTime<Utc>, count: usize) -> Vec<DateTime<Utc>> {
    // croner would keep the fraction of a second in every run.
    let now = now.trunc_subsecs(0);
    parse(schedule).map(|cron| cron.iter_after(now).take(count).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_is_the_shortest_gap() {
        for (schedule, period_s) in [
            ("0 */2 * * * *", 120),
            ("0 0,5 * * * *", 300),
            ("*/10 * * * * *", 10),
            ("0 30 9 * * MON-FRI", 86_400),
            ("0 0 3 1 * *", 28 * 86_400),
        ] {
            let expected = TimeDelta::seconds(period_s);
            assert_eq!(period(schedule).unwrap(), expected, "{schedule}");
        }
    }

    #[test]
    fn five_fields_are_told_of_the_seconds() {
        let wrong = period("*/5 * * * *").unwrap_err();
        assert_eq!(wrong.hint.unwrap(), "write \"0 */5 * * * *\"");
    }

    #[test]
    fn what_never_comes_and_what_is_no_schedule_is_refused() {
        for bad in
            ["", "every minute", "0 61 * * * *", "0 0 0 30 2 *", "@hourly", "0 0 0 * * * 2031"]
        {
            assert!(period(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_next_runs_follow_now() {
        let now = "2026-03-01T10:00:30.25Z".parse().unwrap();
        let runs = next_runs("0 */2 * * * *", now, 2);
        let expected: Vec<DateTime<Utc>> =
            ["2026-03-01T10:02:00Z", "2026-03-01T10:04:00Z"].map(|t| t.parse().unwrap()).into();
        assert_eq!(runs, expected);
    }
}
