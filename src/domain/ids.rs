//! The identifiers: validated once at the edge, carried as types afterwards.

use std::fmt;

use thiserror::Error;

/// Why a text is no identifier. The message names the rule, never repeats a long value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidId {
    /// Not 1 to 128 characters of `[A-Za-z0-9._-]`.
    #[error("must be 1 to 128 characters of A-Z a-z 0-9 . _ -")]
    Token,
    /// Not a hook name.
    #[error("must be 1 to 63 characters of a-z 0-9 _ - and start with a letter or digit")]
    HookName,
    /// A delivery id that is not a positive 64-bit integer.
    #[error("must be a whole number from 1 to 9223372036854775807")]
    AttemptId,
}

fn token(text: &str) -> Result<&str, InvalidId> {
    let sane = (1..=128).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if sane { Ok(text) } else { Err(InvalidId::Token) }
}

/// The value of `X-GitHub-Delivery`: one event, the same for all its attempts and for every hook
/// that gets the event (GITHUB.md section 3). Compared byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guid(String);

/// The value of `X-GitHub-Event`, an open set.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventName(String);

/// The configured name of one webhook; safe as a metric label and in a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HookName(String);

/// The 64-bit id of one row in GitHub's delivery list. Above 2^53 on github.com, so it never
/// passes through a floating-point number (GITHUB.md section 1.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttemptId(i64);

impl Guid {
    /// Accepts 1 to 128 characters of `[A-Za-z0-9._-]`, unchanged.
    ///
    /// # Errors
    /// [`InvalidId::Token`] for anything else.
    pub fn new(text: &str) -> Result<Self, InvalidId> {
        token(text).map(|t| Self(t.to_owned()))
    }

    /// The text as GitHub sent it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl EventName {
    /// Accepts 1 to 128 characters of `[A-Za-z0-9._-]`, unchanged.
    ///
    /// # Errors
    /// [`InvalidId::Token`] for anything else.
    pub fn new(text: &str) -> Result<Self, InvalidId> {
        token(text).map(|t| Self(t.to_owned()))
    }

    /// The text as GitHub sent it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Stands for the name that a row of GitHub's list lacks; GitHub has no event called so.
    #[must_use]
    pub fn unnamed() -> Self {
        Self("unknown".to_owned())
    }

    /// Whether the name is not known.
    #[must_use]
    pub fn is_unnamed(&self) -> bool {
        self.0 == "unknown"
    }

    /// Whether it only tells that the hook exists.
    #[must_use]
    pub fn is_ping(&self) -> bool {
        self.0 == "ping"
    }
}

impl HookName {
    /// Accepts 1 to 63 characters of `[a-z0-9_-]`, the first a letter or digit.
    ///
    /// # Errors
    /// [`InvalidId::HookName`] for anything else.
    pub fn new(text: &str) -> Result<Self, InvalidId> {
        let first =
            text.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let rest = text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-'));
        if first && rest && text.len() <= 63 {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidId::HookName)
        }
    }

    /// The name as configured.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AttemptId {
    /// Accepts 1 to `i64::MAX`.
    ///
    /// # Errors
    /// [`InvalidId::AttemptId`] for zero and for values that need more than 63 bits.
    pub fn new(value: u64) -> Result<Self, InvalidId> {
        match i64::try_from(value) {
            Ok(id) if id > 0 => Ok(Self(id)),
            _ => Err(InvalidId::AttemptId),
        }
    }

    /// The id as a database integer.
    #[must_use]
    pub fn get(self) -> i64 {
        self.0
    }
}

impl TryFrom<i64> for AttemptId {
    type Error = InvalidId;

    fn try_from(value: i64) -> Result<Self, InvalidId> {
        u64::try_from(value).map_err(|_| InvalidId::AttemptId).and_then(Self::new)
    }
}

macro_rules! display {
    ($($name:ty),+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}
display!(Guid, EventName, HookName, AttemptId);
