//! One POST that GitHub made: one row of its delivery list.

use chrono::{DateTime, Utc};

use super::ids::AttemptId;

/// One POST by GitHub, as its delivery list tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// GitHub's id of this row; new for every attempt.
    pub id: AttemptId,
    /// When GitHub says it sent it, on GitHub's clock.
    pub delivered_at: DateTime<Utc>,
    /// Whether GitHub marks it as a redelivery.
    pub redelivery: bool,
    /// GitHub's free text, already scrubbed of URLs' user info and query. Never parsed to decide.
    pub status: String,
    /// The status code, real or invented by GitHub. `None` for null or 0: not known yet.
    pub code: Option<i32>,
}

impl Attempt {
    /// Whether the receiver answered 2xx. A 3xx is a failure, although GitHub's `status=success`
    /// filter covers it (GITHUB.md section 4).
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.code.is_some_and(|code| (200..=299).contains(&code))
    }
}
