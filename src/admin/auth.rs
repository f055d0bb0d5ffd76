//! The bearer token, compared in constant time.

use axum::http::{HeaderMap, header::AUTHORIZATION};
use secrecy::{ExposeSecret, SecretString};

use super::api::Problem;

/// Lets a request pass that carries the configured token.
///
/// # Errors
/// 403 when no token is configured, 401 when the request's is absent or wrong.
pub(super) fn require(headers: &HeaderMap, token: Option<&SecretString>) -> Result<(), Problem> {
    let Some(token) = token else {
        return Err(Problem::forbidden("set admin.token_file to allow requests that change state"));
    };
    let sent = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .unwrap_or_default();
    aws_lc_rs::constant_time::verify_slices_are_equal(
        sent.as_bytes(),
        token.expose_secret().as_bytes(),
    )
    .map_err(|_| Problem::unauthorized("send the admin token as Authorization: Bearer"))
}
