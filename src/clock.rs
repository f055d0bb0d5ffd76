//! The only place that reads the wall clock; everything else takes `now` or asks a [`Clock`].

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};

/// A source of the current time. Times are truncated to microseconds, because PostgreSQL keeps no
/// more and equality must not depend on the database.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The current time.
    fn now(&self) -> DateTime<Utc>;
}

/// A shared clock.
pub type SharedClock = Arc<dyn Clock>;

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
    fn now(&self) -> DateTime<Utc> {
        Utc::now().trunc_subsecs(6)
    }
}

/// A clock that moves only when told to; for drills and tests.
#[derive(Debug)]
pub struct ManualClock(Mutex<DateTime<Utc>>);

impl ManualClock {
    /// A clock that stands at `start`.
    #[must_use]
    pub fn new(start: DateTime<Utc>) -> Self {
        Self(Mutex::new(start.trunc_subsecs(6)))
    }

    /// Moves the clock forward (or back, for a negative `by`).
    pub fn advance(&self, by: TimeDelta) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
