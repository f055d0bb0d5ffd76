//! What runs by one configuration and is replaced as a whole at a reload.
//!
//! Everything that can be refused happens in [`Generation::prepare`], before anything that runs is
//! touched; so a configuration that cannot be carried out changes nothing.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::Context as _;
use chrono::{DateTime, TimeDelta, Utc};
use tokio_util::sync::CancellationToken;

use super::owner;
use crate::{
    clock::SharedClock,
    config::{self, Config},
    domain::ids::HookName,
    forward::{self, Forwarder},
    lifecycle::{Group, Overdue, Watched},
    notify::{Task, Watch},
    retention,
    schedule::{Schedule, ScheduleError},
    store::Store,
    sweeper::worker::{self, Handle},
    telemetry::{HookLabel, Metrics},
};

/// How long one step of a sweep may take: a page that GitHub answers late and again and again,
/// and its rows.
const STEP: Duration = Duration::from_mins(10);

/// How late a sweep may begin.
const LATE: TimeDelta = TimeDelta::minutes(1);

/// What lasts longer than a generation.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) store: Store,
    pub(super) clock: SharedClock,
    pub(super) metrics: Arc<Metrics>,
    /// What is still being handed over is given back.
    pub(super) give_up: CancellationToken,
    /// Everything ends at once.
    pub(super) hard: CancellationToken,
}

/// The workers of one configuration.
pub(super) struct Generation {
    /// How each hook's sweeper is asked for a sweep.
    pub(super) sweepers: Arc<BTreeMap<HookName, Handle>>,
    /// The loops that the watchdog watches.
    pub(super) loops: Vec<Watched>,
    /// Ends before the next generation begins.
    group: Group,
    /// Ends what it has in hand while the next generation works already: how long that takes is up
    /// to the application.
    hand_over: Group,
    waiting: Vec<(&'static str, Task)>,
    forwarders: Vec<forward::Worker>,
    schedules: Vec<Schedule>,
}

impl Generation {
    /// Builds the workers; none of them runs yet. Of `group` only its daemon is taken over.
    ///
    /// # Errors
    /// When a key cannot sign, a channel cannot be used, or a client or the schedule cannot be set
    /// up.
    pub(super) async fn prepare(
        config: &Arc<Config>,
        parts: &Parts,
        group: &Group,
    ) -> anyhow::Result<Self> {
        let Parts { store, clock, metrics, .. } = parts;
        let (group, hand_over) = (group.sibling(), group.sibling());
        let watch = Watch::new(config, store, clock, metrics, owner())?;
        let mut sweepers = BTreeMap::new();
        let (mut loops, mut forwarders) = (Vec::new(), Vec::new());
        let mut waiting: Vec<(&'static str, Task)> = Vec::new();
        for hook in &config.hooks {
            let sweeper = Arc::new(super::sweeper(config, hook, store, clock, metrics)?);
            loops.push(Watched {
                name: format!("sweeper of {}", hook.name),
                pulse: sweeper.pulse(),
                overdue: Some(overdue(config, clock)),
                working: STEP + config.sweep.min_interval,
            });
            let (handle, worker) = worker::worker(sweeper);
            sweepers.insert(hook.name.clone(), handle);
            let running = worker.telling(watch.swept()).run(group.until().clone());
            waiting.push(("sweeper", Box::pin(running)));
            if let Some(forward) = &hook.forward {
                let (store, clock, metrics) = (store.clone(), clock.clone(), metrics.clone());
                let forwarder = Forwarder::new(hook, forward, store, clock, metrics, owner())
                    .with_context(|| format!("hooks[{}].forward", hook.name))?;
                forwarders.push(forward::Worker::new(forwarder));
            }
        }
        let until = group.until().clone();
        let pruning = retention::run(store.clone(), config.retention, clock.clone(), until);
        waiting.push(("retention", Box::pin(pruning)));
        waiting.extend(watch.into_tasks(group.until()));
        let mut schedules = Vec::new();
        for (hook, handle) in &sweepers {
            match metronome(config, metrics, hook, handle).await {
                Ok(schedule) => schedules.push(schedule),
                Err(error) => {
                    stop(schedules).await;
                    return Err(error.into());
                }
            }
        }
        let sweepers = Arc::new(sweepers);
        Ok(Self { sweepers, loops, group, hand_over, waiting, forwarders, schedules })
    }

    /// Sets the workers going.
    pub(super) fn start(&mut self, parts: &Parts) {
        for (name, task) in self.waiting.drain(..) {
            self.group.spawn(name, task);
        }
        for worker in self.forwarders.drain(..) {
            let until = self.hand_over.until().clone();
            let running = worker.run(until, parts.give_up.clone(), parts.hard.clone());
            self.hand_over.spawn("hand-over", running);
        }
    }

    /// Whose daemon the next generation belongs to.
    pub(super) fn group(&self) -> &Group {
        &self.group
    }

    /// Ends the workers between two steps, and waits for them; only what is being handed over may
    /// take longer.
    pub(super) async fn end(self) {
        self.hand_over.until().cancel();
        if !self.group.end().await {
            // A sweep that still runs has its lease, so the next one waits for it.
            tracing::warn!("what ran by the old configuration takes long to end");
        }
        stop(self.schedules).await;
    }
}

async fn metronome(
    config: &Config,
    metrics: &Metrics,
    hook: &HookName,
    handle: &Handle,
) -> Result<Schedule, ScheduleError> {
    let label = HookLabel { hook: hook.to_string() };
    let skipped = metrics.sweep_ticks_skipped.get_or_create(&label).clone();
    let on_skip = Arc::new(move || {
        skipped.inc();
    });
    Schedule::start(&config.sweep.schedule, handle.ticks(), on_skip).await
}

async fn stop(schedules: Vec<Schedule>) {
    for schedule in schedules {
        if let Err(error) = schedule.stop().await {
            tracing::debug!(%error, "the schedule was stopped before");
        }
    }
}

/// Whether a sweeper has slept through its schedule.
fn overdue(config: &Config, clock: &SharedClock) -> Overdue {
    let (schedule, clock) = (config.sweep.schedule.clone(), Arc::clone(clock));
    Arc::new(move |waiting| slept_through(&schedule, clock.now(), waiting))
}

/// Whether two runs went by during the wait that ends `now`. One may have been skipped.
fn slept_through(schedule: &str, now: DateTime<Utc>, waiting: Duration) -> bool {
    let begun = TimeDelta::from_std(waiting).ok().and_then(|it| now.checked_sub_signed(it));
    let runs = begun.map(|begun| config::next_runs(schedule, begun, 2)).unwrap_or_default();
    runs.get(1).is_some_and(|second| now - *second > LATE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_over_two_runs_of_the_schedule_is_too_long_however_far_apart_they_are() {
        let at = |hour: u32, minute: u32| {
            format!("2026-12-02T{hour:02}:{minute:02}:30Z").parse::<DateTime<Utc>>().unwrap()
        };
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        // Every second, but at office hours only: the night is no sign of anything.
        let office = "* * 9-16 * * *";
        assert!(!slept_through(office, at(8, 0), hours(15)));
        assert!(!slept_through(office, at(9, 0), hours(16)));
        assert!(slept_through(office, at(9, 1), hours(16)));
        let hourly = "0 0 * * * *";
        assert!(!slept_through(hourly, at(9, 30), hours(1)));
        assert!(!slept_through(hourly, at(10, 0), hours(1)));
        assert!(slept_through(hourly, at(10, 1), hours(2)));
    }
}
