//! What a request asks for, in its body or its query; what cannot be read is answered in JSON.

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Query, Request},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE, request::Parts},
};
use serde::de::DeserializeOwned;

use super::api::Problem;

/// A body of JSON. An absent one is an empty object, whatever its content type.
pub(super) struct Body<T>(pub(super) T);

/// The query of a request.
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let json = is_json(request.headers());
        let bytes = Bytes::from_request(request, state).await.map_err(|rejected| {
            Problem::new(rejected.status(), format!("the body cannot be read: {rejected}"))
        })?;
        let bytes = match bytes.as_ref() {
            [] => b"{}",
            _ if !json => {
                let why = "send the body as content-type: application/json";
                return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
            }
            bytes => bytes,
        };
        let parsed = serde_json::from_slice(bytes);
        parsed.map(Self).map_err(|error| Problem::usage(format!("the body: {error}")))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let asked = Query::from_request_parts(parts, state).await;
        asked.map(|Query(asked)| Self(asked)).map_err(|why| Problem::usage(why.body_text()))
    }
}

/// `application/json`, or a format that is JSON at heart.
fn is_json(headers: &HeaderMap) -> bool {
    let sent = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = sent.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}
