//! How large and how slow a request to the admin listener may be.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, HttpBody as _},
    extract::Request,
    http::StatusCode,
    middleware::Next,
    response::Response,
};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use tokio::time::timeout;

use super::{api::Problem, auth::reads};
use crate::connections::{Connections, Place};

/// Bytes of a request's body, at most. None of ours is longer than a line.
const MAX_BODY: usize = 64 * 1024;

/// What is read of a larger one, so that its sender gets as far as the answer.
const MAX_DISCARDED: usize = 8 * 1024 * 1024;

/// How long a body may take.
const BODY: Duration = Duration::from_secs(10);

/// How long an answer to a reading request may take.
const READING: Duration = Duration::from_secs(30);

/// How long a changing request may take: a whole sweep.
const CHANGING: Duration = Duration::from_mins(30);

/// Reads the body within its limits, then has the request answered within its time.
pub(super) async fn bounded(request: Request, next: Next) -> Result<Response, Problem> {
    let (head, body) = request.into_parts();
    let body = match timeout(BODY, read(body)).await {
        Ok(body) => body?,
        Err(_) => return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the body is too slow")),
    };
    if let Some(place) = head.extensions.get::<Arc<Place>>() {
        Connections::take(place);
    }
    let within = if reads(&head.method) { READING } else { CHANGING };
    let answer = next.run(Request::from_parts(head, Body::from(body)));
    timeout(within, answer)
        .await
        .map_err(|_| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "no answer in time"))
}

/// The whole body, or why not.
async fn read(mut body: Body) -> Result<Bytes, Problem> {
    let too_large = || Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large");
    let declared = body.size_hint().lower();
    if usize::try_from(declared).map_or(true, |declared| declared > MAX_DISCARDED) {
        return Err(too_large());
    }
    let (mut kept, mut size) = (BytesMut::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::usage("the body ends too early"))?;
        let Ok(piece) = frame.into_data() else { continue };
        size += piece.len();
        if size > MAX_DISCARDED {
            break;
        }
        if size <= MAX_BODY {
            kept.extend_from_slice(&piece);
        }
    }
    if size > MAX_BODY { Err(too_large()) } else { Ok(kept.freeze()) }
}
