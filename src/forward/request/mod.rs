//! What the application gets: the same bytes, the stored headers, and our own beside them.

use chrono::{DateTime, SecondsFormat, Utc};
use http::{HeaderMap, HeaderName, HeaderValue};
use secrecy::SecretString;

use super::sign::signature;
use crate::{
    domain::{delivery::Via, ids::HookName},
    store::types::Sendable,
};

const SIGNATURE_256: HeaderName = HeaderName::from_static("x-hub-signature-256");
const SIGNATURE_1: HeaderName = HeaderName::from_static("x-hub-signature");

/// The headers of the `nth` hand-over of this event. `secret` signs what was read through the API:
/// those bytes were never signed by GitHub.
pub(super) fn headers(
    hook: &HookName,
    event: &Sendable,
    nth: u32,
    secret: Option<&SecretString>,
) -> HeaderMap {
    let arrival = &event.receipt.arrival;
    let mut headers = HeaderMap::with_capacity(arrival.headers.len() + 8);
    for (name, value) in &arrival.headers {
        // They came in over HTTP, so they can go out; what an older version stored may not.
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value.as_bytes()))
        {
            headers.append(name, value);
        }
    }
    if let (Via::Api, Some(secret)) = (arrival.via, secret) {
        headers.remove(SIGNATURE_1);
        put(&mut headers, SIGNATURE_256, &signature(secret, &arrival.body));
    }
    let own = |name| HeaderName::from_static(name);
    put(&mut headers, own("idempotency-key"), &format!("{hook}/{}", arrival.guid));
    put(&mut headers, own("x-redeliverd-attempt"), &nth.to_string());
    put(&mut headers, own("x-redeliverd-via"), arrival.via.as_str());
    put(&mut headers, own("x-redeliverd-received-at"), &time(arrival.received_at));
    if let Some(at) = event.first_attempt_at {
        put(&mut headers, own("x-redeliverd-first-attempt-at"), &time(at));
    }
    if event.newest_handed_at.is_some_and(|newest| newest > happened_at(event)) {
        put(&mut headers, own("x-redeliverd-late"), "true");
    }
    if event.replayed {
        put(&mut headers, own("x-redeliverd-replay"), "true");
    }
    headers
}

/// When the event happened, as near as we know: what GitHub sent only once arrived then, on our own
/// clock; what it sent again happened when it was first sent.
pub(super) fn happened_at(event: &Sendable) -> DateTime<Utc> {
    let arrival = &event.receipt.arrival;
    match arrival.via {
        Via::Delivery => arrival.received_at,
        Via::Redelivery | Via::Api => event.first_attempt_at.unwrap_or(arrival.received_at),
    }
}

fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    // Numbers, times and validated identifiers are always header values.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests;
