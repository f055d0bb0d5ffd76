//! Spares the events while nobody listens: an outage of the application must use up no attempts but
//! those of a few probes, and events that were never sent keep their order.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::retry::HandoverResult;

/// Between the first two probes; doubles up to [`LONGEST`].
const SHORTEST: Duration = Duration::from_secs(1);

/// Between two probes, at most.
const LONGEST: Duration = Duration::from_secs(10);

/// Counts hand-overs that found nobody. Only those: an application that answers, whatever it says or
/// however late, is asked as configured.
#[derive(Debug)]
pub(super) struct Breaker {
    /// So many in a row, and the application is taken for down.
    limit: usize,
    unreachable: usize,
    pause: Duration,
    next: Option<Instant>,
}

impl Breaker {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(2), unreachable: 0, pause: SHORTEST, next: None }
    }

    /// Takes note of how a hand-over ended.
    pub(super) fn note(&mut self, result: HandoverResult, now: Instant) {
        match result {
            HandoverResult::Unreachable => {
                self.unreachable = self.unreachable.saturating_add(1);
                if self.unreachable >= self.limit {
                    self.next = Some(now + self.pause);
                    self.pause = (self.pause * 2).min(LONGEST);
                }
            }
            // Says nothing about the application.
            HandoverResult::Unsendable | HandoverResult::Expired => {}
            HandoverResult::Processed
            | HandoverResult::Gone
            | HandoverResult::Failed
            | HandoverResult::Timeout => *self = Self::new(self.limit),
        }
    }

    /// Whether one event may be sent as a probe now. `None`: all is well, no probes are needed.
    pub(super) fn probe(&self, now: Instant) -> Option<bool> {
        self.next.map(|next| now >= next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn an_application_that_is_gone_gets_probes_at_a_growing_pause() {
        // D11
        let begin = Instant::now();
        let mut breaker = Breaker::new(3);
        for _ in 0..2 {
            breaker.note(HandoverResult::Unreachable, begin);
            assert_eq!(breaker.probe(begin), None, "not yet");
        }
        breaker.note(HandoverResult::Unreachable, begin);
        assert_eq!(breaker.probe(begin), Some(false));
        assert_eq!(breaker.probe(begin + seconds(1)), Some(true));
        let mut now = begin + seconds(1);
        for pause in [2, 4, 8, 10, 10] {
            breaker.note(HandoverResult::Unreachable, now);
            assert_eq!(breaker.probe(now + seconds(pause - 1)), Some(false), "{pause}");
            assert_eq!(breaker.probe(now + seconds(pause)), Some(true), "{pause}");
            now += seconds(pause);
        }
    }

    #[test]
    fn any_answer_ends_it() {
        let now = Instant::now();
        for answer in [HandoverResult::Processed, HandoverResult::Failed, HandoverResult::Timeout] {
            let mut breaker = Breaker::new(2);
            breaker.note(HandoverResult::Unreachable, now);
            breaker.note(HandoverResult::Unreachable, now);
            breaker.note(HandoverResult::Unsendable, now);
            assert!(breaker.probe(now).is_some());
            breaker.note(answer, now);
            assert_eq!(breaker.probe(now), None);
        }
    }
}
