//! What was asked of the simulated GitHub, and what it really sent.

use std::collections::HashMap;

/// Counts of calls and sends since the world began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// Requests to the API of any kind, refused ones included.
    pub api_calls: u64,
    /// Requests refused with 401 or for an unknown App.
    pub unauthorized: u64,
    /// Requests refused because of a limit.
    pub limited: u64,
    /// List calls that got past authentication and limits.
    pub list_calls: u64,
    /// Detail calls that got past authentication and limits.
    pub detail_calls: u64,
    /// The page size of each list call, in order, as GitHub understood it.
    pub per_page: Vec<u32>,
    /// Redelivery POSTs that got past authentication and limits, also those answered with an error.
    pub redelivery_posts: u64,
    /// The same per attempt id named in the request, known or not.
    pub redelivery_posts_of_attempt: HashMap<i64, u32>,
    /// The same per GUID, for known attempts.
    pub redelivery_posts_of_guid: HashMap<String, u32>,
    /// Attempts made: rows put into a log by sending, redeliveries included.
    pub attempts_made: u64,
}

/// One POST that really left for a receiver, whatever the log says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// The attempt it belongs to.
    pub attempt: i64,
    /// Whether it was a redelivery.
    pub redelivery: bool,
    /// What the receiver really answered; `None` when no complete answer came.
    pub answer: Option<u16>,
}
