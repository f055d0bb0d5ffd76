//! `list`: how far it looks, and that it says so.

use std::slice;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use redeliverd::{
    clock::Clock,
    config::{self, Config, Env},
    domain::{
        delivery::Via,
        ids::{EventName, Guid},
    },
    report::{self, DEPTH, ListQuery},
    store::types::Arrival,
};

use crate::support::{Bench, minutes};

fn config(bench: &Bench) -> Config {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config::from_str("", dir.path(), &Env::default()).unwrap().config;
    slice::from_ref(&bench.settings.hook).clone_into(&mut config.hooks);
    config
}

/// What has arrived and GitHub has not listed.
fn received(
    bench: &Bench,
    guid: &str,
    event: &str,
    action: Option<&str>,
    received_at: DateTime<Utc>,
) -> Arrival {
    Arrival {
        hook: bench.name.clone(),
        guid: Guid::new(guid).unwrap(),
        event: EventName::new(event).unwrap(),
        action: action.map(str::to_owned),
        installation_id: None,
        repository_id: None,
        via: Via::Delivery,
        received_at,
        wanted: true,
        forward: false,
        headers: Vec::new(),
        body: Bytes::new(),
    }
}

#[tokio::test]
async fn a_search_that_finds_little_ends_and_says_where() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    // All of history is excused by the adoption.
    bench.history(2_500, 502, bench.clock.now() - minutes(1));
    bench.sweep().await;
    let (config, now) = (config(&bench), bench.clock.now());
    let list = async |verdict: &str, depth| {
        let query =
            ListQuery { verdict: Some(verdict.to_owned()), limit: 9, depth, ..Default::default() };
        report::list(&bench.store, &config, &query, now).await.unwrap()
    };
    let shallow = list("settled", 2_000).await;
    assert!(shallow.deliveries.is_empty());
    // The 2,000th newest; they are a second apart.
    let end = now - minutes(1) - chrono::TimeDelta::seconds(1_999);
    assert_eq!(shallow.looked_back_to, Some(end));
    assert_eq!(list("settled", DEPTH).await.looked_back_to, None, "history is shorter");
    let full = list("excused", 1).await;
    assert_eq!((full.deliveries.len(), full.looked_back_to), (9, None));
    assert_eq!(list("waiting", 1).await.looked_back_to, None, "only what is open is looked at");
}

/// Listed deliveries are found by their event; receipts that GitHub has not listed have to be looked
/// through, so only the newest are, and the answer says how far.
#[tokio::test]
async fn a_rare_event_is_found_without_reading_every_receipt() {
    let mut bench = Bench::unadopted(|_, _| {}).await;
    bench.history(1, 502, bench.clock.now() - minutes(60));
    bench.sweep().await;
    let now = bench.clock.now();
    for n in 0..30 {
        let rare = matches!(n, 3 | 25);
        let event = if rare { "fork" } else { "star" };
        let arrival = received(&bench, &format!("r{n}"), event, None, now - minutes(30 - n));
        bench.store.record(arrival).await.unwrap();
    }
    let config = config(&bench);
    let list = async |event: &str, since, limit, depth| {
        let event = Some(event.to_owned());
        let query = ListQuery { event, since, limit, depth, ..ListQuery::default() };
        let list = report::list(&bench.store, &config, &query, now).await.unwrap();
        let guids: Vec<_> = list.deliveries.into_iter().map(|one| one.guid).collect();
        (guids, list.looked_back_to)
    };
    let pair = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(list("fork", None, 9, DEPTH).await, (pair(&["r25", "r3"]), None));
    // Ten newer ones: the eleventh newest came eleven minutes ago.
    let end = Some(now - minutes(11));
    assert_eq!(list("fork", None, 9, 10).await, (pair(&["r25"]), end));
    assert_eq!(list("fork", None, 1, 10).await, (pair(&["r25"]), None));
    assert_eq!(list("fork", Some(now - minutes(9)), 9, 10).await, (pair(&["r25"]), None));
    // What GitHub listed of it is found however old it is.
    let (listed, looked_back_to) = list("push", None, 9, 10).await;
    assert_eq!((listed.len(), looked_back_to), (1, end));
}

/// As the table shows them.
#[tokio::test]
async fn one_action_of_an_event_is_named_with_a_dot() {
    let bench = Bench::new().await;
    let now = bench.clock.now();
    for (guid, event, action) in [
        ("a", "issues", Some("opened")),
        ("b", "issues", Some("closed")),
        ("c", "issues", None),
        ("d", "pull_request", Some("opened")),
    ] {
        let arrival = received(&bench, guid, event, action, now);
        bench.store.record(arrival).await.unwrap();
    }
    let config = config(&bench);
    let list = async |event: &str| {
        let query = ListQuery {
            event: Some(event.to_owned()),
            limit: 9,
            depth: DEPTH,
            ..Default::default()
        };
        let list = report::list(&bench.store, &config, &query, now).await.unwrap();
        list.deliveries.into_iter().map(|found| found.guid).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(list("issues").await, "a b c");
    assert_eq!(list("issues.opened").await, "a");
    assert_eq!(list("issues.reopened").await, "");
}
