//! Recording: first, again, conflict; bytes come back as they came.

use bytes::Bytes;
use redeliverd::{
    domain::delivery::Via,
    store::types::{Arrival, Recorded},
};

use super::world::{arrival, at, ci, guid, hook};
use crate::support::backends::{Backend, on_both};

on_both! {
    the_first_arrival_is_new_and_comes_back_as_it_was,
    the_same_bytes_again_are_counted,
    other_bytes_are_a_conflict_and_the_first_stay,
    bytes_read_through_the_api_are_in_conflict_with_none,
    bytes_come_to_a_receipt_that_has_none,
    two_hooks_share_a_guid,
    any_bytes_come_back,
    a_large_body_comes_back,
    text_columns_survive_nul,
    the_newest_arrival_leaves_out_what_was_fetched,
    an_unknown_guid_is_none,
    a_closed_store_answers_with_an_error,
    check_writable_commits,
    the_size_is_known,
}

async fn the_first_arrival_is_new_and_comes_back_as_it_was(backend: Backend) {
    let store = backend.open().await;
    assert!(store.records());
    let sent = Arrival {
        action: Some("opened".to_owned()),
        installation_id: Some(i64::MAX),
        repository_id: Some(9_007_199_254_740_993),
        via: Via::Api,
        wanted: false,
        headers: vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("x-github-event".to_owned(), "push".to_owned()),
            ("x-github-event".to_owned(), "twice, \u{0} and ü".to_owned()),
        ],
        ..arrival("a", 1, b"{\"zen\": \"Keep it logically awesome.\"}")
    };
    assert_eq!(store.record(sent.clone()).await.unwrap(), Recorded::New);
    assert!(store.records());

    let stored = store.receipt(&ci(), &guid("a")).await.unwrap().unwrap();
    assert!(stored.arrival == sent);
    assert_eq!((stored.arrivals, stored.conflicts, stored.body_pruned), (1, 0, false));
    assert_eq!(stored.body_size, 37);
    assert_eq!(
        hex::encode(stored.digest),
        // printf '{"zen": "Keep it logically awesome."}' | sha256sum
        DIGEST
    );
}

const DIGEST: &str = "2082a38ecd30ad9dcac5c3d1ab4c8e0e9f0d2b1f4c6d713738badba7db1ac5df";

async fn the_same_bytes_again_are_counted(backend: Backend) {
    let store = backend.open().await;
    store.record(arrival("a", 1, b"{}")).await.unwrap();
    assert_eq!(store.record(arrival("a", 2, b"{}")).await.unwrap(), Recorded::Again);
    assert_eq!(store.record(arrival("a", 3, b"{}")).await.unwrap(), Recorded::Again);
    let stored = store.receipt(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!((stored.arrivals, stored.conflicts), (3, 0));
    assert_eq!(stored.arrival.received_at, at(1));
}

async fn other_bytes_are_a_conflict_and_the_first_stay(backend: Backend) {
    let store = backend.open().await;
    store.record(arrival("a", 1, b"first")).await.unwrap();
    assert_eq!(store.record(arrival("a", 2, b"other")).await.unwrap(), Recorded::Conflict);
    assert_eq!(store.record(arrival("a", 3, b"first")).await.unwrap(), Recorded::Again);
    let stored = store.receipt(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!((stored.arrivals, stored.conflicts), (3, 1));
    assert_eq!(&stored.arrival.body[..], b"first");
}

async fn bytes_read_through_the_api_are_in_conflict_with_none(backend: Backend) {
    let store = backend.open().await;
    let read = |name| Arrival { via: Via::Api, ..arrival(name, 2, b"{\"a\":1}") };
    store.record(arrival("sent-first", 1, b"{ \"a\": 1 }")).await.unwrap();
    assert_eq!(store.record(read("sent-first")).await.unwrap(), Recorded::Again);
    store.record(read("read-first")).await.unwrap();
    let sent = arrival("read-first", 3, b"{ \"a\": 1 }");
    assert_eq!(store.record(sent).await.unwrap(), Recorded::Again);
    for name in ["sent-first", "read-first"] {
        let stored = store.receipt(&ci(), &guid(name)).await.unwrap().unwrap();
        assert_eq!((stored.arrivals, stored.conflicts), (2, 0), "{name}");
    }
}

// D1
async fn bytes_come_to_a_receipt_that_has_none(backend: Backend) {
    let store = backend.open().await;
    let body = b"{\"zen\": \"Keep it logically awesome.\"}";
    let headers = vec![("x-github-event".to_owned(), "push".to_owned())];
    let real = |guid, at| Arrival { headers: headers.clone(), ..arrival(guid, at, body) };
    // An application said that it has it; then it arrives here too.
    let reported = Arrival { headers: Vec::new(), ..arrival("a", 1, b"") };
    store.record(reported).await.unwrap();
    assert_eq!(store.record(real("a", 2)).await.unwrap(), Recorded::Again);
    let stored = store.receipt(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!((&stored.arrival.body[..], &stored.arrival.headers), (&body[..], &headers));
    assert_eq!((stored.conflicts, stored.arrival.received_at), (0, at(1)));
    assert_eq!(hex::encode(stored.digest), DIGEST);
    assert_eq!(store.record(arrival("a", 3, b"other")).await.unwrap(), Recorded::Conflict);
    // Retention took the bytes; the same come again.
    store.record(real("b", 1)).await.unwrap();
    store.prune_payloads(&ci(), at(5), chrono::DateTime::UNIX_EPOCH).await.unwrap();
    assert!(store.receipt(&ci(), &guid("b")).await.unwrap().unwrap().body_pruned);
    assert_eq!(store.record(arrival("b", 6, b"other")).await.unwrap(), Recorded::Conflict);
    assert_eq!(store.record(real("b", 7)).await.unwrap(), Recorded::Again);
    let stored = store.receipt(&ci(), &guid("b")).await.unwrap().unwrap();
    assert_eq!((stored.body_pruned, &stored.arrival.body[..]), (false, &body[..]));
}

async fn two_hooks_share_a_guid(backend: Backend) {
    let store = backend.open().await;
    let second = Arrival { hook: hook("mirror"), ..arrival("a", 2, b"{}") };
    assert_eq!(store.record(arrival("a", 1, b"{}")).await.unwrap(), Recorded::New);
    assert_eq!(store.record(second).await.unwrap(), Recorded::New);
    assert_eq!(store.hooks_of(&guid("a")).await.unwrap(), [ci(), hook("mirror")]);
    assert_eq!(store.hooks_of(&guid("b")).await.unwrap(), []);
}

// R18, R36
async fn any_bytes_come_back(backend: Backend) {
    let store = backend.open().await;
    let every_byte: Vec<u8> = (0..=255).cycle().take(5_000).collect();
    let bodies: [&[u8]; 7] = [
        b"",
        b"\0",
        b"{\"diff\": \"a\\u0000b\"}",
        "{\"zen\":  \"\u{1f600} \u{2028} ü\"}\r\n".as_bytes(),
        &every_byte,
        &[0xff, 0xfe, 0xc0],
        &vec![b'x'; 30_000],
    ];
    for (n, body) in bodies.into_iter().enumerate() {
        let name = format!("body-{n}");
        assert_eq!(store.record(arrival(&name, 1, body)).await.unwrap(), Recorded::New);
        let stored = store.receipt(&ci(), &guid(&name)).await.unwrap().unwrap();
        assert!(stored.arrival.body == body, "{name}");
        assert_eq!(stored.body_size, body.len() as u64);
    }
}

// R9
async fn a_large_body_comes_back(backend: Backend) {
    let store = backend.open().await;
    let mut state = 1_u32;
    // Half noise, half runs, so that neither storing it raw nor compressing it is trivial.
    let body: Vec<u8> = (0..2_000_000_u32)
        .map(|n| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if n % 1000 < 500 { state.to_be_bytes()[0] } else { b'r' }
        })
        .collect();
    store
        .record(Arrival { body: Bytes::from(body.clone()), ..arrival("a", 1, b"") })
        .await
        .unwrap();
    let stored = store.receipt(&ci(), &guid("a")).await.unwrap().unwrap();
    assert!(stored.arrival.body == body);
}

// R38
async fn text_columns_survive_nul(backend: Backend) {
    let store = backend.open().await;
    let odd = Arrival { action: Some("a\0b".to_owned()), ..arrival("a", 1, b"{}") };
    assert_eq!(store.record(odd).await.unwrap(), Recorded::New);
    let stored = store.receipt(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!(stored.arrival.action.as_deref(), Some("a\u{fffd}b"));
}

async fn the_newest_arrival_leaves_out_what_was_fetched(backend: Backend) {
    let store = backend.open().await;
    assert_eq!(store.newest_arrival(&ci(), at(0)).await.unwrap(), None);
    store.record(Arrival { via: Via::Api, ..arrival("fetched", 9, b"") }).await.unwrap();
    assert_eq!(store.newest_arrival(&ci(), at(0)).await.unwrap(), None);
    store.record(arrival("b", 5, b"")).await.unwrap();
    store.record(arrival("a", 3, b"")).await.unwrap();
    store.record(Arrival { hook: hook("other"), ..arrival("c", 8, b"") }).await.unwrap();
    assert_eq!(store.newest_arrival(&ci(), at(0)).await.unwrap(), Some(at(5)));
    assert_eq!(store.newest_arrival(&ci(), at(5)).await.unwrap(), None);
}

async fn an_unknown_guid_is_none(backend: Backend) {
    let store = backend.open().await;
    assert!(store.receipt(&ci(), &guid("a")).await.unwrap().is_none());
    assert!(store.delivery(&ci(), &guid("a")).await.unwrap().is_none());
    assert!(store.story(&ci(), &guid("a")).await.unwrap().is_none());
}

async fn a_closed_store_answers_with_an_error(backend: Backend) {
    let store = backend.open().await;
    store.record(arrival("a", 1, b"{}")).await.unwrap();
    store.close().await;
    store.close().await;
    assert!(store.record(arrival("b", 1, b"{}")).await.is_err());
    assert!(store.hook(&ci()).await.is_err());
    let store = backend.open().await;
    assert!(store.receipt(&ci(), &guid("a")).await.unwrap().is_some());
}

async fn check_writable_commits(backend: Backend) {
    let store = backend.open().await;
    store.check_writable(at(1)).await.unwrap();
    store.check_writable(at(2)).await.unwrap();
}

async fn the_size_is_known(backend: Backend) {
    let store = backend.open().await;
    assert!(store.size_bytes().await.unwrap() > 50_000);
    let expected = if backend.url().starts_with("sqlite") { "sqlite" } else { "postgres" };
    assert_eq!(store.kind(), expected);
}
