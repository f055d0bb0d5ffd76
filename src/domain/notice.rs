//! Whether a finding is worth telling now, given what was told before; one decision per channel.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    condition::{Finding, State},
    delivery::words,
    later,
};

/// What a channel was last told of a condition that it still takes to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    /// When the condition began to hold.
    pub since: DateTime<Utc>,
    /// When, on our clock.
    pub at: DateTime<Utc>,
    /// How many things were concerned then.
    pub count: u64,
}

/// Why something is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// It began.
    New,
    /// It grew by half.
    Grown,
    /// It still holds after a while.
    Reminder,
    /// It ended.
    Resolved,
    /// Somebody tries the channel.
    Test,
}

words!(Why {
    New = "new",
    Grown = "grown",
    Reminder = "reminder",
    Resolved = "resolved",
    Test = "test",
});

/// Whether to tell `finding` now, and why; `None`: be silent.
#[must_use]
pub fn decide(
    finding: &Finding,
    said: Option<&Said>,
    repeat_every: TimeDelta,
    now: DateTime<Utc>,
) -> Option<Why> {
    match (finding.state, said) {
        (State::Firing, None) => Some(Why::New),
        (State::Firing, Some(said)) => again(finding.count, said, repeat_every, now),
        (State::Resolved, Some(_)) => Some(Why::Resolved),
        // It ended before anybody was told. Or nobody could look, which is neither news nor the end
        // of what was told.
        (State::Resolved, None) | (State::Unknown, _) => None,
    }
}

/// Growth counts by half of what people know about, so that a slow outage is not told at every event.
fn again(count: u64, said: &Said, repeat_every: TimeDelta, now: DateTime<Utc>) -> Option<Why> {
    let by_half = count.saturating_mul(2) >= said.count.saturating_mul(3);
    if count > said.count && by_half {
        Some(Why::Grown)
    } else if now >= later(said.at, repeat_every) {
        Some(Why::Reminder)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::condition::{Condition, Subject};

    fn at(minutes: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::minutes(minutes)
    }

    fn finding(state: State, count: u64) -> Finding {
        Finding {
            subject: Subject { condition: Condition::DeliveriesMissing, hook: None },
            state,
            summary: String::new(),
            count,
            oldest: None,
            guids: Vec::new(),
            command: String::new(),
        }
    }

    /// (story, state, count now, told at minute 0 with this count, minutes later, answer)
    #[test]
    fn each_story_is_told_as_often_as_it_should() {
        use State::{Firing, Resolved, Unknown};
        let table = [
            ("it begins", Firing, 1, None, 0, Some(Why::New)),
            ("it holds", Firing, 1, Some(1), 239, None),
            (
                "it holds for as long as a reminder takes",
                Firing,
                1,
                Some(1),
                240,
                Some(Why::Reminder),
            ),
            ("it grows by less than half", Firing, 14, Some(10), 1, None),
            ("it grows by half", Firing, 15, Some(10), 1, Some(Why::Grown)),
            ("one becomes two", Firing, 2, Some(1), 1, Some(Why::Grown)),
            ("it shrinks", Firing, 3, Some(10), 1, None),
            ("what counts nothing does not grow", Firing, 0, Some(0), 1, None),
            ("it ends", Resolved, 0, Some(10), 1, Some(Why::Resolved)),
            ("it never held", Resolved, 0, None, 0, None),
            ("nobody can look, nothing was told", Unknown, 0, None, 0, None),
            ("nobody can look, it is not taken for ended", Unknown, 0, Some(10), 600, None),
        ];
        for (story, state, count, told, minutes, expected) in table {
            let said = told.map(|count| Said { since: at(-5), at: at(0), count });
            let told =
                decide(&finding(state, count), said.as_ref(), TimeDelta::hours(4), at(minutes));
            assert_eq!(told, expected, "{story}");
        }
    }
}
