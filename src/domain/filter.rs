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

impl Filter {
    /// Whether an event is wanted. Exclusion wins; an event without the id that a rule asks for is
    /// not wanted.
    #[must_use]
    pub fn wants(
        &self,
        event: &str,
        action: Option<&str>,
        installation_id: Option<i64>,
        repository_id: Option<i64>,
    ) -> bool {
        let matches = |pattern: &EventPattern| {
            pattern.event == event
                && pattern.action.as_deref().is_none_or(|wanted| Some(wanted) == action)
        };
        let among = |ids: &BTreeSet<i64>, id: Option<i64>| {
            ids.is_empty() || id.is_some_and(|id| ids.contains(&id))
        };
        !self.exclude.iter().any(matches)
            && (self.include.is_empty() || self.include.iter().any(matches))
            && among(&self.installations, installation_id)
            && among(&self.repositories, repository_id)
    }
}
