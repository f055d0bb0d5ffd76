//! The bearer token, compared in constant time.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, header::AUTHORIZATION},
    middleware::Next,
    response::Response,
};
use secrecy::{ExposeSecret, SecretString};

use super::{Admin, api::Problem};

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

/// Asks for the token before anything, reading included, where the listener is not on loopback.
pub(super) async fn off_loopback(
    State(admin): State<Admin>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if !admin.config.admin.listen.ip().is_loopback() {
        require(request.headers(), admin.token())?;
    }
    Ok(next.run(request).await)
}
