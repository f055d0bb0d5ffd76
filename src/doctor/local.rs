//! What can be checked without asking anybody.

use std::time::Duration;

use chrono::TimeDelta;

use super::Check;
use crate::config::{Config, Hook, OPEN_TO_ALL, Problem, host_patience, host_window};

const WINDOW: &str = "window";

/// The configuration's own doubts, the receiver's time-out, the retention.
pub(super) fn settings(config: &Config, warnings: &[Problem]) -> Vec<Check> {
    vec![configuration(warnings), body_timeout(config), retention(config)]
}

/// What `config check` warns of, except what has a check of its own.
fn configuration(warnings: &[Problem]) -> Check {
    const NAME: &str = "configuration";
    let mut doubts = warnings
        .iter()
        .filter(|problem| !problem.key.ends_with(".window") && problem.message != OPEN_TO_ALL);
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
    let patience = config.hooks.iter().map(|hook| host_patience(&hook.api.base)).max();
    against_patience(config.receiver.body_timeout, patience.unwrap_or_default())
}

/// `patience`: after how long GitHub gives a delivery up, the most patient one of the hooks.
fn against_patience(body: Duration, patience: Duration) -> Check {
    const NAME: &str = "body_timeout";
    let detail = format!("receiver.body_timeout is {} s", body.as_secs());
    if body > patience {
        let patience = patience.as_secs();
        let advice = format!("GitHub gives up after {patience} s: longer is of no use");
        return Check::warn(NAME, detail, advice);
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
    let key = format!("hooks[{}].window", hook.name);
    if let Some(problem) = warnings.iter().find(|problem| problem.key == key) {
        let advice = problem.hint.clone().unwrap_or_default();
        return Check::warn(WINDOW, format!("window {}", problem.message), advice);
    }
    against_host(hook.policy.window, host_window(&hook.api.base))
}

/// `kept`: how long GitHub keeps deliveries at that host; `None`: nobody can say.
fn against_host(ours: TimeDelta, kept: Option<TimeDelta>) -> Check {
    let detail = format!("{} h", ours.num_hours());
    match kept {
        Some(kept) if ours < kept => {
            let days = kept.num_days();
            let advice = format!(
                "GitHub keeps {days} days there: window = \"{days}d\" repairs older ones, too"
            );
            Check::warn(WINDOW, detail, advice)
        }
        Some(_) => {
            Check::pass(WINDOW, format!("{detail}, as long as GitHub keeps deliveries there"))
        }
        None => Check::pass(WINDOW, detail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Ending;

    #[test]
    fn a_window_shorter_than_what_the_host_keeps_is_remarked_on() {
        let of = |ours, kept: Option<i64>| {
            against_host(TimeDelta::days(ours), kept.map(TimeDelta::days)).result
        };
        assert_eq!(of(3, Some(3)), Ending::Pass);
        assert_eq!(of(3, Some(7)), Ending::Warn);
        assert_eq!(of(7, Some(7)), Ending::Pass);
        assert_eq!(of(1, None), Ending::Pass);
    }

    #[test]
    fn a_body_may_take_as_long_as_its_host_waits() {
        let of = |seconds, api: &str| {
            let patience = host_patience(&api.parse().unwrap());
            let check = against_patience(Duration::from_secs(seconds), patience);
            (check.result, check.advice)
        };
        let told =
            |seconds| Some(format!("GitHub gives up after {seconds} s: longer is of no use"));
        let (cloud, server) = ("https://api.github.com", "https://ghes.example/api/v3");
        assert_eq!(of(10, cloud), (Ending::Pass, None));
        assert_eq!(of(11, cloud), (Ending::Warn, told(10)));
        assert_eq!(of(30, server), (Ending::Pass, None));
        assert_eq!(of(31, server), (Ending::Warn, told(30)));
    }
}
