//! How the listing changes page by page.

use super::*;
use crate::domain::samples::{DAY, HOUR, MINUTE, at, secs};

fn rules() -> Rules {
    Rules {
        window: secs(3 * DAY),
        overlap: secs(2 * MINUTE),
        recheck_every: secs(30 * MINUTE),
        recheck_back: secs(15 * MINUTE),
    }
}

fn below(next: Option<&str>) -> Below {
    next.map_or(Below::Nothing, |link| Below::Page(link.to_owned()))
}

fn rows(newest: i64, oldest: i64, next: Option<&str>) -> PageSeen {
    PageSeen {
        newest: Some(at(newest)),
        oldest: Some(at(oldest)),
        blank: false,
        below: below(next),
    }
}

fn no_rows(next: Option<&str>) -> PageSeen {
    PageSeen { newest: None, oldest: None, blank: false, below: below(next) }
}

fn gap(floor: i64, ceiling: i64, link: Option<&str>) -> Gap {
    Gap { floor: at(floor), ceiling: at(ceiling), link: link.map(str::to_owned) }
}

/// Read completely up to this moment, rechecked then.
fn read_up_to(head: i64) -> Listing {
    let then = Some(at(head));
    Listing { head: then, gaps: Vec::new(), rechecked_at: then, complete_at: then }
}

fn head(listing: &Listing, now: i64) -> Walk {
    Walk::head(listing, at(now), listing.reach(at(now), &rules(), Occasion::Scheduled))
}

fn more(link: &str) -> Step {
    Step::More(link.to_owned())
}

fn floor(listing: &Listing, now: i64, occasion: Occasion) -> DateTime<Utc> {
    listing.reach(at(now), &rules(), occasion).floor
}

#[test]
fn the_first_walk_reads_the_whole_window() {
    // L25: also with an empty database.
    let reach = Listing::default().reach(at(0), &rules(), Occasion::Manual);
    assert_eq!(reach, Reach { floor: at(-3 * DAY), rechecks: true });
}

#[test]
fn later_walks_read_back_the_overlap_and_now_and_then_further() {
    let listing = read_up_to(0);
    assert_eq!(floor(&listing, 120, Occasion::Scheduled), at(-120));
    assert_eq!(floor(&listing, 30 * MINUTE, Occasion::Manual), at(-120));
    assert_eq!(floor(&listing, 17 * MINUTE, Occasion::Scheduled), at(-120));
    let listing = Listing { head: Some(at(28 * MINUTE)), ..read_up_to(0) };
    let reach = listing.reach(at(30 * MINUTE), &rules(), Occasion::Scheduled);
    assert_eq!(reach, Reach { floor: at(15 * MINUTE), rechecks: true });
    assert_eq!(floor(&listing, 29 * MINUTE, Occasion::Scheduled), at(26 * MINUTE));
}

#[test]
fn by_hand_a_walk_goes_as_deep_as_wished_but_not_beyond_the_window() {
    let listing = read_up_to(0);
    assert_eq!(floor(&listing, 60, Occasion::Since(at(-DAY))), at(-DAY));
    assert_eq!(floor(&listing, 60, Occasion::Since(at(30))), at(-120));
    assert_eq!(floor(&listing, 60, Occasion::Since(at(-9 * DAY))), at(60 - 3 * DAY));
}

#[test]
fn a_clock_that_was_set_back_makes_the_walk_read_more() {
    assert_eq!(floor(&read_up_to(HOUR), 0, Occasion::Manual), at(-120));
}

#[test]
fn a_single_page_without_a_link_is_read_and_complete() {
    // L6
    let mut listing = Listing::default();
    let mut walk = head(&listing, 100);
    assert_eq!(walk.link(), None);
    assert_eq!(walk.page(&mut listing, &rows(90, 10, None)), Step::End);
    assert_eq!(listing, read_up_to(100));
}

#[test]
fn the_boundary_is_the_start_of_the_walk_not_its_end() {
    // W2
    let mut listing = read_up_to(0);
    let mut walk = head(&listing, 100);
    assert_eq!(walk.page(&mut listing, &rows(150, -50, Some("2"))), more("2"));
    assert_eq!(walk.page(&mut listing, &rows(-60, -130, Some("3"))), more("3"));
    assert_eq!(walk.page(&mut listing, &rows(-131, -300, Some("4"))), Step::End);
    assert_eq!((listing.head, listing.complete_at), (Some(at(100)), Some(at(100))));
}

#[test]
fn one_older_row_does_not_end_a_walk() {
    let mut listing = read_up_to(0);
    let mut walk = head(&listing, 100);
    assert_eq!(walk.page(&mut listing, &rows(90, -500, Some("2"))), more("2"));
    assert_eq!(listing.gaps, [gap(-120, -120, Some("2"))]);
}

#[test]
fn a_walk_without_anything_new_costs_one_page() {
    let mut listing = read_up_to(0);
    let mut walk = head(&listing, 120);
    assert_eq!(walk.page(&mut listing, &rows(-121, -9000, Some("2"))), Step::End);
    assert_eq!(listing.head, Some(at(120)));
    assert!(listing.complete());
}

#[test]
fn an_empty_list_is_fine_and_moves_nothing() {
    // L15
    let mut fresh = Listing::default();
    assert_eq!(head(&fresh, 100).page(&mut fresh, &no_rows(None)), Step::End);
    assert_eq!((fresh.head, fresh.complete_at), (None, Some(at(100))));
    // L19
    let mut known = read_up_to(0);
    assert_eq!(head(&known, 100).page(&mut known, &no_rows(None)), Step::End);
    assert_eq!(known.head, Some(at(0)));
    let mut holed = Listing { gaps: vec![gap(-900, -500, Some("7"))], ..read_up_to(0) };
    let before = holed.clone();
    assert_eq!(head(&holed, 100).page(&mut holed, &no_rows(None)), Step::End);
    assert_eq!(holed, before);
}

#[test]
fn an_empty_page_with_a_link_is_passed_over() {
    let mut listing = read_up_to(0);
    let mut walk = head(&listing, 100);
    assert_eq!(walk.page(&mut listing, &no_rows(Some("2"))), more("2"));
    assert_eq!(listing.gaps, [gap(-120, 100, Some("2"))], "cut here, nothing has been read");
    assert_eq!(walk.page(&mut listing, &rows(90, 10, Some("3"))), more("3"));
    assert_eq!(walk.page(&mut listing, &no_rows(Some("4"))), more("4"));
    assert_eq!(listing.gaps, [gap(-120, 10, Some("4"))]);
}

#[test]
fn a_blank_page_is_owed_to_the_next_walk_from_the_head() {
    let blank = |next| PageSeen { blank: true, ..no_rows(next) };
    // The whole list.
    let mut listing = read_up_to(0);
    assert_eq!(head(&listing, 100).page(&mut listing, &blank(None)), Step::End);
    assert_eq!(listing.gaps, [gap(-120, 100, None)]);
    assert_eq!((listing.head, listing.complete_at), (Some(at(100)), Some(at(0))));
    // One page among others: what is below is read all the same.
    let mut walk = head(&listing, 220);
    assert_eq!(walk.page(&mut listing, &rows(210, 190, Some("2"))), more("2"));
    assert_eq!(walk.page(&mut listing, &blank(Some("3"))), more("3"));
    assert_eq!(listing.gaps, [gap(-120, 190, None)], "cut here, nothing is passed over");
    assert_eq!(walk.page(&mut listing, &rows(50, -200, None)), Step::End);
    assert_eq!(listing.gaps, [gap(-120, 190, None)]);
    // Once it can be read nothing is owed any more.
    let mut walk = head(&listing, 340);
    assert_eq!(walk.page(&mut listing, &rows(330, -200, None)), Step::End);
    assert!(listing.complete());
    assert_eq!(listing.complete_at, Some(at(340)));
}

#[test]
fn a_cut_walk_remembers_what_it_did_not_read() {
    // L8, L20, W21: budget, kill or error after page 2 of 5.
    let mut listing = read_up_to(0);
    let mut walk = head(&listing, 5000);
    walk.page(&mut listing, &rows(4900, 4000, Some("2")));
    walk.page(&mut listing, &rows(3999, 3000, Some("3")));
    assert!(!listing.complete());
    assert_eq!(listing.gaps, [gap(-120, 3000, Some("3"))]);
    assert_eq!((listing.head, listing.complete_at), (Some(at(5000)), Some(at(0))));

    let mut rest = Walk::gap(&listing, listing.next_gap().unwrap()).unwrap();
    assert_eq!(rest.link(), Some("3"));
    assert_eq!(rest.page(&mut listing, &rows(2999, 1000, Some("4"))), more("4"));
    assert_eq!(listing.gaps, [gap(-120, 1000, Some("4"))]);
    assert_eq!(rest.page(&mut listing, &rows(999, -400, Some("5"))), more("5"));
    assert_eq!(rest.page(&mut listing, &rows(-401, -900, Some("6"))), Step::End);
    assert_eq!((listing.head, listing.complete_at), (Some(at(5000)), Some(at(5000))));
}

#[test]
fn a_page_whose_link_is_lost_leaves_a_hole_that_the_next_walk_from_the_head_covers() {
    let mut listing = read_up_to(0);
    let mut walk = head(&listing, 5000);
    assert!(walk.ends_above_floor(at(4000)) && !walk.ends_above_floor(at(-120)));
    let lost = PageSeen { below: Below::Lost, ..rows(4900, 4000, None) };
    assert_eq!(walk.page(&mut listing, &lost), Step::Lost);
    assert_eq!(listing.gaps, [gap(-120, 4000, None)]);
    assert_eq!(listing.complete_at, Some(at(0)));
    assert_eq!(floor(&listing, 5120, Occasion::Manual), at(-120));
    let mut walk = head(&listing, 5120);
    assert_eq!(walk.page(&mut listing, &rows(5100, -130, None)), Step::End);
    assert_eq!(listing.complete_at, Some(at(5120)));
}

#[test]
fn a_new_head_leaves_an_older_gap_alone_and_the_oldest_is_resumed_first() {
    let mut listing = Listing { gaps: vec![gap(-5000, -3000, Some("old"))], ..read_up_to(0) };
    let mut walk = head(&listing, 120);
    walk.page(&mut listing, &rows(100, 50, Some("new")));
    assert_eq!(listing.gaps, [gap(-120, 50, Some("new")), gap(-5000, -3000, Some("old"))]);
    assert_eq!(listing.next_gap(), Some(1));
}

#[test]
fn a_gap_within_the_overlap_becomes_part_of_the_new_walk() {
    let mut listing = Listing { gaps: vec![gap(-5000, -60, Some("old"))], ..read_up_to(0) };
    let mut walk = head(&listing, 120);
    walk.page(&mut listing, &rows(100, 50, Some("new")));
    assert_eq!(listing.gaps, [gap(-5000, 50, Some("new"))]);
    assert_eq!(walk.page(&mut listing, &rows(40, -200, Some("x"))), more("x"));
    assert_eq!(walk.page(&mut listing, &rows(-5001, -5100, Some("y"))), Step::End);
    assert!(listing.complete());
}

#[test]
fn gaps_that_a_deep_walk_covers_vanish() {
    let gaps = vec![gap(-900, -500, Some("a")), gap(-9000, -8000, Some("b"))];
    let mut listing = Listing { gaps, ..read_up_to(0) };
    let reach = listing.reach(at(100), &rules(), Occasion::Since(at(-2000)));
    let mut walk = Walk::head(&listing, at(100), reach);
    walk.page(&mut listing, &rows(90, 80, Some("new")));
    assert_eq!(listing.gaps, [gap(-2000, 80, Some("new")), gap(-9000, -8000, Some("b"))]);
}

#[test]
fn a_refused_cursor_restarts_from_the_head_and_reaches_the_gap() {
    // L13
    let mut listing = Listing { gaps: vec![gap(-5000, -3000, Some("old"))], ..read_up_to(0) };
    let walk = Walk::gap(&listing, 0).unwrap();
    refused(&mut listing, &walk);
    assert_eq!(listing.gaps, [gap(-5000, -3000, None)]);
    assert_eq!((listing.next_gap(), Walk::gap(&listing, 0)), (None, None));
    assert_eq!(floor(&listing, 120, Occasion::Scheduled), at(-5000));
    let mut walk = head(&listing, 120);
    walk.page(&mut listing, &rows(100, 50, Some("new")));
    assert_eq!(listing.gaps, [gap(-5000, 50, Some("new"))]);
}

#[test]
fn a_cursor_answered_with_page_one_still_closes_the_gap() {
    // L13
    let mut listing = Listing { gaps: vec![gap(-5000, -3000, Some("old"))], ..read_up_to(0) };
    let mut walk = Walk::gap(&listing, 0).unwrap();
    assert_eq!(walk.page(&mut listing, &rows(0, -2000, Some("2"))), more("2"));
    assert_eq!(listing.gaps, [gap(-5000, -3000, Some("2"))]);
    assert_eq!(walk.page(&mut listing, &rows(-2001, -4900, Some("3"))), more("3"));
    assert_eq!(walk.page(&mut listing, &rows(-4901, -6000, None)), Step::End);
    assert!(listing.complete());
}

#[test]
fn many_gaps_become_one_without_losing_anything() {
    let gaps: Vec<Gap> = (1..=16).map(|n| gap(-1000 * n, 300 - 1000 * n, Some("x"))).collect();
    let mut listing = Listing { gaps, ..read_up_to(0) };
    let mut walk = head(&listing, 120);
    walk.page(&mut listing, &rows(100, 50, Some("new")));
    assert_eq!(listing.gaps.len(), 16);
    assert_eq!(listing.gaps[0], gap(-1000, 50, Some("new")));
    assert_eq!(listing.gaps[1], gap(-2000, -1700, Some("x")));
    // The walk now ends at the floor of what it took over, not at its own.
    assert_eq!(walk.page(&mut listing, &rows(-121, -900, Some("y"))), more("y"));
    assert_eq!(walk.page(&mut listing, &rows(-1001, -1100, Some("z"))), Step::End);
    assert_eq!(listing.gaps.len(), 15);
}

#[test]
fn what_github_lists_no_more_is_forgotten_and_told() {
    let gaps = vec![gap(-900, -500, Some("a")), gap(-9000, -8000, Some("b"))];
    let mut listing = Listing { gaps, ..read_up_to(0) };
    assert_eq!(listing.forget_unreachable(at(-7999)), [gap(-9000, -8000, Some("b"))]);
    assert_eq!(listing.gaps, [gap(-900, -500, Some("a"))]);
}

#[test]
fn a_recheck_counts_when_it_begins() {
    let mut listing = Listing { head: Some(at(28 * MINUTE)), ..read_up_to(0) };
    let mut walk = head(&listing, 30 * MINUTE);
    walk.page(&mut listing, &rows(1799, 1700, Some("2")));
    assert_eq!(listing.rechecked_at, Some(at(30 * MINUTE)));
    assert_eq!(listing.gaps, [gap(15 * MINUTE, 1700, Some("2"))]);
}

#[test]
fn at_least_half_of_the_budget_goes_to_the_gaps() {
    assert_eq!(shares(200, false), (200, 0));
    assert_eq!(shares(200, true), (100, 100));
    assert_eq!(shares(3, true), (1, 2));
    assert_eq!(shares(1, true), (0, 1));
}
