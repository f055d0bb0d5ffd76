//! Reads GitHub's list: the new head first, then the holes that earlier passes left.

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};

use super::{Pass, Progress, Sweeper, Trigger, report::Ending};
use crate::{
    domain::{
        boundary::{Below, Listing, Occasion, PageSeen, Rules, Step, Walk, refused, shares},
        clock_offset::ClockOffset,
        ids::AttemptId,
    },
    github::{GitHubError, Listed, Meta, PAGE_ROWS, Page, PageRef},
    store::{
        StoreError,
        types::{HookMemory, SavedPage},
    },
};

/// Rows this near to the end of the window may have left the list already.
const WINDOW_EDGE: TimeDelta = TimeDelta::hours(1);

/// Why a walk ended, where it makes a difference to the rest of the pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// At its floor, at the end of the list, or with its share of the pages.
    Fine,
    /// By an error or a shutdown: no further walk in this pass.
    Halt,
}

/// Where the link that is followed comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// From the store, left by an earlier pass.
    Stored,
    /// From the page before, in this pass.
    ThisPass,
}

/// Whether a link is still good after a page could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkFault {
    /// Nothing is wrong with it.
    None,
    /// It was good once: drop it and go on.
    Old,
    /// It never was, or leads nowhere for long: drop it and tell.
    Bad,
}

/// What one pass over the list carries along.
struct Reader {
    listing: Listing,
    /// The start of this pass by the clock that is behind. Rows carry GitHub's time, and a boundary by
    /// a clock that is ahead would lie beyond rows not yet listed.
    started_at: DateTime<Utc>,
    /// Links followed in this walk: one that comes back is a loop.
    followed: HashSet<String>,
    /// Pages this pass may still read.
    left: u32,
    /// By our clock. `None`: the hook has no receiver of ours yet.
    recording_since: Option<DateTime<Utc>>,
}

impl Pass<'_> {
    /// Walks the list as far as the page budget goes, committing every page together with what
    /// is still unread. Whatever ends a walk early, nothing is concluded about the unread part.
    pub(super) async fn gather(&mut self, memory: HookMemory) -> Result<(), StoreError> {
        let max_pages = self.sweeper.settings.sweep.max_pages;
        let mut reader = Reader {
            listing: memory.listing,
            started_at: self.clock.earliest(self.now),
            followed: HashSet::new(),
            left: max_pages,
            recording_since: memory.recording_since,
        };
        self.forget(&mut reader.listing);
        // A hole without a link is read from the head, so the head then needs all pages.
        let (head, _) = shares(max_pages, reader.listing.next_gap().is_some());
        let mut end = self.walk(None, &mut reader, head).await?;
        // The oldest hole first: it is the nearest to the end of the window.
        while end != End::Halt && reader.left > 0 {
            let gap = reader.listing.next_gap();
            let Some(walk) = gap.and_then(|index| Walk::gap(&reader.listing, index)) else { break };
            let share = reader.left;
            end = self.walk(Some(walk), &mut reader, share).await?;
        }
        self.tally.unread = reader.listing.gaps.iter().map(|gap| gap.ceiling).max();
        if reader.listing.complete() {
            self.tally.numbers.complete = self.tally.numbers.error.is_none();
        } else {
            self.tally.ending = self.tally.ending.max(Ending::Partial);
        }
        Ok(())
    }

    /// Takes over what an answer tells of GitHub's clock, and stores it for everybody who judges.
    async fn learn_offset(&mut self, meta: &Meta) -> Result<(), StoreError> {
        let Some(measured) = meta.clock_offset.map(ClockOffset::measured) else { return Ok(()) };
        if measured != self.clock {
            self.sweeper.store.save_clock_offset(&self.held.lease, measured).await?;
            self.clock = measured;
        }
        Ok(())
    }

    /// The walk from the head, once its first page has told GitHub's time.
    fn head(&self, reader: &mut Reader) -> Walk {
        let settings = &self.sweeper.settings;
        reader.started_at = self.clock.earliest(self.now);
        let rules = Rules {
            window: settings.hook.policy.window,
            overlap: settings.sweep.overlap,
            recheck_every: settings.sweep.recheck_every,
            recheck_back: settings.sweep.recheck_back,
        };
        let occasion = match (self.request.trigger, self.since()) {
            (Trigger::Startup | Trigger::Scheduled, None) => Occasion::Scheduled,
            (Trigger::Manual, None) => Occasion::Manual,
            (_, Some(since)) => Occasion::Since(since),
        };
        let reach = reader.listing.reach(reader.started_at, &rules, occasion);
        Walk::head(&reader.listing, reader.started_at, reach)
    }

    /// Holes that GitHub lists no more will never be read; that is said once, aloud.
    fn forget(&self, listing: &mut Listing) {
        let settings = &self.sweeper.settings;
        for gap in listing.forget_unreachable(self.githubs_now() - settings.hook.policy.window) {
            tracing::error!(
                hook = %settings.hook.name,
                from = %gap.floor,
                to = %gap.ceiling,
                "a part of GitHub's list left the window before it was read"
            );
        }
    }

    /// Reads at most `pages` pages of one walk; `None` is the walk from the head.
    async fn walk(
        &mut self,
        mut walk: Option<Walk>,
        reader: &mut Reader,
        pages: u32,
    ) -> Result<End, StoreError> {
        reader.followed.clear();
        let link = walk.as_ref().and_then(Walk::link);
        let mut next = link.map_or(PageRef::Head, |link| PageRef::Link(link.to_owned()));
        // Only the first link of a walk comes from an earlier pass.
        let mut origin = Origin::Stored;
        let mut before: Vec<AttemptId> = Vec::new();
        for _ in 0..pages.min(reader.left) {
            if self.stopped() {
                return Ok(End::Halt);
            }
            let (answer, calls) = self.sweeper.list(&next).await;
            self.tally.numbers.api_calls += calls;
            reader.left -= 1;
            let page = match answer {
                Ok(page) => page,
                Err(error) => return self.cut(walk.as_ref(), origin, reader, &error).await,
            };
            origin = Origin::ThisPass;
            match next {
                PageRef::Head => self.tally.head_read = true,
                PageRef::Link(link) => {
                    reader.followed.insert(link);
                }
            }
            let walk = match &mut walk {
                Some(walk) => walk,
                none => {
                    self.learn_offset(&page.meta).await?;
                    none.insert(self.head(reader))
                }
            };
            let rows: Vec<_> = page.rows.iter().map(|row| row.attempt.id).collect();
            let same = !rows.is_empty() && rows == before;
            before = rows;
            match self.take(page, walk, reader).await? {
                Step::More(link) if same => return self.looped(walk, reader, &link).await,
                Step::End => return Ok(End::Fine),
                Step::Lost => {
                    let error = "GitHub's answer had a full page and no link to the next one";
                    self.tally.stop(Ending::Failed, error.to_owned());
                    return Ok(End::Halt);
                }
                Step::More(link) if reader.followed.contains(&link) => {
                    return self.looped(walk, reader, &link).await;
                }
                Step::More(link) => next = PageRef::Link(link),
            }
        }
        Ok(End::Fine)
    }

    /// Commits a page and what is unread after it.
    async fn take(
        &mut self,
        page: Page,
        walk: &mut Walk,
        reader: &mut Reader,
    ) -> Result<Step, StoreError> {
        let times = || page.rows.iter().map(|row| row.attempt.delivered_at);
        let below = self.below(&page, walk).await?;
        let blank = page.rows.is_empty() && page.unreadable.len() > 1;
        let seen = PageSeen { newest: times().max(), oldest: times().min(), blank, below };
        let step = walk.page(&mut reader.listing, &seen);
        let saved = self.save_page(reader, &page.rows).await?;
        let numbers = &mut self.tally.numbers;
        numbers.listed += count(page.rows.len());
        numbers.unreadable += count(page.unreadable.len());
        numbers.new_attempts += saved.new_attempts;
        let answered = page.rows.iter().map(|row| &row.attempt).filter(|a| a.succeeded());
        let newest = answered.map(|attempt| attempt.delivered_at).max();
        self.tally.newest_success = self.tally.newest_success.max(newest);
        if let Some(first) = page.unreadable.first() {
            let hook = &self.sweeper.settings.hook.name;
            let rows = page.unreadable.len();
            tracing::warn!(%hook, rows, first, "rows of the list are unreadable");
            if blank {
                let error =
                    format!("none of the {rows} rows on a page of GitHub's list can be read");
                self.tally.stop(Ending::Failed, format!("{error} ({first})"));
            }
        }
        let rows = self.tally.numbers.listed;
        self.at(Progress::Listing { rows });
        Ok(step)
    }
}

impl Pass<'_> {
    /// What is below a page. A list may end with a full page. But where the page does not reach the
    /// floor and the store knows an older delivery that GitHub must still list, the link was lost, by
    /// GitHub or by a proxy in between, and the end of the page is not the end of the list.
    async fn below(&self, page: &Page, walk: &Walk) -> Result<Below, StoreError> {
        if let Some(link) = &page.next {
            return Ok(Below::Page(link.clone()));
        }
        let oldest = page.rows.iter().map(|row| row.attempt.delivered_at).min();
        let full = page.rows.len() + page.unreadable.len() >= PAGE_ROWS;
        let Some(oldest) = oldest.filter(|oldest| full && walk.ends_above_floor(*oldest)) else {
            return Ok(Below::Nothing);
        };
        let Sweeper { store, settings, .. } = self.sweeper;
        let listed = self.githubs_now() - settings.hook.policy.window + WINDOW_EDGE;
        let lost = store.knows_between(&settings.hook.name, listed, oldest).await?;
        Ok(if lost { Below::Lost } else { Below::Nothing })
    }

    /// A page could not be read. A hole whose link is no good any more stays and is read from the
    /// head. That a stored link is refused is nothing unusual, for cursors grow old; any other error
    /// ends the pass.
    async fn cut(
        &mut self,
        walk: Option<&Walk>,
        origin: Origin,
        reader: &mut Reader,
        error: &GitHubError,
    ) -> Result<End, StoreError> {
        let fault = fault(error, origin);
        if let (LinkFault::Old | LinkFault::Bad, Some(walk)) = (fault, walk) {
            refused(&mut reader.listing, walk);
            self.save_page(reader, &[]).await?;
        }
        if fault == LinkFault::Old && walk.is_some() {
            let hook = &self.sweeper.settings.hook.name;
            tracing::warn!(%hook, %error, "a stored page link is refused; reading again from the head");
            return Ok(End::Fine);
        }
        if matches!(error, GitHubError::Refused { .. }) && walk.is_some() {
            // The API has answered at its head, so `api_url` is right, whatever the error thinks of it.
            self.tally.stop(Ending::Failed, error.to_string());
        } else {
            self.failed(error).await?;
        }
        Ok(End::Halt)
    }

    /// GitHub sent us back to a page already read in this walk, or gave the one before once more under
    /// another link: going on would never end.
    async fn looped(
        &mut self,
        walk: &Walk,
        reader: &mut Reader,
        link: &str,
    ) -> Result<End, StoreError> {
        self.tally.stop(Ending::Failed, format!("GitHub's page links form a loop at {link}"));
        refused(&mut reader.listing, walk);
        self.save_page(reader, &[]).await?;
        Ok(End::Halt)
    }

    async fn save_page(&self, reader: &Reader, rows: &[Listed]) -> Result<SavedPage, StoreError> {
        let Self { sweeper, held, now, .. } = self;
        let Reader { listing, started_at, recording_since, .. } = reader;
        // What failed while the receiver ran is ours, though the list could not be read until now.
        let since = recording_since.map(|at| self.clock.earliest(at));
        let begin = since.map_or(*started_at, |since| since.min(*started_at));
        let adopt_at = begin - sweeper.settings.hook.first_run;
        sweeper.store.save_page(&held.lease, rows, listing, adopt_at, *now).await
    }
}

/// What a failed page says of the link that was followed. A link that GitHub has just handed out may
/// be tried again by the next pass when the server fails; a stored one has had that chance.
fn fault(error: &GitHubError, origin: Origin) -> LinkFault {
    match (error, origin) {
        (
            GitHubError::BadCursor { .. } | GitHubError::Refused { status: 404, .. },
            Origin::Stored,
        ) => LinkFault::Old,
        (GitHubError::BadCursor { .. }, Origin::ThisPass)
        | (GitHubError::Failing { .. }, Origin::Stored)
        | (GitHubError::Refused { .. } | GitHubError::ForeignLink { .. }, _) => LinkFault::Bad,
        (
            GitHubError::RateLimited { .. }
            | GitHubError::Unauthorized { .. }
            | GitHubError::Gone { .. }
            | GitHubError::Ambiguous { .. }
            | GitHubError::Failing { .. }
            | GitHubError::Unavailable { .. },
            _,
        ) => LinkFault::None,
    }
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
