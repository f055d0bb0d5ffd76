//! Turns an answer that is no success into what the caller can do about it.

use http::{StatusCode, header};
use url::Url;

use super::{error::GitHubError, limits, transport::Answer};

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// The newest page of the list.
    Head,
    /// A page that GitHub's link named.
    Link,
    /// Something about one attempt: its detail, or one more of it.
    Attempt,
}

/// Who asked whom, for hints.
#[derive(Debug, Clone)]
pub(super) struct Parties {
    /// App id or client id.
    pub(super) issuer: String,
    /// The API's base URL.
    pub(super) api: String,
}

impl Parties {
    /// The error for an answer outside 200 to 299. A 5xx is the caller's: what it means depends on
    /// whether the request may have acted.
    pub(super) fn refusal(&self, call: Call, answer: &Answer) -> GitHubError {
        let message = answer.message();
        if let Some(until) = limits::limited_until(answer) {
            return GitHubError::RateLimited { until, message };
        }
        let status = answer.status.as_u16();
        // An App that was deleted, or never was on this server: 404, although it is about who asks.
        let nobody = status == 404 && message.eq_ignore_ascii_case("integration not found");
        if nobody || matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            let hint = self.credential_hint(answer, &message);
            return GitHubError::Unauthorized { status, message, hint };
        }
        // A web page comes from something that is not the API, whatever its status.
        let by_api = !answer.is_html();
        match (call, status) {
            (Call::Link, 400 | 422) if by_api => GitHubError::BadCursor { status, message },
            // A retired API version answers 410 to everything, and names itself.
            (Call::Attempt, 410) if message.to_ascii_lowercase().contains("version") => {
                self.refused(call, answer, message)
            }
            (Call::Attempt, 404 | 410 | 422) if by_api => GitHubError::Gone { status, message },
            (Call::Head | Call::Link | Call::Attempt, _) => self.refused(call, answer, message),
        }
    }

    /// A success that is not what the API describes.
    pub(super) fn unexpected(&self, answer: &Answer, what: &str) -> GitHubError {
        let message = if answer.is_html() { "an HTML page".to_owned() } else { what.to_owned() };
        let status = answer.status.as_u16();
        GitHubError::Refused { status, message, hint: self.check_api() }
    }

    fn refused(&self, call: Call, answer: &Answer, message: String) -> GitHubError {
        let hint = match (call, answer.status.as_u16()) {
            (_, 300..=399) => self.redirect_hint(answer),
            (Call::Head | Call::Link, 404) => format!(
                "app {} has no webhook or was deleted, or api_url {} is not the API's base URL",
                self.issuer, self.api
            ),
            (_, 410) => {
                "the server no longer offers this API version; use a newer redeliverd".to_owned()
            }
            _ => self.check_api(),
        };
        GitHubError::Refused { status: answer.status.as_u16(), message, hint }
    }

    fn check_api(&self) -> String {
        format!("check api_url {} (GitHub Enterprise Server needs https://HOST/api/v3)", self.api)
    }

    fn redirect_hint(&self, answer: &Answer) -> String {
        let target = answer
            .headers
            .get(header::LOCATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| Url::parse(value).ok())
            .map(|url| url.origin().ascii_serialization());
        match target {
            Some(target) => {
                format!("api_url {} redirects to {target}, which is not followed", self.api)
            }
            None => format!("api_url {} redirects, which is not followed", self.api),
        }
    }

    fn credential_hint(&self, answer: &Answer, message: &str) -> String {
        let lower = message.to_ascii_lowercase();
        let cause = if super::auth::is_about_time(message) {
            "this machine's clock is wrong".to_owned()
        } else if lower.contains("could not be decoded") || lower.contains("public key") {
            format!(
                "the private key does not belong to app {}, or api_url {} names another server",
                self.issuer, self.api
            )
        } else if answer.status == StatusCode::NOT_FOUND {
            format!("there is no app {} at {}; was it deleted?", self.issuer, self.api)
        } else if answer.status == StatusCode::FORBIDDEN {
            format!("app {} may not read or redeliver its deliveries at {}", self.issuer, self.api)
        } else {
            format!("check the App id {}, its private key and api_url {}", self.issuer, self.api)
        };
        match answer.clock_offset().map(|offset| offset.num_seconds()) {
            Some(ahead @ 30..) => format!("{cause}; our clock is {ahead} s behind GitHub's"),
            Some(behind @ ..=-30) => {
                format!("{cause}; our clock is {} s ahead of GitHub's", behind.unsigned_abs())
            }
            Some(_) | None => cause,
        }
    }
}
