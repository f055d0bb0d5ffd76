//! What can be checked without asking anybody.

use std::time::Duration;

use super::Check;
use crate::config::{Config, Hook, Problem, host_window};

/// After this GitHub gives a delivery up (GITHUB.md section 5).
const GITHUB_PATIENCE: Duration = Duration::from_secs(10);

/// The configuration's own doubts, the receiver's time-out, the retention.
pub(super) fn settings(config: &Config, warnings: &[Problem]) -> Vec<Check> {
    vec![configuration(warnings), body_timeout(config), retention(config)]
}

/// What `config check` warns of, except what has a check of its own.
fn configuration(warnings: &[Problem]) -> Check {
    const NAME: &str = "configuration";
    let mut doubts = warnings.iter().filter(|problem| {
        !problem.key.ends_with(".window") && !problem.message.contains("every user")
    });
    let Some(first) = doubts.next() else { return Check::pass(NAME, "no doubts about it") };
    let more = match doubts.count() {
        0 => String::new(),
        several => format!(" (and {several} more)"),
    };
    let advice = match &first.hint {
        Some(hint) => format!("{hint}; redeliverd config check shows all"),
        None => "redeliverd config check shows all".to_owned(),
    };
    Check::warn(NAME, format!("{} {}{more}", first.key, first.message), advice)
}

fn body_timeout(config: &Config) -> Check {
    const NAME: &str = "body_timeout";
    let body = config.receiver.body_timeout;
    let detail = format!("receiver.body_timeout is {} s", body.as_secs());
    if body > GITHUB_PATIENCE {
        return Check::warn(NAME, detail, "GitHub gives up after 10 s: longer is of no use");
    }
    Check::pass(NAME, detail)
}

/// Loading refuses a history that is too short, so this only shows the margin.
fn retention(config: &Config) -> Check {
    let window = config.hooks.iter().map(|hook| hook.policy.window).max().unwrap_or_default();
    let (history, window) = (config.retention.history.num_hours(), window.num_hours());
    Check::pass(
        "retention",
        format!("history is kept {history} h, the longest window is {window} h"),
    )
}

/// The configured window against what GitHub keeps at that host.
pub(super) fn window(hook: &Hook, warnings: &[Problem]) -> Check {
    const NAME: &str = "window";
    let key = format!("hooks[{}].window", hook.name);
    if let Some(problem) = warnings.iter().find(|problem| problem.key == key) {
        let advice = problem.hint.clone().unwrap_or_default();
        return Check::warn(NAME, format!("window {}", problem.message), advice);
    }
    let ours = hook.policy.window;
    let detail = format!("{} h", ours.num_hours());
    match host_window(&hook.api.base) {
        Some(kept) if ours < kept => {
            let advice = format!(
                "GitHub keeps {} days there: window = \"{}d\" repairs what is older, too",
                kept.num_days(),
                kept.num_days()
            );
            Check::warn(NAME, detail, advice)
        }
        Some(_) => Check::pass(NAME, format!("{detail}, as long as GitHub keeps deliveries there")),
        None => Check::pass(NAME, detail),
    }
}
