//! One request from head to answer, in the order of SPEC section 7.

use std::{net::SocketAddr, sync::Arc, time::Instant};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, header::EXPECT, request::Parts};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::time::timeout;

use super::{
    Receiver,
    answer::Answer,
    body,
    head::{self, Head, Wrapping},
    headers,
    hook::Hook,
    index::{self, Index},
    record,
    signature::Unverified,
};
use crate::{
    connections::{Connections, Place},
    domain::delivery::Via,
    store::types::{Arrival, Recorded},
};

/// From this size on a body is examined off the threads that serve connections.
const LARGE: usize = 512 * 1024;

/// How much of an unwanted body is read after the answer. A client that is still sending when the
/// connection closes would see a reset instead of the answer.
const LINGER_BYTES: usize = 64 * 1024 * 1024;

/// Answers one request.
pub(super) async fn handle(
    receiver: &Receiver,
    place: &Place,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    let started = Instant::now();
    let (parts, mut body) = request.into_parts();
    let hooks = receiver.hooks();
    let answer = match hooks.at(parts.uri.path()) {
        None => Answer::UnknownPath,
        Some(hook) => {
            let answer = match receive(receiver, place, hook, &parts, &mut body, peer).await {
                Ok(answer) | Err(answer) => answer,
            };
            hook.count(answer, started.elapsed());
            answer
        }
    };
    receiver.connections.answered(place);
    // A client that waits for `100 Continue` has sent nothing, and reading would invite it to.
    if !body.is_end_stream() && !parts.headers.contains_key(EXPECT) {
        tokio::spawn(timeout(receiver.limits.within, discard(body)));
    }
    answer.response()
}

/// `Err` only for the convenience of `?`: each is an answer.
async fn receive(
    receiver: &Receiver,
    place: &Place,
    hook: &Arc<Hook>,
    parts: &Parts,
    body: &mut Incoming,
    peer: SocketAddr,
) -> Result<Answer, Answer> {
    let head = head::check(&parts.method, &parts.headers)?;
    let (bytes, share) = body::collect(body, receiver.limits, &receiver.budget).await?;
    Connections::take(place);
    let received_at = receiver.clock.now();
    let examined = examine(hook, &parts.headers, head.wrapping, &bytes).await?;
    let index = examined.map_err(|why| refuse(hook, why, peer))?;
    let wanted = hook.wants(&head.event, index.as_ref());
    let Index { action, installation_id, repository_id } = index.unwrap_or_default();
    let arrival = Arrival {
        hook: hook.name.clone(),
        guid: head.guid.clone(),
        event: head.event.clone(),
        action,
        installation_id,
        repository_id,
        // Whether we had asked for it shows in GitHub's list, not in the request.
        via: Via::Delivery,
        received_at,
        wanted,
        forward: wanted && hook.forwards,
        headers: headers::stored(&parts.headers),
        body: bytes,
    };
    let recorded = record::record(&receiver.store, hook, arrival, share).await?;
    let answer = acknowledge(recorded, &head, wanted);
    tell(hook, &head, answer);
    Ok(answer)
}

type Examined = Result<Option<Index>, Unverified>;

/// Signature first, then the index. The outer error is a failure of ours.
async fn examine(
    hook: &Arc<Hook>,
    headers: &HeaderMap,
    wrapping: Wrapping,
    body: &Bytes,
) -> Result<Examined, Answer> {
    if body.len() < LARGE {
        return Ok(verify(hook, headers, wrapping, body));
    }
    let (hook, headers, body) = (Arc::clone(hook), headers.clone(), body.clone());
    tokio::task::spawn_blocking(move || verify(&hook, &headers, wrapping, &body))
        .await
        .map_err(|_| Answer::StoreDown)
}

fn verify(hook: &Hook, headers: &HeaderMap, wrapping: Wrapping, body: &[u8]) -> Examined {
    let position = hook.secrets.verify(headers, body)?;
    hook.count_match(position);
    Ok(index::read(body, wrapping))
}

fn acknowledge(recorded: Recorded, head: &Head, wanted: bool) -> Answer {
    match recorded {
        Recorded::New if head.event.is_ping() => Answer::Pong,
        Recorded::New if !wanted => Answer::Ignored,
        Recorded::New => Answer::Accepted,
        Recorded::Again => Answer::Duplicate,
        Recorded::Conflict => Answer::Conflict,
    }
}

fn tell(hook: &Hook, head: &Head, answer: Answer) {
    let (guid, event) = (&head.guid, &head.event);
    if answer == Answer::Conflict {
        tracing::warn!(
            delivery.guid = %guid, hook = %hook.name, %event,
            "a known delivery arrived with other bytes; the first ones are kept"
        );
    }
    tracing::debug!(
        delivery.guid = %guid, hook = %hook.name, %event, result = answer.word(),
        "delivery received"
    );
}

fn refuse(hook: &Hook, why: Unverified, peer: SocketAddr) -> Answer {
    if let Some(count) = hook.unverified.count(Instant::now()) {
        tracing::warn!(
            hook = %hook.name, reason = why.as_str(), peer.ip = %peer.ip(), count,
            "requests without a valid signature were refused"
        );
    }
    Answer::BadSignature
}

async fn discard(mut body: Incoming) {
    let mut left = LINGER_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let size = frame.data_ref().map_or(0, Bytes::len);
        let Some(rest) = left.checked_sub(size) else { return };
        left = rest;
    }
}
