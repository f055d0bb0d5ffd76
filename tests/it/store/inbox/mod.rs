//! The inbox: claims, leases, conclusions, replays, dead letters, order; on both databases.

mod claims;
mod operate;
mod order;
mod prune;
mod record;

use chrono::{DateTime, TimeDelta, Utc};
use redeliverd::{
    domain::retry::{HandoverResult, HandoverState, Next},
    store::{
        Store,
        types::{Arrival, Claim, Claimed, Conclusion, Recorded, Turn},
    },
};

use super::world::{arrival, at, ci, guid};

/// An event for the application.
pub(super) fn event(text: &str, minutes: i64) -> Arrival {
    Arrival { forward: true, ..arrival(text, minutes, b"{\"zen\": true}") }
}

pub(super) async fn take_in(store: &Store, guids: &[&str]) {
    for (minute, guid) in (0..).zip(guids) {
        assert_eq!(store.record(event(guid, minute)).await.unwrap(), Recorded::New);
    }
}

/// A claim for `limit` events with a lease of two minutes, half of it for retries.
pub(super) fn claim(limit: u32, now: DateTime<Utc>) -> Claim {
    Claim {
        limit,
        retries: limit / 2,
        lease_until: now + TimeDelta::minutes(2),
        expired_before: now,
        max_attempts: 3,
        ordered: false,
        cursor: 0,
    }
}

pub(super) async fn turn(
    store: &Store,
    owner: &str,
    conclusions: &[Conclusion],
    claim: Option<Claim>,
    minutes: i64,
) -> Turn {
    store.hand_over(&ci(), owner, conclusions, claim.as_ref(), at(minutes)).await.unwrap()
}

pub(super) async fn claimed(store: &Store, owner: &str, limit: u32, minutes: i64) -> Vec<Claimed> {
    turn(store, owner, &[], Some(claim(limit, at(minutes))), minutes).await.claimed
}

pub(super) fn concluded(
    claimed: Claimed,
    result: HandoverResult,
    next: Next,
    minutes: i64,
) -> Conclusion {
    Conclusion {
        claimed,
        started_at: at(minutes),
        finished_at: at(minutes),
        result,
        status_code: Some(if result == HandoverResult::Processed { 200 } else { 500 }),
        detail: Some("the application's words".to_owned()),
        next,
        mark: None,
    }
}

pub(super) fn done(claimed: Claimed, minutes: i64) -> Conclusion {
    concluded(claimed, HandoverResult::Processed, Next::Done, minutes)
}

pub(super) fn failed(claimed: Claimed, due: i64, minutes: i64) -> Conclusion {
    concluded(claimed, HandoverResult::Failed, Next::Again { due_at: at(due) }, minutes)
}

pub(super) async fn state(store: &Store, text: &str) -> Option<HandoverState> {
    store.inbox_row(&ci(), &guid(text)).await.unwrap().map(|row| row.state)
}

/// (waiting, processing, processed, dead)
pub(super) async fn counts(store: &Store) -> (u64, u64, u64, u64) {
    let counts = store.inbox_counts(&ci()).await.unwrap();
    (counts.waiting, counts.processing, counts.processed, counts.dead)
}

/// The GUIDs of claims.
pub(super) async fn guids(store: &Store, claimed: &[Claimed]) -> Vec<String> {
    let mut guids = Vec::new();
    for claimed in claimed {
        let event = store.sendable(claimed.seq).await.unwrap().unwrap();
        guids.push(event.receipt.arrival.guid.to_string());
    }
    guids
}
