//! Which events a filter wants.

use super::*;
use crate::domain::samples::event;

fn pattern(event: &str, action: Option<&str>) -> EventPattern {
    EventPattern { event: event.to_owned(), action: action.map(str::to_owned) }
}

fn wants(filter: &Filter, name: &str, action: Option<&str>) -> bool {
    filter.wants(&event(name), action, Some(1), Some(2)) == Interest::Wanted
}

#[test]
fn the_empty_filter_wants_everything_but_pings() {
    let filter = Filter::default();
    assert!(wants(&filter, "push", None));
    assert!(wants(&filter, "an_event_of_tomorrow", Some("odd")));
    assert_eq!(filter.wants(&event("push"), None, None, None), Interest::Wanted);
    assert!(!wants(&filter, "ping", None));
}

#[test]
fn a_ping_is_unwanted_even_where_it_is_included() {
    let filter = Filter { include: vec![pattern("ping", None)], ..Filter::default() };
    assert!(!wants(&filter, "ping", None));
}

#[test]
fn include_names_whole_events_and_single_actions() {
    // W22
    let include = vec![pattern("push", None), pattern("workflow_job", Some("queued"))];
    let filter = Filter { include, ..Filter::default() };
    assert!(wants(&filter, "push", None));
    assert!(wants(&filter, "push", Some("any")));
    assert!(wants(&filter, "workflow_job", Some("queued")));
    assert!(!wants(&filter, "workflow_job", Some("completed")));
    assert!(!wants(&filter, "workflow_job", None));
    assert!(!wants(&filter, "issues", Some("queued")));
}

#[test]
fn an_event_without_a_name_could_be_a_wanted_one() {
    let include = vec![pattern("push", None)];
    let exclude = vec![pattern("issues", None)];
    let repositories = BTreeSet::from([2]);
    let filter = Filter { include, exclude, repositories, ..Filter::default() };
    let unnamed = EventName::unnamed();
    assert_eq!(filter.wants(&unnamed, None, None, Some(2)), Interest::Wanted);
    assert_eq!(filter.wants(&unnamed, None, None, Some(3)), Interest::Unwanted);
}

#[test]
fn exclude_wins_over_include() {
    let filter = Filter {
        include: vec![pattern("issues", None)],
        exclude: vec![pattern("issues", Some("edited"))],
        ..Filter::default()
    };
    assert!(wants(&filter, "issues", Some("opened")));
    assert!(!wants(&filter, "issues", Some("edited")));
}

#[test]
fn listed_ids_want_only_events_that_carry_one_of_them() {
    let filter = Filter {
        installations: BTreeSet::from([1, 7]),
        repositories: BTreeSet::from([2]),
        ..Filter::default()
    };
    let wants = |installation, repository| {
        filter.wants(&event("push"), None, installation, repository) == Interest::Wanted
    };
    assert!(wants(Some(1), Some(2)));
    assert!(wants(Some(7), Some(2)));
    assert!(!wants(Some(3), Some(2)));
    assert!(!wants(Some(1), Some(3)));
    assert!(!wants(None, Some(2)));
    assert!(!wants(Some(1), None));
}
