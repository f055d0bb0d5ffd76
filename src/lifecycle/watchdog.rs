//! The service manager's watchdog: fed while every watched loop gets on, and not otherwise.

use std::{fmt, sync::Arc, time::Duration};

use tokio::{sync::watch, time::MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::ServiceManager;
use crate::pulse::{Doing, Pulse};

/// Below this a machine that is only busy would be taken for a dead one.
const SHORTEST: Duration = Duration::from_secs(10);

/// Whether a loop that has been waiting for so long should have begun something by now.
pub type Overdue = Arc<dyn Fn(Duration) -> bool + Send + Sync>;

/// A loop that has to turn.
#[derive(Clone)]
pub struct Watched {
    /// Its name, for the log.
    pub name: String,
    /// Its mark.
    pub pulse: Pulse,
    /// Whether it waits for too long; `None`: it may wait for ever.
    pub overdue: Option<Overdue>,
    /// How long one step of its work may take.
    pub working: Duration,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Watched {
    /// Whether a last mark of this age means that it is stuck.
    fn is_stuck(&self, doing: Doing, age: Duration) -> bool {
        match doing {
            Doing::Waiting => self.overdue.as_ref().is_some_and(|overdue| overdue(age)),
            Doing::Working => age > self.working,
        }
    }
}

/// Feeds the watchdog at half of its limit until `stop`, if there is one. A loop that is stuck,
/// of those that are `always` there or of those that a reload changes, stops the feed, and the
/// manager restarts us.
pub async fn feed(
    manager: ServiceManager,
    always: Vec<Watched>,
    loops: watch::Receiver<Vec<Watched>>,
    stop: CancellationToken,
) {
    let Some(limit) = manager.watchdog() else { return };
    if limit < SHORTEST {
        tracing::warn!(
            seconds = limit.as_secs_f64(),
            "WatchdogSec is short: a busy machine will be taken for a dead one; use at least {} s",
            SHORTEST.as_secs()
        );
    }
    let mut ticks = tokio::time::interval(limit / 2);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = false;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
        }
        let stuck = always.iter().chain(loops.borrow().iter()).find_map(|one| {
            let (doing, age) = one.pulse.last();
            one.is_stuck(doing, age).then(|| (one.name.clone(), doing, age))
        });
        match stuck {
            None => {
                told = false;
                manager.alive();
            }
            Some((name, doing, age)) if !told => {
                told = true;
                let (state, seconds) = (doing.as_str(), age.as_secs());
                tracing::error!(name, state, seconds, "stuck; the watchdog is not fed any more");
                manager.status(&format!("{name} is stuck ({state} for {seconds} s)"));
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(overdue: Option<Overdue>) -> Watched {
        Watched {
            name: "sweeper of ci".to_owned(),
            pulse: Pulse::default(),
            overdue,
            working: Duration::from_secs(45),
        }
    }

    // O24
    #[test]
    fn a_step_that_takes_too_long_is_stuck() {
        let one = watched(None);
        assert!(!one.is_stuck(Doing::Working, Duration::from_secs(45)));
        assert!(one.is_stuck(Doing::Working, Duration::from_secs(46)));
    }

    // O24
    #[test]
    fn a_loop_that_nothing_wakes_any_more_is_stuck_unless_it_may_wait_for_ever() {
        let five = Duration::from_mins(5);
        let scheduled = watched(Some(Arc::new(move |age| age > five)));
        let (short, long) = (five, five + Duration::from_secs(1));
        assert!(!scheduled.is_stuck(Doing::Waiting, short));
        assert!(scheduled.is_stuck(Doing::Waiting, long));
        assert!(!watched(None).is_stuck(Doing::Waiting, long));
    }

    #[test]
    fn a_mark_begins_its_age_anew() {
        let pulse = Pulse::default();
        pulse.working();
        let (doing, age) = pulse.last();
        assert!(doing == Doing::Working && age < Duration::from_secs(10));
        pulse.waiting();
        assert_eq!(pulse.last().0, Doing::Waiting);
    }
}
