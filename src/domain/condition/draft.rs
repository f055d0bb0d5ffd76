//! How findings are put together and worded.

use chrono::{DateTime, TimeDelta, Utc};

use super::{Condition, Finding, Group, State, Subject};
use crate::domain::ids::HookName;

/// A finding under construction.
pub(super) struct Draft {
    subject: Subject,
    command: String,
}

impl Draft {
    pub(super) fn of(hook: &HookName, condition: Condition, command: impl Into<String>) -> Self {
        Self { subject: Subject { condition, hook: Some(hook.clone()) }, command: command.into() }
    }

    pub(super) fn whole(condition: Condition, command: &str) -> Self {
        Self { subject: Subject { condition, hook: None }, command: command.to_owned() }
    }

    pub(super) fn is(self, state: State, summary: impl Into<String>) -> Finding {
        Finding {
            subject: self.subject,
            state,
            summary: summary.into(),
            count: 0,
            oldest: None,
            guids: Vec::new(),
            command: self.command,
        }
    }

    pub(super) fn fires(self, summary: impl Into<String>) -> Finding {
        self.is(State::Firing, summary)
    }

    pub(super) fn resolved(self, summary: impl Into<String>) -> Finding {
        self.is(State::Resolved, summary)
    }

    pub(super) fn unknown(self, what: &str, why: &str) -> Finding {
        self.is(State::Unknown, format!("{what} cannot be told: {why}"))
    }

    /// Fires while the group has members.
    pub(super) fn counts(
        self,
        group: &Group,
        summary: impl FnOnce(&str) -> String,
        none: &str,
    ) -> Finding {
        if group.count == 0 {
            return self.resolved(none);
        }
        let mut finding = self.fires(summary(&deliveries(group.count)));
        finding.count = group.count;
        finding.oldest = group.since();
        finding.guids = group.guids();
        finding
    }
}

pub(super) fn deliveries(count: u64) -> String {
    counted(count, "delivery", "deliveries")
}

pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

pub(super) fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

/// `45s`, `15m`, `12h`, `3d`: the largest unit that divides it.
pub(super) fn span(span: TimeDelta) -> String {
    let seconds = span.num_seconds();
    match seconds {
        s if s % 86_400 == 0 => format!("{}d", s / 86_400),
        s if s % 3_600 == 0 => format!("{}h", s / 3_600),
        s if s % 60 == 0 => format!("{}m", s / 60),
        s => format!("{s}s"),
    }
}
