//! GitHub's delivery API for one hook: the only place that knows octocrab and JWTs.

mod error;

use chrono::{DateTime, TimeDelta, Utc};

pub use self::error::GitHubError;
use crate::{
    clock::SharedClock,
    config::Api,
    domain::{
        attempt::Attempt,
        ids::{AttemptId, EventName, Guid},
    },
};

/// A client for one hook's delivery log. Cheap to clone; clones share connection and JWT.
#[derive(Debug, Clone)]
pub struct Client {}

/// Where a listing starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageRef {
    /// The newest deliveries.
    Head,
    /// A link that GitHub gave on an earlier page.
    Link(String),
}

/// One page of the delivery list, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The rows that could be read, in GitHub's order.
    pub rows: Vec<Listed>,
    /// What was wrong with each row that could not be read.
    pub unreadable: Vec<String>,
    /// The next page; already checked to be on the API's own origin and path prefix.
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
    /// Request headers as GitHub recorded them; names as given.
    pub headers: Vec<(String, String)>,
    /// The payload, serialised anew from GitHub's JSON: not the bytes first sent.
    pub payload: Vec<u8>,
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

impl Client {
    /// Builds the client; nothing is sent.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub fn new(api: &Api, clock: SharedClock) -> Result<Self, GitHubError> {
        let _ = (api, clock);
        todo!()
    }

    /// One page of at most 100 attempts. Retried on 5xx and transport errors, since it only reads.
    ///
    /// # Errors
    /// See [`GitHubError`]; [`GitHubError::BadCursor`] when GitHub refused a link.
    pub async fn list_attempts(&self, page: &PageRef) -> Result<Page, GitHubError> {
        let _ = page;
        todo!()
    }

    /// Asks for one more attempt. Sent exactly once, whatever happens.
    ///
    /// # Errors
    /// [`GitHubError::Ambiguous`] when it may have been taken although no answer came.
    pub async fn redeliver(&self, attempt: AttemptId) -> Result<Meta, GitHubError> {
        let _ = attempt;
        todo!()
    }

    /// Headers and payload of one attempt. Retried like a list.
    ///
    /// # Errors
    /// [`GitHubError::Gone`] for an unknown id; a fresh id may answer so for some seconds.
    pub async fn detail(&self, attempt: AttemptId) -> Result<(Detail, Meta), GitHubError> {
        let _ = attempt;
        todo!()
    }
}

/// A moment until which a credential must not be used.
pub type NotBefore = DateTime<Utc>;
