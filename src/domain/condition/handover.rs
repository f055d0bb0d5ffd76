//! The conditions about the hand-over to the application.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    Condition, Finding, HookFacts, InboxFacts,
    draft::{Draft, counted, time},
};

/// How long events may wait while none is handed over.
const STALLED: TimeDelta = TimeDelta::minutes(5);

/// Judges the inbox, where the hook has one and it could be read.
fn looked(
    hook: &HookFacts,
    draft: Draft,
    judge: impl FnOnce(&InboxFacts, Draft) -> Finding,
) -> Finding {
    match &hook.inbox {
        None => draft.resolved("nothing is handed over from this hook"),
        Some(Err(why)) => draft.unknown("the state of the hand-over", why),
        Some(Ok(inbox)) => judge(inbox, draft),
    }
}

pub(super) fn dead(hook: &HookFacts) -> Finding {
    let name = &hook.name;
    let draft = Draft::of(
        name,
        Condition::DeadLetters,
        format!("redeliverd dead list, then redeliverd dead requeue --hook {name} GUID"),
    );
    looked(hook, draft, |inbox, draft| {
        if inbox.dead == 0 {
            return draft.resolved("no event is dead");
        }
        let since =
            inbox.dead_since.map_or_else(String::new, |at| format!(", the oldest at {}", time(at)));
        let mut finding = draft.fires(format!(
            "{} on hook {name} refused by the application for good{since}",
            counted(inbox.dead, "event", "events")
        ));
        finding.count = inbox.dead;
        finding.oldest = inbox.dead_since;
        finding.guids = inbox.dead_guids.iter().take(super::GUIDS).cloned().collect();
        finding
    })
}

pub(super) fn stalled(hook: &HookFacts, now: DateTime<Utc>) -> Finding {
    let name = &hook.name;
    let draft = Draft::of(name, Condition::HandoverStalled, "redeliverd status");
    looked(hook, draft, |inbox, draft| {
        let Some(waiting_since) = inbox.waiting_since.filter(|_| inbox.waiting > 0) else {
            return draft.resolved("no event waits");
        };
        let since = inbox.handed_over_at.map_or(waiting_since, |at| at.max(waiting_since));
        if now - since <= STALLED {
            return draft.resolved("events are handed over");
        }
        let mut finding = draft.fires(format!(
            "{} on hook {name} waiting since {}, and none was handed over since {}; check that the \
         application answers",
            counted(inbox.waiting, "event", "events"),
            time(waiting_since),
            time(since),
        ));
        finding.count = inbox.waiting;
        finding.oldest = Some(waiting_since);
        finding
    })
}
