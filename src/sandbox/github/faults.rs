//! What is wrong with the simulated GitHub just now: plain state, honest by default.

use std::collections::{HashMap, HashSet, VecDeque};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

/// Everything that can be made to go wrong. `Default` is a GitHub in good health.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// How attempts are made, where nothing below says otherwise.
    pub sender: Sending,
    /// How the next attempts are made, one entry each; before `sender`.
    pub sender_next: VecDeque<Sending>,
    /// How every attempt of a GUID is made; before everything else.
    pub sender_by_guid: HashMap<String, Sending>,
    /// How a time-out is written down.
    pub time_out_form: TimeOutForm,
    /// Whether deliveries carry the webhook secret in a header, as GitHub's did in 2025.
    pub leak_secret: bool,
    /// Whether new rows carry `throttled_at`.
    pub throttled: bool,
    /// How long a new row is listed without its outcome, and as what.
    pub unsettled: Option<(TimeDelta, Unsettled)>,
    /// How long after its attempt a new row appears in the list.
    pub list_lag: TimeDelta,
    /// GUIDs that are never listed and unknown to the API.
    pub hidden: HashSet<String>,
    /// GitHub's clock minus the world's: for JWTs, log and `Date` alike.
    pub clock_skew: TimeDelta,
    /// What is wrong with the API.
    pub api: ApiFaults,
}

/// What is wrong with the API.
#[derive(Debug, Clone, Default)]
pub struct ApiFaults {
    /// Every call is answered so, before anything else is looked at.
    pub all: Option<Answer>,
    /// Names of hooks whose App key is revoked: 401.
    pub revoked: HashSet<String>,
    /// The `Date` header minus GitHub's clock: a proxy that lies.
    pub date_offset: TimeDelta,
    /// The next list calls are answered so, one entry each.
    pub list_next: VecDeque<Answer>,
    /// Pages that fail, counted from the head as 1.
    pub pages: Vec<PageFault>,
    /// Every call with a cursor is refused with this code (400 or 422).
    pub cursor: Option<u16>,
    /// What the next-page link is like.
    pub link: Link,
    /// Whether neighbouring rows of a page change places.
    pub disordered: bool,
    /// Extra entries put after the first row of every page, e.g. ones that are no rows.
    pub garbage: Vec<Value>,
    /// How long after its attempt a row's detail is answered 404.
    pub detail_lag: TimeDelta,
    /// The next detail calls are answered so, one entry each.
    pub detail_next: VecDeque<Answer>,
    /// How redelivery requests are treated, where nothing below says otherwise.
    pub redeliver: Redelivering,
    /// How the next redelivery requests are treated, one entry each.
    pub redeliver_next: VecDeque<Redelivering>,
    /// How every redelivery request for an attempt id is treated; before everything else.
    pub redeliver_by_id: HashMap<i64, Redelivering>,
}

/// How one attempt is made, and what GitHub writes down about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sending {
    /// Sent; what comes back is written down.
    #[default]
    Deliver,
    /// Not sent: `failed to connect to host`, 502.
    FailToConnect,
    /// Written down as a time-out.
    TimeOut {
        /// Whether the receiver got it nevertheless.
        after_delivering: bool,
    },
    /// Written down as a dropped connection.
    Reset {
        /// Whether the receiver got it nevertheless.
        after_delivering: bool,
    },
    /// Never sent, written down as OK 200: a proxy in between lies.
    Swallow,
    /// Never sent: a gateway in between answers this code.
    Answer(u16),
}

/// The two forms in which time-outs are recorded (GITHUB.md section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeOutForm {
    /// `timed out` with 504.
    #[default]
    TimedOut,
    /// A text with the full URL, ending in `context deadline exceeded`, with 500.
    GivingUp,
}

/// How a row without an outcome shows its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsettled {
    /// `null`, with the text `Pending`.
    Null,
    /// 0, with the text `Pending`.
    Zero,
}

/// A canned answer to an API call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The code, with an error body as GitHub writes it.
    Status(u16),
    /// 403 with `x-ratelimit-remaining: 0`.
    PrimaryLimit {
        /// `x-ratelimit-reset`.
        reset: DateTime<Utc>,
    },
    /// A secondary limit.
    SecondaryLimit {
        /// 403 or 429.
        status: u16,
        /// `retry-after` in seconds; `None` leaves the header out.
        retry_after: Option<u32>,
    },
    /// 200 with a web page: somebody else answers at this address.
    WebPage,
    /// The connection is closed without an answer.
    Drop,
}

/// A page that fails some times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFault {
    /// Which page, counted from the head as 1.
    pub page: u32,
    /// How often it still fails.
    pub times: u32,
    /// How it fails.
    pub answer: Answer,
}

/// What the next-page link of a list is like.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Link {
    /// It leads on.
    #[default]
    Honest,
    /// It leads to the page it stands on, from the second page on.
    Looping,
    /// The same, under a cursor that has not been seen before.
    Renewed,
    /// It leads to this URL.
    Foreign(String),
    /// There is none, even where more rows follow.
    Missing,
}

/// How a redelivery request is treated.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Redelivering {
    /// Taken, answered 202, attempted.
    #[default]
    Honest,
    /// Not taken; answered so.
    Refuse(Answer),
    /// Taken and attempted, but answered so.
    TakeAndAnswer(Answer),
    /// Answered 202, never attempted.
    Forget,
    /// Answered 202, attempted when [`super::World::release`] is called.
    Hold,
}

impl Faults {
    /// How the next attempt of this GUID is made; consumes an entry of `sender_next`.
    pub(super) fn next_sending(&mut self, guid: &str) -> Sending {
        self.sender_by_guid
            .get(guid)
            .copied()
            .or_else(|| self.sender_next.pop_front())
            .unwrap_or(self.sender)
    }
}

impl ApiFaults {
    /// How the next redelivery request for this attempt is treated.
    pub(super) fn next_redelivering(&mut self, id: i64) -> Redelivering {
        self.redeliver_by_id
            .get(&id)
            .cloned()
            .or_else(|| self.redeliver_next.pop_front())
            .unwrap_or_else(|| self.redeliver.clone())
    }

    /// The failure of this page, if it still fails.
    pub(super) fn page_answer(&mut self, page: u32) -> Option<Answer> {
        let fault = self.pages.iter_mut().find(|f| f.page == page && f.times > 0)?;
        fault.times -= 1;
        Some(fault.answer.clone())
    }
}
