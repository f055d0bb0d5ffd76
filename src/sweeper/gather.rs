//! Reads GitHub's list: the new head first, then the holes that earlier passes left.

use std::collections::HashSet;

use chrono::{DateTime, Utc};

use super::{Pass, Progress, Trigger, report::Ending};
use crate::{
    domain::boundary::{Listing, Occasion, PageSeen, Reach, Rules, Step, Walk, refused, shares},
    github::{GitHubError, Listed, Page, PageRef},
    store::{
        StoreError,
        types::{HookMemory, SavedPage},
    },
};

/// Why a walk ended, where it makes a difference to the rest of the pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// At its floor, at the end of the list, or with its share of the pages.
    Fine,
    /// By an error or a shutdown: no further walk in this pass.
    Halt,
}

/// What one pass over the list carries along.
struct Reader {
    listing: Listing,
    /// What was first attempted before this is adopted by the first pass.
    adopt_at: DateTime<Utc>,
    /// Links followed in this walk: one that comes back is a loop.
    followed: HashSet<String>,
    /// Pages this pass may still read.
    left: u32,
}

impl Pass<'_> {
    /// Walks the list as far as the page budget goes, committing every page together with what
    /// is still unread. Whatever ends a walk early, nothing is concluded about the unread part.
    pub(super) async fn gather(&mut self, memory: HookMemory) -> Result<(), StoreError> {
        let settings = &self.sweeper.settings;
        let sweep = &settings.sweep;
        let mut reader = Reader {
            listing: memory.listing,
            adopt_at: self.now - settings.hook.first_run,
            followed: HashSet::new(),
            left: sweep.max_pages,
        };
        self.forget(&mut reader.listing);
        let reach = self.reach(&reader.listing);
        let walk = Walk::head(&reader.listing, self.now, reach);
        // A hole without a link is read from the head, so the head then needs all pages.
        let (head, _) = shares(sweep.max_pages, reader.listing.next_gap().is_some());
        let mut end = self.walk(walk, &mut reader, head).await?;
        // The oldest hole first: it is the nearest to the end of the window.
        while end != End::Halt && reader.left > 0 {
            let gap = reader.listing.next_gap();
            let Some(walk) = gap.and_then(|index| Walk::gap(&reader.listing, index)) else { break };
            let share = reader.left;
            end = self.walk(walk, &mut reader, share).await?;
        }
        if reader.listing.complete() {
            self.tally.numbers.complete = self.tally.numbers.error.is_none();
        } else {
            self.tally.ending = self.tally.ending.max(Ending::Partial);
        }
        Ok(())
    }

    fn reach(&self, listing: &Listing) -> Reach {
        let settings = &self.sweeper.settings;
        let rules = Rules {
            window: settings.hook.policy.window,
            overlap: settings.sweep.overlap,
            recheck_every: settings.sweep.recheck_every,
            recheck_back: settings.sweep.recheck_back,
        };
        let occasion = match (self.request.trigger, self.request.since) {
            (Trigger::Startup | Trigger::Scheduled, None) => Occasion::Scheduled,
            (Trigger::Manual, None) => Occasion::Manual,
            (_, Some(since)) => Occasion::Since(since),
        };
        listing.reach(self.now, &rules, occasion)
    }

    /// Holes that GitHub lists no more will never be read; that is said once, aloud.
    fn forget(&self, listing: &mut Listing) {
        let settings = &self.sweeper.settings;
        for gap in listing.forget_unreachable(self.now - settings.hook.policy.window) {
            tracing::error!(
                hook = %settings.hook.name,
                from = %gap.floor,
                to = %gap.ceiling,
                "a part of GitHub's list left the window before it was read"
            );
        }
    }

    /// Reads at most `pages` pages of one walk.
    async fn walk(
        &mut self,
        mut walk: Walk,
        reader: &mut Reader,
        pages: u32,
    ) -> Result<End, StoreError> {
        reader.followed.clear();
        let mut next = walk.link().map_or(PageRef::Head, |link| PageRef::Link(link.to_owned()));
        for _ in 0..pages.min(reader.left) {
            if self.stopped() {
                return Ok(End::Halt);
            }
            let (answer, calls) = self.sweeper.list(&next).await;
            self.tally.numbers.api_calls += calls;
            reader.left -= 1;
            let page = match answer {
                Ok(page) => page,
                Err(error @ GitHubError::BadCursor { .. }) if next != PageRef::Head => {
                    return self.start_over(&walk, reader, &error).await;
                }
                Err(error) => {
                    self.failed(&error).await?;
                    return Ok(End::Halt);
                }
            };
            match next {
                PageRef::Head => self.tally.head_read = true,
                PageRef::Link(link) => {
                    reader.followed.insert(link);
                }
            }
            match self.take(page, &mut walk, reader).await? {
                Step::End => return Ok(End::Fine),
                Step::More(link) if reader.followed.contains(&link) => {
                    return self.looped(&walk, reader, &link).await;
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
        let seen =
            PageSeen { newest: times().max(), oldest: times().min(), next: page.next.clone() };
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
            tracing::warn!(%hook, rows = page.unreadable.len(), first, "rows of the list are unreadable");
        }
        let rows = self.tally.numbers.listed;
        self.sweeper.progress.send_replace(Progress::Listing { rows });
        Ok(step)
    }
}

impl Pass<'_> {
    /// GitHub refused a link: the hole stays, and is read again from the head.
    async fn start_over(
        &mut self,
        walk: &Walk,
        reader: &mut Reader,
        error: &GitHubError,
    ) -> Result<End, StoreError> {
        let hook = &self.sweeper.settings.hook.name;
        tracing::warn!(%hook, %error, "a page link is refused; reading again from the head");
        refused(&mut reader.listing, walk);
        self.save_page(reader, &[]).await?;
        Ok(End::Fine)
    }

    /// GitHub sent us back to a page already read in this walk: going on would never end.
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
        let Reader { listing, adopt_at, .. } = reader;
        sweeper.store.save_page(&held.lease, rows, listing, *adopt_at, *now).await
    }
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
