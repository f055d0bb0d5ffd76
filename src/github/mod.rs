//! GitHub's delivery API for one hook: the only place that knows octocrab and JWTs.

mod auth;
mod client;
mod error;
mod headers;
mod limits;
mod pages;
mod refusal;
mod scrub;
#[cfg(test)]
mod tests;
mod transport;
mod wire;

use std::fmt;

use chrono::TimeDelta;

pub use self::{
    client::Client,
    error::{Failure, GitHubError, SetupError},
    scrub::scrub,
};
use crate::domain::{
    attempt::Attempt,
    ids::{EventName, Guid},
};

/// Where a listing starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageRef {
    /// The newest deliveries.
    Head,
    /// A link that GitHub gave on an earlier page.
    Link(String),
}

/// Rows on a full page of the list, as we ask for them.
pub const PAGE_ROWS: usize = 100;

/// One page of the delivery list, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The rows that could be read, in GitHub's order.
    pub rows: Vec<Listed>,
    /// What was wrong with each row that could not be read: its position and the rule, no values.
    pub unreadable: Vec<String>,
    /// The next page as GitHub's `Link` header names it, made absolute; `None` at the end of the log.
    /// Checked when it is followed: a link that leaves the API's origin or path, or a header that
    /// cannot be read, then gives [`GitHubError::ForeignLink`], so that these rows are not lost and
    /// the rest is not silently left out.
    pub next: Option<String>,
    /// What the answer's headers told.
    pub meta: Meta,
}

/// One row of the list: an attempt with the facts about its event.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The event's key.
    pub guid: Guid,
    /// The event.
    pub event: EventName,
    /// `None` when null or absent.
    pub action: Option<String>,
    /// `None` when null or absent.
    pub installation_id: Option<i64>,
    /// `None` when null or absent.
    pub repository_id: Option<i64>,
    /// The attempt itself.
    pub attempt: Attempt,
}

/// What GitHub holds of one attempt: what it sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Detail {
    /// The list row's facts.
    pub guid: Guid,
    /// The event.
    pub event: EventName,
    /// Request headers as GitHub recorded them; names as given. May hold secrets: not in `Debug`.
    pub headers: Vec<(String, String)>,
    /// The payload, serialised anew from GitHub's JSON: not the bytes first sent.
    pub payload: Vec<u8>,
}

/// The App that a key belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppInfo {
    /// Its id.
    pub id: i64,
    /// Its client id; `None` on servers that know none.
    pub client_id: Option<String>,
    /// Its name for people.
    pub name: String,
}

/// A webhook as GitHub has it. The URL may hold credentials: not in `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct HookConfig {
    /// Where GitHub posts to. `None`: nowhere.
    pub url: Option<String>,
    /// `json` or `form`; `None` when GitHub does not tell.
    pub content_type: Option<String>,
    /// Whether GitHub checks the receiver's certificate.
    pub verifies_tls: bool,
    /// Whether GitHub signs what it sends.
    pub has_secret: bool,
}

/// What the headers of an answer told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Meta {
    /// HTTP requests made for this answer, retries included.
    pub calls: u32,
    /// `x-ratelimit-remaining`.
    pub remaining: Option<i64>,
    /// GitHub's `Date` minus our clock at that moment.
    pub clock_offset: Option<TimeDelta>,
}

impl fmt::Debug for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detail")
            .field("guid", &self.guid)
            .field("event", &self.event)
            .field("payload_bytes", &self.payload.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for HookConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookConfig")
            .field("content_type", &self.content_type)
            .field("verifies_tls", &self.verifies_tls)
            .field("has_secret", &self.has_secret)
            .finish_non_exhaustive()
    }
}
