//! What went wrong with a call, in terms of what the caller can do about it.

use chrono::{DateTime, TimeDelta, Utc};
use thiserror::Error;

/// Why a [`Client`](super::Client) cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SetupError {
    /// The key is no RSA private key in PEM, or is damaged.
    #[error("the private key cannot be used: {0}")]
    Key(String),
    /// TLS, proxy settings or the runtime.
    #[error("the HTTP client cannot be set up: {0}")]
    Transport(String),
}

/// A failed call to GitHub. Messages carry GitHub's words, scrubbed of secrets, and a hint.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GitHubError {
    /// A primary or secondary limit: nothing may be sent with this credential before `until`.
    #[error("GitHub's rate limit is reached until {until}: {message}")]
    RateLimited {
        /// When sending is allowed again, on our clock.
        until: DateTime<Utc>,
        /// GitHub's words.
        message: String,
    },
    /// 401, or 403 that is no limit: key, App id, clock or permission is wrong. Do not go on.
    #[error("GitHub refused the credential ({status}: {message}): {hint}")]
    Unauthorized {
        /// The status code.
        status: u16,
        /// GitHub's words.
        message: String,
        /// The likely cause and what to do.
        hint: String,
    },
    /// 404, 410 or 422 about one attempt: unknown, too old, or not to be redelivered.
    #[error("GitHub says that the attempt is gone ({status}: {message})")]
    Gone {
        /// The status code.
        status: u16,
        /// GitHub's words.
        message: String,
    },
    /// 400 or 422 for a link: start again from the head.
    #[error("GitHub refused the page link ({status}: {message})")]
    BadCursor {
        /// The status code.
        status: u16,
        /// GitHub's words.
        message: String,
    },
    /// Another 4xx, or an answer that is not what the API describes (a wrong base URL shows here).
    #[error("GitHub answered {status}: {message}; {hint}")]
    Refused {
        /// The status code.
        status: u16,
        /// GitHub's words.
        message: String,
        /// What to check.
        hint: String,
    },
    /// A request that may have acted was sent and no usable answer came (time-out, reset, 5xx).
    #[error("no usable answer to a request that may have been taken: {message}")]
    Ambiguous {
        /// What happened.
        message: String,
    },
    /// GitHub answered, but failed: the last try of a read got a 5xx, or an answer that broke off. Other
    /// reads may succeed.
    #[error("GitHub failed: {message}")]
    Failing {
        /// What happened.
        message: String,
    },
    /// GitHub could not be reached, or gave no answer to the last try of a read, or a request never
    /// left.
    #[error("GitHub is unavailable: {message}")]
    Unavailable {
        /// What happened.
        message: String,
    },
    /// A link that leaves the API's own origin or path, or is no link at all; never followed.
    #[error("the next-page link {link} leaves the API's own origin and path; not followed")]
    ForeignLink {
        /// The link, without query.
        link: String,
    },
}

/// A failed call and what it cost.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{error}")]
pub struct Failure {
    /// Why it failed.
    pub error: GitHubError,
    /// HTTP requests made, retries included; none for a link that must not be followed.
    pub calls: u32,
    /// GitHub's clock minus ours, by the answer that refused a read; `None` without one, or without its
    /// `Date`.
    pub clock_offset: Option<TimeDelta>,
}

impl GitHubError {
    /// This error, after so many requests.
    pub(super) fn after(self, calls: u32) -> Failure {
        Failure { error: self, calls, clock_offset: None }
    }
}
