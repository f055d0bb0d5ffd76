//! The answers of SPEC section 7: status, JSON body, and the word that metrics and logs use.

use bytes::Bytes;
use http::{
    HeaderValue, Response, StatusCode,
    header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER},
};
use http_body_util::Full;

/// Seconds after which trying again may help. GitHub never tries again by itself; proxies may.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("5");

/// How one request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Recorded for the first time.
    Accepted,
    /// Known, same bytes.
    Duplicate,
    /// Known, other bytes; the first bytes are kept.
    Conflict,
    /// Recorded, but the hook's filter does not want it.
    Ignored,
    /// Recorded: GitHub's `ping`.
    Pong,
    /// No hook has this path.
    UnknownPath,
    /// Anything but POST.
    WrongMethod,
    /// Neither JSON nor form, or compressed.
    WrongContentType,
    /// `X-GitHub-Delivery` is absent, repeated or no sane token.
    BadGuid,
    /// `X-GitHub-Event` is absent, repeated or no sane token.
    BadEvent,
    /// The body is, or says it will be, over the limit.
    TooLarge,
    /// The body did not arrive in time.
    TooSlow,
    /// The body broke off: nobody is likely to read this answer.
    Broken,
    /// No configured secret made this signature.
    BadSignature,
    /// No room for another body now.
    OverCapacity,
    /// The store did not commit.
    StoreDown,
}

impl Answer {
    /// Every answer, in the order of the definition.
    pub(super) const ALL: &[Self] = &[
        Self::Accepted,
        Self::Duplicate,
        Self::Conflict,
        Self::Ignored,
        Self::Pong,
        Self::UnknownPath,
        Self::WrongMethod,
        Self::WrongContentType,
        Self::BadGuid,
        Self::BadEvent,
        Self::TooLarge,
        Self::TooSlow,
        Self::Broken,
        Self::BadSignature,
        Self::OverCapacity,
        Self::StoreDown,
    ];

    /// The stable word for the label `result` and the log.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Duplicate => "duplicate",
            Self::Conflict => "conflict",
            Self::Ignored => "ignored",
            Self::Pong => "pong",
            Self::UnknownPath => "unknown_path",
            Self::WrongMethod => "method",
            Self::WrongContentType => "content_type",
            Self::BadGuid | Self::BadEvent => "header",
            Self::TooLarge => "payload_too_large",
            Self::TooSlow => "timeout",
            Self::Broken => "aborted",
            Self::BadSignature => "signature",
            Self::OverCapacity => "over_capacity",
            Self::StoreDown => "unavailable",
        }
    }

    /// The status code.
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Accepted | Self::Ignored | Self::Pong => StatusCode::ACCEPTED,
            Self::Duplicate | Self::Conflict => StatusCode::OK,
            Self::UnknownPath => StatusCode::NOT_FOUND,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::WrongContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BadGuid | Self::BadEvent | Self::Broken => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::BadSignature => StatusCode::UNAUTHORIZED,
            Self::OverCapacity | Self::StoreDown => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Whether the request was verified, so that the answer is an acknowledgement or its failure.
    pub(super) fn is_verified(self) -> bool {
        self == Self::StoreDown || self.status().is_success()
    }

    /// The JSON body.
    pub(super) fn body(self) -> &'static str {
        match self {
            Self::Accepted => r#"{"status":"accepted"}"#,
            Self::Duplicate => r#"{"status":"duplicate"}"#,
            Self::Conflict => r#"{"status":"conflict"}"#,
            Self::Ignored => r#"{"status":"ignored"}"#,
            Self::Pong => r#"{"status":"pong"}"#,
            Self::UnknownPath => r#"{"error":"not_found"}"#,
            Self::WrongMethod => r#"{"error":"method_not_allowed"}"#,
            Self::WrongContentType => r#"{"error":"unsupported_media_type"}"#,
            Self::BadGuid => r#"{"error":"header","header":"X-GitHub-Delivery"}"#,
            Self::BadEvent => r#"{"error":"header","header":"X-GitHub-Event"}"#,
            Self::TooLarge => r#"{"error":"payload_too_large"}"#,
            Self::TooSlow => r#"{"error":"timeout"}"#,
            Self::Broken => r#"{"error":"incomplete_body"}"#,
            Self::BadSignature => r#"{"error":"signature"}"#,
            Self::OverCapacity | Self::StoreDown => r#"{"error":"unavailable"}"#,
        }
    }

    /// The whole response.
    pub(super) fn response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from_static(self.body().as_bytes())));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self {
            Self::WrongMethod => {
                headers.insert(ALLOW, HeaderValue::from_static("POST"));
            }
            Self::OverCapacity | Self::StoreDown => {
                headers.insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
            }
            // What is left of the body is not worth a kept connection.
            Self::TooLarge | Self::TooSlow | Self::Broken => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Self::Accepted
            | Self::Duplicate
            | Self::Conflict
            | Self::Ignored
            | Self::Pong
            | Self::UnknownPath
            | Self::WrongContentType
            | Self::BadGuid
            | Self::BadEvent
            | Self::BadSignature => {}
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_json_and_names_a_status_or_an_error() {
        for answer in Answer::ALL {
            let value: serde_json::Value = serde_json::from_str(answer.body()).unwrap();
            let key = if answer.status().is_success() { "status" } else { "error" };
            assert!(value[key].is_string(), "{answer:?}");
            assert_eq!(answer.response().headers()[CONTENT_TYPE], "application/json");
        }
    }

    #[test]
    fn all_lists_every_answer_once_and_in_order() {
        for (index, answer) in Answer::ALL.iter().enumerate() {
            assert_eq!(*answer as usize, index);
        }
        assert_eq!(Answer::ALL.len(), Answer::StoreDown as usize + 1);
    }

    #[test]
    fn refusals_carry_the_headers_that_http_wants() {
        assert_eq!(Answer::WrongMethod.response().headers()[ALLOW], "POST");
        assert!(Answer::StoreDown.response().headers().contains_key(RETRY_AFTER));
        assert!(Answer::OverCapacity.response().headers().contains_key(RETRY_AFTER));
        assert_eq!(Answer::TooLarge.response().headers()[CONNECTION], "close");
    }
}
