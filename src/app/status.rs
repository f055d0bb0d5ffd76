//! The one line that a service manager shows: what is missing, and how old our knowledge is.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    admin::Admin,
    lifecycle::ServiceManager,
    report::{self, Status},
};

/// What is said when a reload was refused, until one is not.
pub(super) const REFUSED: &str = "the new configuration is refused, see the log; the old one stays";

/// How often the line is written anew.
const EVERY: Duration = Duration::from_secs(15);

/// The line at the start, before anything is known.
pub(super) fn started(hooks: usize) -> String {
    format!("{}; receiving", hooks_of(hooks))
}

/// Keeps the line up to date until `stop`.
pub(super) async fn keep(
    manager: ServiceManager,
    admin: watch::Receiver<Admin>,
    refused: watch::Receiver<bool>,
    stop: CancellationToken,
) {
    if !manager.listens() {
        return stop.cancelled().await;
    }
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        let Admin { store, config, clock, .. } = admin.borrow().clone();
        let now = clock.now();
        let mut told = match report::status(&store, &config, now).await {
            Ok(status) => line(&status, now),
            Err(error) => format!("the store cannot be read: {error}"),
        };
        if *refused.borrow() {
            told = format!("{told}; {REFUSED}");
        }
        manager.status(&told);
    }
}

fn line(status: &Status, now: DateTime<Utc>) -> String {
    let missing: u64 = status.hooks.iter().map(|hook| hook.missing.total).sum();
    let oldest = status.hooks.iter().filter_map(|hook| hook.oldest_missing_seconds).max();
    let what = match (missing, oldest) {
        (0, _) => "nothing missing".to_owned(),
        (missing, Some(seconds)) => {
            format!("{missing} missing, the oldest for {} min", seconds / 60)
        }
        (missing, None) => format!("{missing} missing"),
    };
    // The hook whose list was read the longest ago says how old our knowledge is.
    let swept = match status.hooks.iter().map(|hook| hook.last_complete_sweep_at).min().flatten() {
        Some(at) => format!("last complete sweep {} s ago", (now - at).num_seconds()),
        None => "no complete sweep yet".to_owned(),
    };
    format!("{}; {what}; {swept}", hooks_of(status.hooks.len()))
}

fn hooks_of(count: usize) -> String {
    match count {
        1 => "1 hook".to_owned(),
        count => format!("{count} hooks"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{HookStatus, Inbox, Missing};

    fn hook(total: u64, oldest: Option<i64>, swept: Option<&str>) -> HookStatus {
        HookStatus {
            name: "ci".to_owned(),
            trust: "receipt",
            missing: Missing { total, ..Missing::default() },
            oldest_missing_seconds: oldest,
            last_complete_sweep_at: swept.map(|at| at.parse().unwrap()),
            inbox: Inbox::default(),
        }
    }

    #[test]
    fn the_line_tells_the_worst_of_all_hooks() {
        let now = "2026-12-01T12:00:00Z".parse().unwrap();
        let told = |hooks| line(&Status { hooks, conditions: Vec::new() }, now);
        let fine = hook(0, None, Some("2026-12-01T11:59:30Z"));
        assert_eq!(told(vec![fine]), "1 hook; nothing missing; last complete sweep 30 s ago");
        let hooks = vec![
            hook(2, Some(600), Some("2026-12-01T11:59:30Z")),
            hook(1, Some(7200), Some("2026-12-01T11:00:00Z")),
        ];
        assert_eq!(
            told(hooks),
            "2 hooks; 3 missing, the oldest for 120 min; last complete sweep 3600 s ago"
        );
        let new = hook(0, None, None);
        assert_eq!(told(vec![new]), "1 hook; nothing missing; no complete sweep yet");
    }
}
