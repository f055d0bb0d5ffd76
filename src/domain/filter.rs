//! Which events a hook wants.

use std::collections::BTreeSet;

/// Include and exclude rules. The empty filter wants everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Wanted events; empty means all.
    pub include: Vec<EventPattern>,
    /// Unwanted events; wins over `include`.
    pub exclude: Vec<EventPattern>,
    /// Wanted installations; empty means all.
    pub installations: BTreeSet<i64>,
    /// Wanted repositories; empty means all.
    pub repositories: BTreeSet<i64>,
}

/// `event` or `event.action`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPattern {
    /// The event's name.
    pub event: String,
    /// `None` matches every action.
    pub action: Option<String>,
}
