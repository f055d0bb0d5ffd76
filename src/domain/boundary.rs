//! What of GitHub's delivery list is still to be read: the head, the unfinished gaps, the overlap.
//!
//! The list is read newest first, so a walk that is cut leaves a hole *below* what it read. A
//! [`Listing`] remembers every hole. It is stored in the same transaction as the page that changed
//! it, so a kill after any page equals a walk cut at that page.

use chrono::{DateTime, Utc};

/// How far the delivery list of one hook has been read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Start of the newest walk from the head: everything listed before this and outside the gaps
    /// has been read. `None`: never walked.
    pub head: Option<DateTime<Utc>>,
    /// The unread holes, newest first, not overlapping.
    pub gaps: Vec<Gap>,
    /// Start of the last walk that read back `recheck_back`.
    pub rechecked_at: Option<DateTime<Utc>>,
    /// Start of the last pass that left no gap. `None`: never complete.
    pub complete_at: Option<DateTime<Utc>>,
}

/// One unread hole: attempts delivered from `floor` up to `ceiling` may be unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Where the walk was to end.
    pub floor: DateTime<Utc>,
    /// The oldest row read above the hole.
    pub ceiling: DateTime<Utc>,
    /// GitHub's link to the page below `ceiling`; `None` after GitHub refused it: start at the head.
    pub link: Option<String>,
}

/// What one page showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSeen {
    /// Newest `delivered_at` on the page; `None` for a page without readable rows.
    pub newest: Option<DateTime<Utc>>,
    /// Oldest `delivered_at` on the page.
    pub oldest: Option<DateTime<Utc>>,
    /// The next page by GitHub's link; `None` at the end of the list.
    pub next: Option<String>,
}
