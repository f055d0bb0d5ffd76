//! One thing to be told: a condition that began, grew, still holds or ended, or a test.

use chrono::{DateTime, Utc};

use crate::domain::{
    condition::{Finding, Severity},
    ids::{Guid, HookName},
    notice::{Said, Why},
};

/// One thing to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Why it is told.
    pub why: Why,
    /// The condition's word, or `test`.
    pub name: &'static str,
    /// The hook it is about; `None`: the whole daemon.
    pub hook: Option<HookName>,
    /// How urgent it is.
    pub severity: Severity,
    /// One sentence.
    pub summary: String,
    /// How many things are concerned; zero where nothing is counted.
    pub count: u64,
    /// When the oldest of them happened.
    pub oldest: Option<DateTime<Utc>>,
    /// Some of them.
    pub guids: Vec<Guid>,
    /// What to run next.
    pub command: String,
    /// When the condition began to hold.
    pub since: DateTime<Utc>,
    /// When this is told.
    pub at: DateTime<Utc>,
    /// What this notice answers to, the same however often it has to be sent.
    pub turn: DateTime<Utc>,
}

impl Notice {
    /// A finding as it is told; `since` is when the condition began to hold.
    #[must_use]
    pub fn of(
        finding: &Finding,
        why: Why,
        since: DateTime<Utc>,
        said: Option<&Said>,
        now: DateTime<Utc>,
    ) -> Self {
        Self {
            why,
            name: finding.subject.condition.as_str(),
            hook: finding.subject.hook.clone(),
            severity: finding.subject.condition.severity(),
            summary: finding.summary.clone(),
            count: finding.count,
            oldest: finding.oldest,
            guids: finding.guids.clone(),
            command: finding.command.clone(),
            since,
            at: now,
            turn: said.map_or(since, |said| said.at),
        }
    }

    /// What `test-alert` sends.
    #[must_use]
    pub fn test(now: DateTime<Utc>) -> Self {
        Self {
            why: Why::Test,
            name: "test",
            hook: None,
            severity: Severity::Warning,
            summary: "this is a test of the alert channels; nothing is wrong".to_owned(),
            count: 0,
            oldest: None,
            guids: Vec::new(),
            command: "redeliverd status".to_owned(),
            since: now,
            at: now,
            turn: now,
        }
    }

    /// Whether it tells of an end.
    #[must_use]
    pub fn is_resolved(&self) -> bool {
        self.why == Why::Resolved
    }

    /// The same for every notice about this condition of this hook, from its beginning to its end
    /// and at its next beginning.
    #[must_use]
    pub fn key(&self) -> String {
        match &self.hook {
            Some(hook) => format!("redeliverd/{hook}/{}", self.name),
            None => format!("redeliverd/{}", self.name),
        }
    }
}
