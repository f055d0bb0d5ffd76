//! Which events a hook wants.

use std::collections::BTreeSet;

use super::ids::EventName;

#[cfg(test)]
mod tests;

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

/// What a filter says of one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Interest {
    /// It matters: it is handed over, and missed when it does not arrive.
    Wanted,
    /// Nobody waits for it.
    Unwanted,
}

impl EventPattern {
    /// Whether the pattern covers this event. A pattern with an action covers no event without one.
    fn covers(&self, event: &EventName, action: Option<&str>) -> bool {
        self.event == event.as_str()
            && self.action.as_deref().is_none_or(|wanted| action == Some(wanted))
    }
}

impl Filter {
    /// Whether the hook wants an event. A `ping` is never wanted: it tells that the hook exists and
    /// nothing else. Where ids are listed, an event without an id is unwanted. An event whose name is
    /// not known could be a wanted one, so rules about names do not keep it out.
    #[must_use]
    pub fn wants(
        &self,
        event: &EventName,
        action: Option<&str>,
        installation_id: Option<i64>,
        repository_id: Option<i64>,
    ) -> Interest {
        let covered = |patterns: &[EventPattern]| patterns.iter().any(|p| p.covers(event, action));
        let included = self.include.is_empty() || event.is_unnamed() || covered(&self.include);
        if !event.is_ping()
            && included
            && !covered(&self.exclude)
            && listed(&self.installations, installation_id)
            && listed(&self.repositories, repository_id)
        {
            Interest::Wanted
        } else {
            Interest::Unwanted
        }
    }
}

/// Whether an id is among the wanted ones; an empty set wants all.
fn listed(wanted: &BTreeSet<i64>, id: Option<i64>) -> bool {
    wanted.is_empty() || id.is_some_and(|id| wanted.contains(&id))
}
