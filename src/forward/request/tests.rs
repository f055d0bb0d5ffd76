use bytes::Bytes;
use chrono::TimeZone;

use super::*;
use crate::{
    domain::ids::{EventName, Guid},
    store::types::{Arrival, StoredReceipt},
};

fn at(minute: u32) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 3, 1, 12, minute, 0).unwrap()
}

fn hook() -> HookName {
    HookName::new("ci").unwrap()
}

/// Received at 12:10, not known from the list.
fn event(via: Via) -> Sendable {
    let headers = [
        ("content-type", "application/json"),
        ("user-agent", "GitHub-Hookshot/0a1b2c3"),
        ("x-github-delivery", "g-1"),
        ("x-hub-signature-256", "sha256=from-github"),
        ("x-hub-signature", "sha1=from-github"),
    ];
    Sendable {
        receipt: StoredReceipt {
            arrival: Arrival {
                hook: hook(),
                guid: Guid::new("g-1").unwrap(),
                event: EventName::new("push").unwrap(),
                action: None,
                installation_id: None,
                repository_id: Some(7),
                via,
                received_at: at(10),
                wanted: true,
                forward: true,
                headers: headers.map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec(),
                body: Bytes::from_static(b"Hello, World!"),
            },
            arrivals: 1,
            conflicts: 0,
            body_size: 13,
            digest: [0; 32],
            body_pruned: false,
        },
        first_attempt_at: None,
        newest_handed_at: None,
        replayed: false,
    }
}

fn sent(event: &Sendable) -> Vec<(String, String)> {
    let secret = SecretString::from("It's a Secret to Everybody");
    headers(&hook(), event, 3, Some(&secret))
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect()
}

fn value<'h>(sent: &'h [(String, String)], name: &str) -> Option<&'h str> {
    sent.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

#[test]
fn the_stored_headers_go_out_unchanged_with_ours_beside_them() {
    // R30, D19, D23
    let sent = sent(&event(Via::Delivery));
    let expected = [
        ("content-type", "application/json"),
        ("user-agent", "GitHub-Hookshot/0a1b2c3"),
        ("x-github-delivery", "g-1"),
        ("x-hub-signature-256", "sha256=from-github"),
        ("x-hub-signature", "sha1=from-github"),
        ("idempotency-key", "ci/g-1"),
        ("x-redeliverd-attempt", "3"),
        ("x-redeliverd-via", "delivery"),
        ("x-redeliverd-received-at", "2026-03-01T12:10:00Z"),
    ];
    for (name, expect) in expected {
        assert_eq!(value(&sent, name), Some(expect), "{name}");
    }
    assert_eq!(sent.len(), expected.len());
}

#[test]
fn what_was_read_through_the_api_is_signed_anew() {
    let sent = sent(&event(Via::Api));
    // GitHub's example (GITHUB.md section 5).
    let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    assert_eq!(value(&sent, "x-hub-signature-256"), Some(signature));
    assert_eq!(value(&sent, "x-hub-signature"), None, "a signature over other bytes");
    assert_eq!(value(&sent, "x-redeliverd-via"), Some("api"));
}

#[test]
fn an_event_behind_a_newer_one_of_its_repository_is_marked_late() {
    // O1, O3, O4
    let late = |event: &Sendable| value(&sent(event), "x-redeliverd-late").map(str::to_owned);
    let mut redelivered = event(Via::Redelivery);
    redelivered.first_attempt_at = Some(at(0));
    redelivered.newest_handed_at = Some(at(5));
    assert_eq!(late(&redelivered).as_deref(), Some("true"), "sent at 0, overtaken at 5");
    assert_eq!(
        value(&sent(&redelivered), "x-redeliverd-first-attempt-at"),
        Some("2026-03-01T12:00:00Z")
    );
    redelivered.newest_handed_at = Some(at(0));
    assert_eq!(late(&redelivered), None, "only itself was handed over before");
    let mut direct = event(Via::Delivery);
    direct.newest_handed_at = Some(at(9));
    assert_eq!(late(&direct), None);
}

#[test]
fn a_replay_says_so() {
    let mut replayed = event(Via::Delivery);
    replayed.replayed = true;
    assert_eq!(value(&sent(&replayed), "x-redeliverd-replay"), Some("true"));
}

#[test]
fn a_stored_header_that_cannot_be_sent_is_left_out() {
    let mut odd = event(Via::Delivery);
    odd.receipt.arrival.headers.push(("x-github-tenant".into(), "a\r\nx-evil: 1".into()));
    let sent = sent(&odd);
    assert_eq!(value(&sent, "x-github-tenant"), None);
    assert_eq!(value(&sent, "x-evil"), None);
}
