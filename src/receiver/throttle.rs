//! Keeps a flood of like events from becoming a flood of log lines.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The least time between two lines.
const PAUSE: Duration = Duration::from_secs(10);

/// Lets one line pass per [`PAUSE`].
#[derive(Debug, Default)]
pub(super) struct Throttle(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    held_back: u64,
}

impl Throttle {
    /// Counts one event. `Some(n)`: write a line now, that stands for `n` events; `None`: be quiet.
    pub(super) fn count(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.held_back += 1;
        if state.last.is_some_and(|last| now.saturating_duration_since(last) < PAUSE) {
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.held_back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_event_is_told_at_once_and_the_next_ones_together() {
        let throttle = Throttle::default();
        let start = Instant::now();
        assert_eq!(throttle.count(start), Some(1));
        assert_eq!(throttle.count(start + PAUSE / 2), None);
        assert_eq!(throttle.count(start + PAUSE / 2), None);
        assert_eq!(throttle.count(start + PAUSE), Some(3));
        assert_eq!(throttle.count(start + PAUSE), None);
    }
}
