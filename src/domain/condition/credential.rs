//! The condition about our credential: whether GitHub takes what we sign, and by which clock.

use chrono::TimeDelta;

use super::{
    Condition, Finding, HookFacts, SweepEnd,
    draft::{Draft, span},
};

/// A token begins this long before our clock's time. GitHub refuses one from the future, so our clock
/// may be ahead by no more.
const AHEAD: TimeDelta = TimeDelta::seconds(60);

/// A token ends this long after our clock's time. GitHub refuses one that has ended, so our clock may
/// be behind by less.
const BEHIND: TimeDelta = TimeDelta::minutes(8);

pub(super) fn authorization(hook: &HookFacts) -> Finding {
    let name = &hook.name;
    let draft = Draft::of(name, Condition::GithubAuthFailing, "redeliverd doctor");
    let sweep = match &hook.last_sweep {
        Err(why) => return draft.unknown("whether GitHub takes the credential", why),
        Ok(None) => {
            return draft.unknown("whether GitHub takes the credential", "no sweep has ended yet");
        }
        Ok(Some(sweep)) => sweep,
    };
    let error = sweep.error.as_deref().unwrap_or("no reason given");
    match sweep.end {
        SweepEnd::Authorized => by_our_clock(hook),
        SweepEnd::Unclear => draft.unknown("whether GitHub takes the credential", error),
        SweepEnd::Unauthorized => {
            let clock = hook.clock_offset.map_or_else(String::new, |offset| {
                format!(" (GitHub's clock minus ours: {} s)", offset.num_seconds())
            });
            draft.fires(format!(
                "GitHub refuses the credential of hook {name}: {error}; likely causes: the clock \
                 of this host{clock}, a revoked or wrong private key, a wrong App id"
            ))
        }
    }
}

/// GitHub took the credential. Where our clock is far off that was only because it was signed by
/// GitHub's, and every token of a new process is refused first.
fn by_our_clock(hook: &HookFacts) -> Finding {
    let name = &hook.name;
    let draft = Draft::of(name, Condition::GithubAuthFailing, "timedatectl");
    let off = match hook.clock_offset {
        Some(offset) if offset >= BEHIND => format!("{} behind", span(whole(offset))),
        Some(offset) if offset < -AHEAD => format!("{} ahead of", span(whole(-offset))),
        Some(_) | None => return draft.resolved("GitHub takes the credential"),
    };
    draft.fires(format!(
        "the clock of this host is {off} GitHub's, so GitHub refuses what hook {name} signs by it; \
         sweeps go on with GitHub's clock; set this one right"
    ))
}

/// In whole minutes where there is one: the seconds of a measurement say nothing.
fn whole(offset: TimeDelta) -> TimeDelta {
    let seconds = offset.num_seconds();
    TimeDelta::seconds(if seconds < 120 { seconds } else { (seconds + 30) / 60 * 60 })
}
