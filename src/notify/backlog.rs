//! Since when events wait for the application, and when it last took one, from one look to the next.

use chrono::{DateTime, Utc};

use crate::store::types::InboxCounts;

/// What the last looks at one hook's inbox showed.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    processed: Option<u64>,
    /// When the application was last seen to have taken events; at first, when somebody first looked,
    /// so that a backlog from before the start has its time.
    pub(super) handed_over_at: Option<DateTime<Utc>>,
    /// Since when events have waited; `None`: none does.
    pub(super) waiting_since: Option<DateTime<Utc>>,
}

impl Backlog {
    /// Takes note of what the inbox holds `now`. Retention can make the number of processed events
    /// smaller, which says nothing about the application.
    pub(super) fn update(&mut self, counts: &InboxCounts, now: DateTime<Utc>) {
        if self.processed.is_none_or(|before| counts.processed > before) {
            self.handed_over_at = Some(now);
            // What waits now need not be what waited then.
            self.waiting_since = None;
        }
        self.processed = Some(counts.processed);
        self.waiting_since = (counts.waiting > 0).then(|| {
            // Events that were tried before are not fresh; they have waited since they were seen to.
            let seen = self.waiting_since.unwrap_or(now);
            counts.oldest_fresh_at.map_or(seen, |fresh| fresh.min(seen))
        });
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    fn at(minutes: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::minutes(minutes)
    }

    fn look(backlog: &mut Backlog, minute: i64, waiting: u64, processed: u64, fresh: Option<i64>) {
        let counts = InboxCounts {
            waiting,
            processing: 0,
            processed,
            dead: 0,
            oldest_fresh_at: fresh.map(at),
        };
        backlog.update(&counts, at(minute));
    }

    #[test]
    fn what_waits_and_what_was_taken_is_dated_by_the_looks() {
        let mut backlog = Backlog::default();
        look(&mut backlog, 10, 2, 5, Some(3));
        assert_eq!(backlog.waiting_since, Some(at(3)));
        assert_eq!(backlog.handed_over_at, Some(at(10)), "a backlog has its time after a start");
        look(&mut backlog, 11, 2, 5, None);
        assert_eq!(backlog.waiting_since, Some(at(3)), "tried in vain, they still wait");
        look(&mut backlog, 12, 1, 6, None);
        assert_eq!(backlog.handed_over_at, Some(at(12)));
        look(&mut backlog, 13, 0, 4, None);
        assert_eq!(backlog.waiting_since, None);
        assert_eq!(backlog.handed_over_at, Some(at(12)), "retention hands nothing over");
        look(&mut backlog, 14, 1, 4, None);
        assert_eq!(backlog.waiting_since, Some(at(14)));
    }
}
