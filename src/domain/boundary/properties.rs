//! A simulated list that grows while it is walked, cut and refused at random.

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::domain::samples::{HOUR, at, secs};

const OVERLAP: i64 = 120;
const PAGE: usize = 4;

fn rules() -> Rules {
    Rules {
        window: secs(100 * HOUR),
        overlap: secs(OVERLAP),
        recheck_every: secs(1800),
        recheck_back: secs(900),
    }
}

/// One row: its place in the list is its number, its time is not later than when it is listed.
#[derive(Debug, Clone, Copy)]
struct Row {
    number: usize,
    delivered: i64,
}

/// The list and what has been read of it.
struct World {
    now: i64,
    rows: Vec<Row>,
    read: BTreeSet<usize>,
    listing: Listing,
}

impl World {
    /// Serves the page below a cursor (a row number); `None` serves the newest.
    fn serve(&mut self, link: Option<&str>) -> PageSeen {
        let below = link.map_or(self.rows.len(), |link| link.parse().unwrap());
        let from = below.saturating_sub(PAGE);
        let page = &self.rows[from..below];
        self.read.extend(page.iter().map(|row| row.number));
        PageSeen {
            newest: page.iter().map(|row| at(row.delivered)).max(),
            oldest: page.iter().map(|row| at(row.delivered)).min(),
            blank: false,
            below: if from > 0 { Below::Page(from.to_string()) } else { Below::Nothing },
        }
    }

    /// The newest page, whose rows nobody can read.
    fn serve_blank(&self) -> PageSeen {
        let from = self.rows.len().saturating_sub(PAGE);
        let below = if from > 0 { Below::Page(from.to_string()) } else { Below::Nothing };
        PageSeen { newest: None, oldest: None, blank: !self.rows.is_empty(), below }
    }

    /// Lets a walk run until its end or for so many pages; returns how many are left.
    fn run(&mut self, mut walk: Walk, mut pages: u32, refuse: bool, blank: bool) -> u32 {
        let mut link = walk.link().map(str::to_owned);
        while pages > 0 {
            if refuse && link.is_some() {
                refused(&mut self.listing, &walk);
                return pages;
            }
            pages -= 1;
            let page = match &link {
                None if blank => self.serve_blank(),
                link => self.serve(link.as_deref()),
            };
            match walk.page(&mut self.listing, &page) {
                Step::More(next) => link = Some(next),
                Step::End | Step::Lost => break,
            }
        }
        pages
    }

    fn sweep(&mut self, budget: u32, refuse: bool, blank: bool) {
        let (head_pages, gap_pages) = shares(budget, self.listing.next_gap().is_some());
        let reach = self.listing.reach(at(self.now), &rules(), Occasion::Scheduled);
        let walk = Walk::head(&self.listing, at(self.now), reach);
        let mut left = gap_pages + self.run(walk, head_pages, false, blank);
        while let Some(walk) = self.listing.next_gap().and_then(|i| Walk::gap(&self.listing, i)) {
            if left == 0 {
                break;
            }
            left = self.run(walk, left, refuse, false);
        }
    }

    /// Every unread row is accounted for: in a gap, or so young that the next walk reads it.
    fn check(&self) -> Result<(), TestCaseError> {
        let listing = &self.listing;
        for pair in listing.gaps.windows(2) {
            prop_assert!(pair[0].floor > pair[1].ceiling, "overlapping: {:?}", listing);
        }
        let Some(head) = listing.head else { return Ok(()) };
        for row in self.rows.iter().filter(|row| !self.read.contains(&row.number)) {
            let time = at(row.delivered);
            let young = time >= head - secs(OVERLAP);
            let in_gap = listing.gaps.iter().any(|gap| gap.floor <= time && time <= gap.ceiling);
            prop_assert!(young || in_gap, "{:?} is lost to {:?}", row, listing);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_row_is_read_in_the_end_and_none_is_passed_over(
        steps in vec((1..400i64, vec(0..90i64, 0..30), 1..6u32,
                    prop::bool::weighted(0.2), prop::bool::weighted(0.2)), 1..40),
    ) {
        let mut world =
            World { now: 0, rows: Vec::new(), read: BTreeSet::new(), listing: Listing::default() };
        for (pause, lags, budget, refuse, blank) in steps {
            world.now += pause;
            // New rows are listed late by their lag; in order, as GitHub's numbers are.
            let mut times: Vec<i64> = lags.iter().map(|lag| world.now - lag.min(&pause)).collect();
            times.sort_unstable();
            for delivered in times {
                let number = world.rows.len();
                world.rows.push(Row { number, delivered });
            }
            world.sweep(budget, refuse, blank);
            world.check()?;
        }
        for _ in 0..1000 {
            world.now += 120;
            world.sweep(2, false, false);
            world.check()?;
            if world.listing.complete() && world.read.len() == world.rows.len() {
                break;
            }
        }
        prop_assert_eq!(world.read.len(), world.rows.len());
        prop_assert!(world.listing.complete());
    }
}
