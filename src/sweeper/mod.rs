//! One pass of reconciliation over one hook: list, store, judge from the store, plan, ask, record.
//!
//! Every step can be killed: what was read is committed page by page, what is to be asked is
//! committed before it is sent, and judgement reads the store and never the pages in memory.

mod act;
mod ask;
mod by_hand;
mod calls;
mod decide;
mod fetch;
mod gather;
mod lease;
mod limits;
mod record;
pub mod report;
pub mod worker;

use std::{
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use chrono::{DateTime, Utc};
use thiserror::Error;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

pub use self::{
    by_hand::ByHandError,
    record::Settings,
    report::{Ending, RequestReport, SweepReport},
};
use self::{
    lease::{Held, Taken, Terms},
    record::Tally,
};
use crate::{
    clock::SharedClock,
    domain::{
        clock_offset::ClockOffset,
        delivery::Delivery,
        policy::{Endpoint, Standing},
    },
    github::Client,
    pulse::Pulse,
    store::{Store, StoreError, types::HookMemory},
    telemetry::{HookLabel, Metrics},
};

/// Sweeps one hook. At most one sweep of a hook runs at a time, by the lease in the store.
#[derive(Debug)]
pub struct Sweeper {
    settings: Settings,
    store: Store,
    client: Client,
    clock: SharedClock,
    metrics: Arc<Metrics>,
    owner: String,
    progress: watch::Sender<Progress>,
    pulse: Pulse,
    /// Sweeps in a row that met a rate limit.
    limit_streak: AtomicU32,
}

/// What starts a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// The start of the daemon.
    Startup,
    /// A tick of the schedule.
    Scheduled,
    /// A person or a program.
    Manual,
}

impl Trigger {
    /// The one stable word for log, metric, column and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Scheduled => "scheduled",
            Self::Manual => "manual",
        }
    }
}

/// What is wanted of one sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// What starts it.
    pub trigger: Trigger,
    /// Mark everything first attempted since then, by our clock, as asked for by hand.
    pub since: Option<DateTime<Utc>>,
    /// List, judge and plan, but change nothing at GitHub and store only the listing.
    pub dry_run: bool,
    /// How long to wait for a sweep that already runs; zero: not at all.
    pub patience: Duration,
}

impl Request {
    /// A plain sweep that does not wait for a running one.
    #[must_use]
    pub fn new(trigger: Trigger) -> Self {
        Self { trigger, since: None, dry_run: false, patience: Duration::ZERO }
    }
}

/// What became of a request to sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sweep {
    /// It was made; it may have met errors, which the report names.
    Done(Box<SweepReport>),
    /// Another sweep of this hook runs.
    Skipped {
        /// Who holds the lease.
        owner: String,
        /// Until when, unless renewed.
        until: DateTime<Utc>,
    },
}

/// Why a sweep could not be made or recorded. What GitHub did wrong stands in the report instead.
#[derive(Debug, Error)]
pub enum SweepError {
    /// The store failed, or the lease was lost: the sweep stopped at that step.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The worker that makes the sweeps of this hook has ended: a shutdown.
    #[error("the sweeper has been stopped")]
    Ended,
}

/// Where a running sweep is, for a progress bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Progress {
    /// None runs.
    #[default]
    Idle,
    /// Reading the list.
    Listing {
        /// Rows read so far.
        rows: u32,
    },
    /// Judging open deliveries.
    Judging {
        /// Judged so far.
        deliveries: u32,
    },
    /// Asking GitHub.
    Asking {
        /// Requests made so far.
        made: u32,
        /// Requests planned.
        of: u32,
    },
}

/// One running sweep.
struct Pass<'a> {
    sweeper: &'a Sweeper,
    request: &'a Request,
    held: &'a Held,
    id: i64,
    /// The one time that everything in this sweep is judged by.
    now: DateTime<Utc>,
    /// As far as it is known by now.
    clock: ClockOffset,
    tally: Tally,
}

/// What is closed and has to be judged again all the same; times by GitHub's clock.
struct Marks {
    /// The rules are new: everything whose newest attempt is not before this.
    reopen: Option<DateTime<Utc>>,
    /// Asked for by hand: everything first attempted since then, for good.
    ask: Option<DateTime<Utc>>,
}

impl Sweeper {
    /// A sweeper that has done nothing yet. `owner` names this process in the lease.
    #[must_use]
    pub fn new(
        settings: Settings,
        store: Store,
        client: Client,
        clock: SharedClock,
        metrics: Arc<Metrics>,
        owner: String,
    ) -> Self {
        let progress = watch::Sender::new(Progress::Idle);
        let (pulse, limit_streak) = (Pulse::default(), AtomicU32::new(0));
        Self { settings, store, client, clock, metrics, owner, progress, pulse, limit_streak }
    }

    /// Marked at every step of a sweep.
    #[must_use]
    pub fn pulse(&self) -> Pulse {
        self.pulse.clone()
    }

    /// Follows the running sweep.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// What it sweeps, and by which rules.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Counts a tick of the schedule that found a sweep running.
    pub fn tick_skipped(&self) {
        let hook = self.settings.hook.name.to_string();
        self.metrics.sweep_ticks_skipped.get_or_create(&HookLabel { hook }).inc();
    }

    /// Makes one sweep, or says who is making one. After `cancel` it ends between two steps,
    /// with everything recorded.
    ///
    /// # Errors
    /// When the store fails or the lease is lost. Errors of GitHub stand in the report.
    pub async fn sweep(
        &self,
        request: &Request,
        cancel: &CancellationToken,
    ) -> Result<Sweep, SweepError> {
        self.pulse.working();
        let swept = self.sweep_alone(request, cancel).await;
        self.pulse.waiting();
        swept
    }

    async fn sweep_alone(
        &self,
        request: &Request,
        cancel: &CancellationToken,
    ) -> Result<Sweep, SweepError> {
        let terms = Terms {
            store: self.store.clone(),
            clock: self.clock.clone(),
            hook: self.settings.hook.name.clone(),
            owner: self.owner.clone(),
            lasts: self.settings.sweep.lease,
        };
        match terms.take(request.patience, cancel).await? {
            Taken::Busy { owner, until } => Ok(Sweep::Skipped { owner, until }),
            Taken::Held(held) => {
                let swept = self.sweep_held(request, &held).await;
                self.progress.send_replace(Progress::Idle);
                held.release().await;
                swept.map(|report| Sweep::Done(Box::new(report)))
            }
        }
    }

    async fn sweep_held(&self, request: &Request, held: &Held) -> Result<SweepReport, SweepError> {
        let started = Instant::now();
        let now = self.clock.now();
        let trigger = request.trigger.as_str();
        let id = self.store.begin_sweep(&held.lease, trigger, request.dry_run, now).await?;
        let (clock, tally) = (ClockOffset::default(), Tally::default());
        let mut pass = Pass { sweeper: self, request, held, id, now, clock, tally };
        let result = pass.run().await;
        if let Err(error) = &result {
            pass.tally.stop(Ending::Failed, error.to_string());
            pass.tally.numbers.complete = false;
        }
        let report = pass.finish(started.elapsed()).await;
        result?;
        report.map_err(SweepError::from)
    }
}

impl Pass<'_> {
    /// Tells whoever follows the sweep, and the watchdog, how far it is.
    fn at(&self, progress: Progress) {
        self.sweeper.pulse.working();
        self.sweeper.progress.send_replace(progress);
    }

    async fn run(&mut self) -> Result<(), StoreError> {
        let Sweeper { store, settings, .. } = self.sweeper;
        let hook = &settings.hook.name;
        let memory = store.hook(hook).await?;
        self.clock = memory.clock_offset;
        if self.may_call().await? {
            self.gather(memory).await?;
        }
        let memory = store.hook(hook).await?;
        let marks = self.marks(&memory);
        if !self.request.dry_run {
            self.mark(&marks).await?;
        }
        let standing = Standing { endpoint: Endpoint::Up, ..memory.standing() };
        let ramp = self.observe(memory.ramp.clone(), &standing).await?;
        let found = self.judge_open(&standing, &marks).await?;
        let ramp = if found.is_empty() { ramp.rest(&settings.hook.policy) } else { ramp };
        let planned = self.plan(found, &ramp).await?;
        if self.request.dry_run {
            self.show(planned);
        } else {
            self.act(planned, ramp, memory.ramp.as_ref(), &standing).await?;
        }
        self.settle_limits();
        Ok(())
    }

    /// What a person or a new configuration makes due.
    fn marks(&self, memory: &HookMemory) -> Marks {
        let Settings { hook, fingerprint, .. } = &self.sweeper.settings;
        let changed = memory.rules_fingerprint.as_deref() != Some(fingerprint.as_str());
        let reopen = changed.then(|| self.githubs_now() - hook.policy.window);
        Marks { reopen, ask: self.since() }
    }

    /// The time of this sweep by GitHub's clock, which is that of every listed attempt.
    fn githubs_now(&self) -> DateTime<Utc> {
        self.clock.to_githubs(self.now)
    }

    /// `--since`, by GitHub's clock.
    fn since(&self) -> Option<DateTime<Utc>> {
        self.request.since.map(|at| self.clock.to_githubs(at))
    }

    /// Writes down, before judging, what is to be judged again.
    async fn mark(&self, marks: &Marks) -> Result<(), StoreError> {
        let Sweeper { store, settings, .. } = self.sweeper;
        let lease = &self.held.lease;
        if let Some(since) = marks.reopen {
            let opened = store.reopen(lease, since, &settings.fingerprint).await?;
            tracing::info!(hook = %settings.hook.name, deliveries = opened, "the rules are new; judging again");
        }
        if let Some(since) = marks.ask {
            let marked = store.ask_by_hand(lease, since).await?;
            tracing::info!(hook = %settings.hook.name, deliveries = marked, "marked as asked for by hand");
        }
        Ok(())
    }
}

impl Marks {
    /// Whether a closed delivery is opened by this.
    fn opens(&self, delivery: &Delivery) -> bool {
        let newest = delivery.newest().map(|newest| newest.delivered_at);
        let reopened = self.reopen.is_some_and(|since| newest >= Some(since));
        let asked = self.ask.is_some_and(|since| delivery.first_attempt_at() >= Some(since));
        reopened || asked && !delivery.asked_by_hand
    }
}
