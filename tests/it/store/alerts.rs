//! What was found out about the daemon's own state, and what was told of it.

use redeliverd::{
    domain::{
        condition::{Condition, State, Subject},
        notice::Said,
    },
    store::types::{AttemptCount, ConditionRow, Conditions},
};

use super::world::{at, ci, hook, lease, listed, page};
use crate::support::backends::{Backend, on_both};

on_both! {
    one_process_watches_until_it_stops_or_is_late,
    what_was_found_replaces_what_was_found_before,
    what_was_said_is_remembered_per_channel_until_it_ended,
    failed_attempts_count_only_when_none_succeeded,
    the_newest_first_attempt_is_told_per_hook,
}

fn missing() -> Subject {
    Subject { condition: Condition::DeliveriesMissing, hook: Some(ci()) }
}

fn disk() -> Subject {
    Subject { condition: Condition::DiskLow, hook: None }
}

async fn one_process_watches_until_it_stops_or_is_late(backend: Backend) {
    let store = backend.open().await;
    assert!(store.keep_watch("me", at(0), at(5)).await.unwrap());
    assert!(!store.keep_watch("you", at(4), at(9)).await.unwrap());
    assert_eq!(store.conditions().await.unwrap().checked_at, Some(at(0)));
    assert!(store.keep_watch("me", at(4), at(8)).await.unwrap(), "it renews its own");
    assert!(!store.keep_watch("you", at(8), at(12)).await.unwrap(), "it lasts to its end");
    assert!(store.keep_watch("you", at(9), at(13)).await.unwrap(), "it was late");
    assert!(!store.keep_watch("me", at(10), at(14)).await.unwrap());
    store.release_watch("me").await.unwrap();
    assert!(!store.keep_watch("me", at(10), at(14)).await.unwrap(), "it is not ours to release");
    store.release_watch("you").await.unwrap();
    assert!(store.keep_watch("me", at(10), at(14)).await.unwrap());
    assert_eq!(store.conditions().await.unwrap().checked_at, Some(at(10)));
}

async fn what_was_found_replaces_what_was_found_before(backend: Backend) {
    let store = backend.open().await;
    assert_eq!(store.conditions().await.unwrap(), Conditions::default());
    let row = |subject, state, minutes, summary: &str| ConditionRow {
        subject,
        state,
        since: at(minutes),
        summary: summary.to_owned(),
    };
    let first = [
        row(missing(), State::Firing, 1, "one is missing"),
        row(disk(), State::Unknown, 2, "nobody could look"),
    ];
    store.save_conditions(&first).await.unwrap();
    assert_eq!(store.conditions().await.unwrap().rows, first);
    let second = [row(disk(), State::Resolved, 3, "a NUL \0 of an error's text")];
    store.save_conditions(&second).await.unwrap();
    let kept = row(disk(), State::Resolved, 3, "a NUL \u{fffd} of an error's text");
    assert_eq!(store.conditions().await.unwrap().rows, [kept]);
}

async fn what_was_said_is_remembered_per_channel_until_it_ended(backend: Backend) {
    let store = backend.open().await;
    let said = |minutes, count| Said { since: at(0), at: at(minutes), count };
    store.say("slack", &missing(), Some(&said(1, 1))).await.unwrap();
    store.say("slack", &disk(), Some(&said(1, 0))).await.unwrap();
    store.say("email", &missing(), Some(&said(2, 1))).await.unwrap();
    store.say("slack", &missing(), Some(&said(3, u64::MAX >> 1))).await.unwrap();
    // As another process would find it.
    let store = backend.open().await;
    let mut slack = store.said("slack").await.unwrap();
    slack.sort_by_key(|(subject, _)| subject.condition);
    assert_eq!(slack, [(missing(), said(3, u64::MAX >> 1)), (disk(), said(1, 0))]);
    store.say("slack", &missing(), None).await.unwrap();
    assert_eq!(store.said("slack").await.unwrap(), [(disk(), said(1, 0))]);
    assert_eq!(store.said("email").await.unwrap(), [(missing(), said(2, 1))]);
    assert!(store.said("log").await.unwrap().is_empty());
}

async fn failed_attempts_count_only_when_none_succeeded(backend: Backend) {
    let store = backend.open().await;
    let lease = lease(&store, &ci()).await;
    let rows = [
        listed("old", 1, 0, Some(200)),
        listed("a", 2, 10, Some(502)),
        listed("b", 3, 12, Some(302)),
        listed("b", 4, 14, Some(500)),
        listed("c", 5, 15, None),
    ];
    page(&store, &lease, &rows).await;
    let failing = AttemptCount {
        succeeded: false,
        failed: 3,
        failing_since: Some(at(10)),
        newest_code: Some(500),
    };
    assert_eq!(store.attempts_since(&ci(), at(5)).await.unwrap(), failing);
    let later = AttemptCount { failed: 1, failing_since: Some(at(14)), ..failing };
    assert_eq!(store.attempts_since(&ci(), at(13)).await.unwrap(), later);
    assert_eq!(store.attempts_since(&ci(), at(15)).await.unwrap(), AttemptCount::default());
    assert!(store.attempts_since(&ci(), at(0)).await.unwrap().succeeded);
    assert_eq!(
        store.attempts_since(&hook("mirror"), at(0)).await.unwrap(),
        AttemptCount::default()
    );
}

async fn the_newest_first_attempt_is_told_per_hook(backend: Backend) {
    let store = backend.open().await;
    assert_eq!(store.newest_first_attempt(&ci()).await.unwrap(), None);
    let held = lease(&store, &ci()).await;
    let rows =
        [listed("a", 1, 1, Some(500)), listed("b", 2, 2, None), listed("a", 3, 9, Some(200))];
    page(&store, &held, &rows).await;
    assert_eq!(store.newest_first_attempt(&ci()).await.unwrap(), Some(at(2)));
    assert_eq!(store.newest_first_attempt(&hook("mirror")).await.unwrap(), None);
}
