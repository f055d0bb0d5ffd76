//! The delivery log of one hook: rows by id, what of it is visible when, and paging by id.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
    sync::Arc,
};

use chrono::{DateTime, TimeDelta, Utc};

use super::{events::Event, faults::Unsettled};

/// One attempt as GitHub wrote it down.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedAttempt {
    /// The row's id (GITHUB.md section 1.5).
    pub id: i64,
    /// The event's key, the same for all its attempts and hooks.
    pub guid: String,
    /// What was, or was to be, sent.
    pub event: Arc<Event>,
    /// When, on GitHub's clock, in whole milliseconds.
    pub delivered_at: DateTime<Utc>,
    /// Whether it was asked for.
    pub redelivery: bool,
    /// Seconds it took.
    pub duration: f64,
    /// GitHub's text about the outcome.
    pub status: String,
    /// The receiver's code or GitHub's invented one.
    pub code: Option<i32>,
    /// When GitHub slowed it; `None` almost always.
    pub throttled_at: Option<DateTime<Utc>>,
    /// The URL it went to.
    pub url: String,
    /// The headers it was sent with.
    pub headers: Vec<(String, String)>,
    /// What the receiver answered; `None` when nothing came back.
    pub answer: Option<ReceiverAnswer>,
    pub(super) listed_from: Option<DateTime<Utc>>,
    pub(super) unsettled: Option<(DateTime<Utc>, Unsettled)>,
}

/// What GitHub keeps of a receiver's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverAnswer {
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// The start of its body.
    pub body: String,
}

/// One row of history, put into the log without sending anything.
#[derive(Debug, Clone)]
pub struct Backfill {
    /// What it was about; share one between rows to save memory.
    pub event: Arc<Event>,
    /// When it was delivered.
    pub at: DateTime<Utc>,
    /// GitHub's text.
    pub status: String,
    /// The code; `None` is listed as null.
    pub code: Option<i32>,
    /// Whether it was a redelivery.
    pub redelivery: bool,
    /// Its GUID; `None` makes a new one.
    pub guid: Option<String>,
    /// Its id; `None` makes one from `at`. A taken id replaces the row that had it.
    pub id: Option<i64>,
}

impl Backfill {
    /// A first attempt of `event` at `at` that ended with `code`, in GitHub's usual words.
    #[must_use]
    pub fn new(event: &Arc<Event>, at: DateTime<Utc>, code: u16) -> Self {
        Self {
            event: Arc::clone(event),
            at,
            status: status_text(code),
            code: Some(i32::from(code)),
            redelivery: false,
            guid: None,
            id: None,
        }
    }

    /// The same with this GUID.
    #[must_use]
    pub fn guid(mut self, guid: &str) -> Self {
        self.guid = Some(guid.to_owned());
        self
    }

    /// The same with this id.
    #[must_use]
    pub fn id(mut self, id: i64) -> Self {
        self.id = Some(id);
        self
    }

    /// The same as a redelivery.
    #[must_use]
    pub fn redelivery(mut self) -> Self {
        self.redelivery = true;
        self
    }
}

/// GitHub's text for a receiver's own answer (GITHUB.md section 4).
pub(super) fn status_text(code: u16) -> String {
    if (200..=299).contains(&code) {
        "OK".to_owned()
    } else {
        format!("Invalid HTTP Response: {code}")
    }
}

/// Bits of an id below the second, and below the millisecond (GITHUB.md section 1.5).
const SECOND_BITS: u32 = 31;
const MILLI_BITS: u32 = 21;

/// The smallest id that an attempt at this moment can have.
pub(super) fn base_id(at: DateTime<Utc>) -> i64 {
    (at.timestamp().max(0) << SECOND_BITS) | (i64::from(at.timestamp_subsec_millis()) << MILLI_BITS)
}

/// Which rows a caller of the API may see.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    pub(super) now: DateTime<Utc>,
    pub(super) window: TimeDelta,
}

/// Rows by id, and the ids of each GUID, oldest first.
#[derive(Debug, Default)]
pub(super) struct Log {
    rows: BTreeMap<i64, LoggedAttempt>,
    by_guid: HashMap<String, Vec<i64>>,
}

impl Log {
    pub(super) fn insert(&mut self, row: LoggedAttempt) {
        let ids = self.by_guid.entry(row.guid.clone()).or_default();
        if !ids.contains(&row.id) {
            ids.push(row.id);
        }
        self.rows.insert(row.id, row);
    }

    /// An id that is free, for history at this moment. `lane` keeps the hooks of a world apart.
    pub(super) fn free_id(&self, at: DateTime<Utc>, lane: i64) -> i64 {
        let first = base_id(at) + (lane << 16);
        let taken = self.rows.range(first..first + (1 << 16)).next_back();
        taken.map_or(first, |(id, _)| id + 1)
    }

    pub(super) fn contains(&self, id: i64) -> bool {
        self.rows.contains_key(&id)
    }

    pub(super) fn get(&self, id: i64) -> Option<&LoggedAttempt> {
        self.rows.get(&id)
    }

    /// All rows, newest id first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = &LoggedAttempt> {
        self.rows.values().rev()
    }

    /// The row, when the API would show it.
    pub(super) fn visible(&self, id: i64, view: View) -> Option<&LoggedAttempt> {
        self.rows.get(&id).filter(|row| row.in_window(view))
    }

    /// The listed rows with ids below `cursor` (all, without one), newest first.
    pub(super) fn listed(
        &self,
        cursor: Option<i64>,
        view: View,
    ) -> impl Iterator<Item = &LoggedAttempt> {
        let below = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        self.rows
            .range((Bound::Unbounded, below))
            .rev()
            .map(|(_, row)| row)
            .filter(move |row| row.in_window(view))
            .filter(move |row| row.listed_from.is_none_or(|from| from <= view.now))
    }
}

impl LoggedAttempt {
    fn in_window(&self, view: View) -> bool {
        self.delivered_at >= view.now - view.window
    }

    /// Status text and code as the API shows them at `now`: an outcome may not be known yet.
    pub(super) fn shown(&self, now: DateTime<Utc>) -> (&str, Option<i32>) {
        match self.unsettled {
            Some((until, Unsettled::Null)) if now < until => ("Pending", None),
            Some((until, Unsettled::Zero)) if now < until => ("Pending", Some(0)),
            Some(_) | None => (&self.status, self.code),
        }
    }
}
