//! One way down the list, page by page, and what each page does to the listing.

use chrono::{DateTime, Utc};

use super::{Below, Gap, Listing, PageSeen, Reach};

/// The most gaps that are remembered one by one.
const MOST_GAPS: usize = 16;

/// A walk under way. It ends with [`Step::End`], or is simply dropped where it is cut: the listing
/// that [`Walk::page`] left behind remembers the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    /// Where it ends.
    floor: DateTime<Utc>,
    /// The unread hole below it, as it stands in the listing. `None`: no row read yet.
    own: Option<Gap>,
    /// Whether a page was blank: what is above it down to the floor then stays unread.
    blank: bool,
    start: Start,
}

/// Where a walk began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Head { started_at: DateTime<Utc>, rechecks: bool },
    Gap,
}

/// What comes after a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Read this page next.
    More(String),
    /// The walk has read everything down to its floor.
    End,
    /// The walk cannot go on, and what is below stays unread: a hole without a link.
    Lost,
}

impl Walk {
    /// A walk from the head, down to the floor of `reach`, or to that of a gap it would run into.
    /// `started_at` is taken before the first request; if GitHub's clock is known to be behind
    /// ours, it is GitHub's time, for rows carry that.
    #[must_use]
    pub fn head(listing: &Listing, started_at: DateTime<Utc>, reach: Reach) -> Self {
        // Walking through the whole gap keeps holes from overlapping; what lies between was to be
        // read again anyway. Newest first, so one that is met can lead to the next.
        let floor = listing.gaps.iter().fold(reach.floor, |floor, gap| {
            if gap.ceiling >= floor { floor.min(gap.floor) } else { floor }
        });
        Self {
            floor,
            own: None,
            blank: false,
            start: Start::Head { started_at, rechecks: reach.rechecks },
        }
    }

    /// A walk that resumes a gap. `None`: no such gap, or GitHub refused its link.
    #[must_use]
    pub fn gap(listing: &Listing, index: usize) -> Option<Self> {
        let gap = listing.gaps.get(index)?;
        gap.link.as_ref()?;
        Some(Self { floor: gap.floor, own: Some(gap.clone()), blank: false, start: Start::Gap })
    }

    /// The page to read next. `None`: the first page of the list.
    #[must_use]
    pub fn link(&self) -> Option<&str> {
        self.own.as_ref().and_then(|gap| gap.link.as_deref())
    }

    /// Takes in one page. The listing is to be stored together with the page's rows.
    ///
    /// Rows can be out of order, so only the end of the list or a page that lies wholly before the
    /// floor ends the walk. An empty list proves nothing and changes nothing. A blank page proves
    /// nothing either: the walk goes on below it, and leaves a hole for the next one from the head.
    pub fn page(&mut self, listing: &mut Listing, page: &PageSeen) -> Step {
        let beyond = page.newest.is_some_and(|newest| newest < self.floor);
        let below = if beyond { Below::Nothing } else { page.below.clone() };
        self.blank |= page.blank;
        let Some(ceiling) = self.ceiling(page.oldest, &below) else { return self.end(listing) };
        let position = match self.start {
            Start::Head { started_at, rechecks } if self.own.is_none() => {
                self.begin(listing, started_at, rechecks)
            }
            Start::Head { .. } | Start::Gap => self.remove_own(listing),
        };
        let link = match &below {
            Below::Page(link) if !self.blank => Some(link.clone()),
            Below::Nothing if !self.blank => return self.end(listing),
            Below::Page(_) | Below::Lost | Below::Nothing => None,
        };
        let gap = Gap { floor: self.floor, ceiling: ceiling.max(self.floor), link };
        listing.gaps.insert(position.min(listing.gaps.len()), gap.clone());
        self.own = Some(gap);
        self.merge_newest(listing);
        match below {
            Below::Page(link) => Step::More(link),
            Below::Lost => Step::Lost,
            Below::Nothing => Step::End,
        }
    }

    /// The top of what is unread after a page with this oldest row. `None`: the list is empty.
    fn ceiling(&self, oldest: Option<DateTime<Utc>>, below: &Below) -> Option<DateTime<Utc>> {
        match (&self.own, self.start) {
            (Some(own), _) if self.blank => Some(own.ceiling),
            (Some(own), _) => Some(oldest.map_or(own.ceiling, |oldest| oldest.min(own.ceiling))),
            (None, Start::Head { started_at, .. }) if self.blank => Some(started_at),
            (None, Start::Head { started_at, .. }) if matches!(below, Below::Page(_)) => {
                oldest.or(Some(started_at))
            }
            (None, _) => oldest,
        }
    }

    /// Whether a page without a link that has this as its oldest row would end the walk too early,
    /// if there are rows below it: it does not reach the floor.
    #[must_use]
    pub fn ends_above_floor(&self, oldest: DateTime<Utc>) -> bool {
        oldest > self.floor
    }

    fn end(&mut self, listing: &mut Listing) -> Step {
        self.own = None;
        if listing.complete() {
            listing.complete_at = match self.start {
                Start::Head { started_at, .. } => Some(started_at),
                // The last hole is closed: everything before the head has been read.
                Start::Gap => listing.head,
            };
        }
        Step::End
    }

    /// The first rows of a head walk: the head moves, and the walk's own hole, about to be inserted
    /// at the returned place, takes the place of those it covers.
    fn begin(&self, listing: &mut Listing, started_at: DateTime<Utc>, rechecks: bool) -> usize {
        listing.head = Some(started_at);
        if rechecks {
            // At the beginning already, for the rest of the walk is owed by its gap.
            listing.rechecked_at = Some(started_at);
        }
        listing.gaps.retain(|gap| gap.floor < self.floor);
        0
    }

    /// Takes the walk's own hole out of the listing and returns where it was.
    fn remove_own(&self, listing: &mut Listing) -> usize {
        let position =
            listing.gaps.iter().position(|gap| Some(gap) == self.own.as_ref()).unwrap_or_default();
        listing.gaps.retain(|gap| Some(gap) != self.own.as_ref());
        position
    }

    /// Bounds the number of gaps: the two newest become one, which this walk then has to finish.
    fn merge_newest(&mut self, listing: &mut Listing) {
        if self.start == Start::Gap || listing.gaps.len() <= MOST_GAPS {
            return;
        }
        let older = listing.gaps.remove(1);
        if let Some(newest) = listing.gaps.first_mut() {
            newest.floor = newest.floor.min(older.floor);
            self.floor = newest.floor;
            self.own = Some(newest.clone());
        }
    }
}

/// GitHub refused the walk's cursor: the gap stays and loses its link, so that the next walk from
/// the head covers it.
pub fn refused(listing: &mut Listing, walk: &Walk) {
    for gap in listing.gaps.iter_mut().filter(|gap| Some(&**gap) == walk.own.as_ref()) {
        gap.link = None;
    }
}
