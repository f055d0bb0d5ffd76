//! The bearer token, compared in constant time.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::{
    extract::{FromRef, Request, State},
    http::{HeaderMap, Method, header::AUTHORIZATION},
    middleware::Next,
    response::Response,
};
use secrecy::{ExposeSecret, SecretString};

use super::{Admin, Live, api::Problem};

/// Lets a request pass that carries the configured token.
///
/// # Errors
/// 403 when no token is configured, 401 when the request's is absent or wrong.
fn require(headers: &HeaderMap, token: Option<&SecretString>) -> Result<(), Problem> {
    let Some(token) = token else {
        return Err(Problem::forbidden("set admin.token_file to allow requests that change state"));
    };
    let sent = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        // The scheme's name may be spelled either way (RFC 9110, section 11.1).
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.as_bytes());
    let token = token.expose_secret().as_bytes();
    match sent.map(|sent| verify_slices_are_equal(sent, token)) {
        Some(Ok(())) => Ok(()),
        Some(Err(_)) | None => {
            Err(Problem::unauthorized("send the admin token as Authorization: Bearer"))
        }
    }
}

/// Whether a request only looks.
pub(super) fn reads(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// What [`guard`] goes by.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    pub(super) live: Live,
    /// Whether only this machine can reach the listener, wherever its socket came from.
    pub(super) loopback: bool,
}

/// Asks for the token before anything else is looked at: of whoever wants to change something, and
/// of readers, too, where the listener is not on loopback.
pub(super) async fn guard(
    State(Guard { live, loopback }): State<Guard>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if !(reads(request.method()) && loopback) {
        require(request.headers(), Admin::from_ref(&live).token())?;
    }
    Ok(next.run(request).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_counts_and_not_how_the_scheme_is_spelled() {
        let token = SecretString::from("a token");
        let takes = |sent: &str| {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, sent.parse().unwrap())]);
            require(&headers, Some(&token)).is_ok()
        };
        for good in ["Bearer a token", "bearer a token", "BEARER a token"] {
            assert!(takes(good), "{good}");
        }
        for bad in ["a token", "Bearer", "Bearer a", "Bearer  a token", "Basic a token", ""] {
            assert!(!takes(bad), "{bad}");
        }
        assert!(require(&HeaderMap::new(), Some(&token)).is_err());
    }
}
