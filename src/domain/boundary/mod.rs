//! What of GitHub's delivery list is still to be read: the head, the unfinished gaps, the overlap.
//!
//! The list is read newest first, so a walk that is cut leaves a hole *below* what it read. A
//! [`Listing`] remembers every hole. It is stored in the same transaction as the page that changed
//! it, so a kill after any page equals a walk cut at that page.

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod walk;

use chrono::{DateTime, TimeDelta, Utc};

pub use self::walk::{Step, Walk, refused};
use super::earlier;

/// How far the delivery list of one hook has been read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Start of the newest walk from the head: everything listed before this and outside the gaps
    /// has been read. `None`: never walked, or the list was empty so far.
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
    /// The oldest row read above the hole (where none was read, the start of the walk), or `floor`
    /// when that lies lower: then only rows out of order can be missing.
    pub ceiling: DateTime<Utc>,
    /// GitHub's link to the page below `ceiling`; `None` after GitHub refused it, or gave none, or a
    /// page in it was blank: start at the head.
    pub link: Option<String>,
}

/// What one page showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSeen {
    /// Newest `delivered_at` on the page; `None` for a page without readable rows.
    pub newest: Option<DateTime<Utc>>,
    /// Oldest `delivered_at` on the page.
    pub oldest: Option<DateTime<Utc>>,
    /// Whether it had rows and none of them could be read, so that they will have to be read again.
    pub blank: bool,
    /// What is below it.
    pub below: Below,
}

/// What GitHub says is below a page, and whether that can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Below {
    /// More, by this link.
    Page(String),
    /// More, for rows known to be in the list have not come; yet GitHub gave no link to it.
    Lost,
    /// Nothing: the page ends the list.
    Nothing,
}

/// How far passes read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// How far back GitHub lists.
    pub window: TimeDelta,
    /// How far a pass reads behind the head, because rows can be listed late.
    pub overlap: TimeDelta,
    /// How often a scheduled pass reads back `recheck_back`.
    pub recheck_every: TimeDelta,
    /// How far such a pass reads back.
    pub recheck_back: TimeDelta,
}

/// Why the head is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// By schedule or at start: with a recheck when one is due.
    Scheduled,
    /// By hand, without a wish for depth.
    Manual,
    /// By hand, back to this moment at least.
    Since(DateTime<Utc>),
}

/// How deep a head walk goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// It ends where the list is older than this.
    pub floor: DateTime<Utc>,
    /// Whether that is deep enough to count as a recheck.
    pub rechecks: bool,
}

impl Listing {
    /// How deep a head walk that starts `now` goes. Never beyond the window. Gaps without a link are
    /// only reached from the head, so it goes down to the lowest of them.
    #[must_use]
    pub fn reach(&self, now: DateTime<Utc>, rules: &Rules, occasion: Occasion) -> Reach {
        let horizon = earlier(now, rules.window);
        let recheck = earlier(now, rules.recheck_back);
        // A head in the future comes from a clock that has been set back.
        let usual = self.head.map_or(horizon, |head| earlier(head.min(now), rules.overlap));
        let wished = match occasion {
            Occasion::Scheduled if self.recheck_is_due(now, rules) => usual.min(recheck),
            Occasion::Scheduled | Occasion::Manual => usual,
            Occasion::Since(since) => usual.min(since),
        };
        let unlinked = self.gaps.iter().filter(|gap| gap.link.is_none()).map(|gap| gap.floor);
        let floor = unlinked.fold(wished, DateTime::min).max(horizon);
        Reach { floor, rechecks: floor <= recheck }
    }

    fn recheck_is_due(&self, now: DateTime<Utc>, rules: &Rules) -> bool {
        self.rechecked_at.is_none_or(|at| at > now || at <= earlier(now, rules.recheck_every))
    }

    /// The oldest gap that can be resumed, for [`Walk::gap`]. `None`: no gap has a link.
    #[must_use]
    pub fn next_gap(&self) -> Option<usize> {
        self.gaps.iter().rposition(|gap| gap.link.is_some())
    }

    /// Whether nothing is left unread.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.gaps.is_empty()
    }

    /// Drops the gaps that lie wholly before `horizon` (now minus window), which GitHub lists no
    /// more; returns them, because what was in them was never seen.
    pub fn forget_unreachable(&mut self, horizon: DateTime<Utc>) -> Vec<Gap> {
        let (kept, lost) = self.gaps.drain(..).partition(|gap| gap.ceiling >= horizon);
        self.gaps = kept;
        lost
    }
}

/// Splits a sweep's page budget into pages for the head and pages for unfinished gaps: at least half
/// for the gaps, so that new traffic never starves them. What the head leaves goes to the gaps too.
/// `gaps`: whether one can be resumed ([`Listing::next_gap`]), for the others wait for the head.
#[must_use]
pub fn shares(max_pages: u32, gaps: bool) -> (u32, u32) {
    let head_pages = if gaps { max_pages / 2 } else { max_pages };
    (head_pages, max_pages - head_pages)
}
