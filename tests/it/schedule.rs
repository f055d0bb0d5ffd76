//! The schedule over ten years: UTC knows no days of 23 or 25 hours, and no run comes twice.

use chrono::{DateTime, Datelike, TimeDelta, Timelike, Utc};
use redeliverd::config::next_runs;

const DAYS: i64 = 3_653;

fn start() -> DateTime<Utc> {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// O16: the hour that is skipped or doubled elsewhere.
#[test]
fn a_daily_run_comes_once_on_every_day_of_ten_years() {
    let runs = next_runs("0 30 2 * * *", start(), usize::try_from(DAYS).unwrap());
    for (day, run) in (0..).zip(&runs) {
        let date = start() + TimeDelta::days(day);
        assert_eq!((run.ordinal(), run.year()), (date.ordinal(), date.year()));
        assert_eq!((run.hour(), run.minute(), run.second()), (2, 30, 0), "{run}");
    }
    assert_eq!(i64::try_from(runs.len()).unwrap(), DAYS);
}

/// O18: from whatever moment one asks.
#[test]
fn the_next_run_is_always_later_and_never_sooner_than_the_schedule_says() {
    for (schedule, period) in [
        ("0 */2 * * * *", 120),
        ("0 * * * * *", 60),
        ("0 0 * * * *", 3_600),
        ("*/10 * * * * *", 10),
    ] {
        for day in 0..DAYS {
            // A different second of every day, the last one of some among them.
            let now = start() + TimeDelta::days(day) + TimeDelta::seconds(day * 7_919 % 86_400);
            let mut before = now;
            for (nth, run) in next_runs(schedule, now, 3).into_iter().enumerate() {
                let gap = (run - before).num_seconds();
                assert!(gap > 0, "{schedule} after {before}: {run}");
                assert!(nth == 0 || gap == period, "{schedule} after {before}: {run}");
                before = run;
            }
            assert!(before - now <= TimeDelta::seconds(3 * period), "{schedule} after {now}");
        }
    }
}
