//! Short words for what the tests of the store put in.

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use redeliverd::{
    domain::{
        attempt::Attempt,
        boundary::Listing,
        delivery::{Means, Via},
        ids::{AttemptId, EventName, Guid, HookName},
    },
    github::Listed,
    store::{
        Store,
        types::{Acquired, Arrival, Intent, Lease, SavedPage},
    },
};

/// Minutes after the start of every story.
pub(crate) fn at(minutes: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 123_456_000).unwrap() + TimeDelta::minutes(minutes)
}

pub(crate) fn hook(name: &str) -> HookName {
    HookName::new(name).unwrap()
}

pub(crate) fn ci() -> HookName {
    hook("ci")
}

pub(crate) fn guid(text: &str) -> Guid {
    Guid::new(text).unwrap()
}

pub(crate) fn push() -> EventName {
    EventName::new("push").unwrap()
}

pub(crate) fn arrival(text: &str, minutes: i64, body: &[u8]) -> Arrival {
    Arrival {
        hook: ci(),
        guid: guid(text),
        event: push(),
        action: None,
        installation_id: None,
        repository_id: Some(7),
        via: Via::Delivery,
        received_at: at(minutes),
        wanted: true,
        forward: false,
        headers: vec![("x-github-event".to_owned(), "push".to_owned())],
        body: Bytes::copy_from_slice(body),
    }
}

pub(crate) fn listed(text: &str, id: u64, minutes: i64, code: Option<i32>) -> Listed {
    Listed {
        guid: guid(text),
        event: push(),
        action: Some("opened".to_owned()),
        installation_id: Some(11),
        repository_id: None,
        attempt: Attempt {
            id: AttemptId::new(id).unwrap(),
            delivered_at: at(minutes),
            redelivery: false,
            status: "as GitHub says".to_owned(),
            code,
        },
    }
}

/// Takes the lease of a hook, which must be free.
pub(crate) async fn lease(store: &Store, hook: &HookName) -> Lease {
    match store.acquire(hook, "test", at(0), at(1_000)).await.unwrap() {
        Acquired::Held(lease) => lease,
        Acquired::Busy { owner, .. } => panic!("{owner} has it"),
    }
}

/// Stores a page without touching what is remembered of the listing.
pub(crate) async fn page(store: &Store, lease: &Lease, rows: &[Listed]) -> SavedPage {
    store.save_page(lease, rows, &Listing::default(), at(0), at(0)).await.unwrap()
}

pub(crate) fn intent(text: &str, id: u64, minutes: i64, sweep: Option<i64>) -> Intent {
    Intent {
        hook: ci(),
        guid: guid(text),
        means: Means::Redeliver,
        attempt: AttemptId::new(id).unwrap(),
        probe: false,
        sweep,
        asked_at: at(minutes),
    }
}
