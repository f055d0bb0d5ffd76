//! Whether a loop still turns: marks that a worker leaves, and the watchdog reads.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// What a loop was doing when it left its last mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It waits for something to do.
    Waiting,
    /// It has something in hand.
    Working,
}

/// The mark of one loop. Cheap to clone; clones are the same mark.
#[derive(Debug, Clone)]
pub struct Pulse(Arc<Mutex<(Doing, Instant)>>);

impl Doing {
    /// For the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Working => "working",
        }
    }
}

impl Default for Pulse {
    fn default() -> Self {
        Self(Arc::new(Mutex::new((Doing::Waiting, Instant::now()))))
    }
}

impl Pulse {
    /// The loop is about to wait.
    pub fn waiting(&self) {
        self.mark(Doing::Waiting);
    }

    /// The loop has begun something, or got on with it.
    pub fn working(&self) {
        self.mark(Doing::Working);
    }

    /// The last mark and its age.
    #[must_use]
    pub fn last(&self) -> (Doing, Duration) {
        let (doing, at) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (doing, at.elapsed())
    }

    fn mark(&self, doing: Doing) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (doing, Instant::now());
    }
}
