//! From column values to domain values; what cannot be one is an inconsistent row.

use super::{Result, error::inconsistent};
use crate::domain::ids::{AttemptId, EventName, Guid, HookName};

pub(super) fn hook(table: &'static str, value: &str) -> Result<HookName> {
    HookName::new(value).map_err(|e| inconsistent(table, format_args!("hook {e}")))
}

pub(super) fn guid(table: &'static str, value: &str) -> Result<Guid> {
    Guid::new(value).map_err(|e| inconsistent(table, format_args!("guid {e}")))
}

pub(super) fn event(table: &'static str, value: &str) -> Result<EventName> {
    EventName::new(value).map_err(|e| inconsistent(table, format_args!("event {e}")))
}

pub(super) fn attempt_id(table: &'static str, value: i64) -> Result<AttemptId> {
    AttemptId::try_from(value).map_err(|e| inconsistent(table, format_args!("attempt id {e}")))
}

/// A value of a closed set, by its stable word.
pub(super) fn word<T>(
    table: &'static str,
    column: &str,
    value: &str,
    from_word: fn(&str) -> Option<T>,
) -> Result<T> {
    from_word(value).ok_or_else(|| inconsistent(table, format_args!("{column}: unknown word")))
}

pub(super) fn count(table: &'static str, column: &str, value: i64) -> Result<u32> {
    u32::try_from(value)
        .map_err(|_| inconsistent(table, format_args!("{column} is {value}, no count")))
}

pub(super) fn size(table: &'static str, column: &str, value: i64) -> Result<u64> {
    u64::try_from(value)
        .map_err(|_| inconsistent(table, format_args!("{column} is {value}, no size")))
}
