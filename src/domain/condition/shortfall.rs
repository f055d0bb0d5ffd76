//! The conditions about missing deliveries.

use super::{
    Condition, Finding, Group, HookFacts, Thresholds,
    draft::{Draft, span, time},
};

pub(super) fn missing(hook: &HookFacts, thresholds: &Thresholds) -> Finding {
    let name = &hook.name;
    let command = format!("redeliverd list --missing --hook {name}");
    let draft = Draft::of(name, Condition::DeliveriesMissing, command);
    match &hook.missing {
        Err(why) => draft.unknown("what is missing", why),
        Ok(shortfall) => draft.counts(
            &shortfall.overdue,
            |some| {
                let after = span(thresholds.missing_after);
                let since = first_attempted(&shortfall.overdue);
                format!("{some} on hook {name} missing for more than {after}, the oldest {since}")
            },
            "nothing has been missing for long",
        ),
    }
}

pub(super) fn closing(hook: &HookFacts) -> Finding {
    let name = &hook.name;
    let command = format!("redeliverd list --missing --hook {name}");
    let draft = Draft::of(name, Condition::WindowClosing, command);
    match &hook.missing {
        Err(why) => draft.unknown("what is missing", why),
        Ok(shortfall) => draft.counts(
            &shortfall.closing,
            |some| {
                let when = shortfall.closes_at.map_or_else(|| "soon".to_owned(), time);
                format!(
                    "{some} on hook {name} still missing; GitHub stops redelivering the first at \
                     {when}"
                )
            },
            "nothing that is missing is about to leave the window",
        ),
    }
}

pub(super) fn lost(hook: &HookFacts) -> Finding {
    let name = &hook.name;
    let command = format!("redeliverd show GUID, then redeliverd dismiss --hook {name} GUID");
    let draft = Draft::of(name, Condition::DeliveriesLost, command);
    match &hook.missing {
        Err(why) => draft.unknown("what is missing", why),
        Ok(shortfall) => draft.counts(
            &shortfall.lost,
            |some| {
                let since = first_attempted(&shortfall.lost);
                format!("{some} on hook {name} lost: out of GitHub's window, the oldest {since}")
            },
            "nothing is lost",
        ),
    }
}

pub(super) fn exhausted(hook: &HookFacts) -> Finding {
    let name = &hook.name;
    let command = format!("redeliverd show GUID, then redeliverd redeliver --hook {name} GUID");
    let draft = Draft::of(name, Condition::DeliveriesExhausted, command);
    match &hook.missing {
        Err(why) => draft.unknown("what is missing", why),
        Ok(shortfall) => draft.counts(
            &shortfall.exhausted,
            |some| {
                let since = first_attempted(&shortfall.exhausted);
                format!(
                    "{some} on hook {name} asked for as often as allowed and still missing, the \
                     oldest {since}"
                )
            },
            "nothing is asked for in vain",
        ),
    }
}

fn first_attempted(group: &Group) -> String {
    group.since().map_or_else(String::new, |at| format!("first attempted at {}", time(at)))
}
