//! `[hooks.forward]`: how received events are handed over to the application.

use std::time::Duration;

use url::Url;

use super::{checker::Check, raw, read::At};
use crate::domain::delivery::words;

/// Where and how received events are handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forward {
    /// Where the application listens: https, or http on loopback.
    pub url: Url,
    /// Per request.
    pub timeout: Duration,
    /// Requests at the same time; at least 1.
    pub concurrency: u32,
    /// How long a claimed event belongs to its worker; longer than `timeout`.
    pub lease: Duration,
    /// After so many failed attempts an event is dead; at least 1.
    pub max_attempts: u32,
    /// Waits between attempts; the last value repeats. Never empty, all positive.
    pub backoff: Vec<Duration>,
    /// What is serialised.
    pub order: Order,
}

/// Which events are handed over one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// None: as they come.
    None,
    /// Those of one repository.
    Repository,
}

words!(Order { None = "none", Repository = "repository" });

pub(super) fn forward(check: &mut Check<'_>, at: &At, raw: raw::Forward) -> Option<Forward> {
    let url = check.target(at, "url", raw.url);
    let timeout = check.positive(at, "timeout", raw.timeout);
    let concurrency = check.between(at, "concurrency", raw.concurrency, 1, 1024);
    let lease = check.positive(at, "lease", raw.lease);
    let max_attempts = check.between(at, "max_attempts", raw.max_attempts, 1, u32::MAX);
    let backoff = check.backoff(at, raw.backoff);
    let order = check.need(at, "order", raw.order);
    if let (Some(timeout), Some(lease)) = (timeout, lease)
        && lease <= timeout
    {
        check.error(
            at,
            "lease",
            "must be longer than the timeout, or every slow request is made twice",
            "",
        );
    }
    Some(Forward {
        url: url?,
        timeout: timeout?,
        concurrency: concurrency?,
        lease: lease?,
        max_attempts: max_attempts?,
        backoff: backoff?,
        order: order?,
    })
}
