//! Gathers what conditions are judged from. What cannot be looked up is said to be so.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use super::{backlog::Backlog, meter::Meter, space::free_space};
use crate::{
    config::{Config, Hook},
    domain::{
        condition::{
            Attempts, Disk, Facts, HookFacts, InboxFacts, Lacking, LastSweep, Look, Requests,
            Shortfall, StoreFacts, SweepEnd, Thresholds,
        },
        ids::{Guid, HookName},
        verdict::{Verdict, Wait},
    },
    report::Bench,
    store::{Store, StoreError, types::SweepRow},
    sweeper::Ending,
    telemetry::Metrics,
};

/// Deliveries read at once; bounds memory, not the answer.
const BATCH: u32 = 1_000;

/// Sweeps looked back through for the newest finished one.
const SWEEPS: u32 = 20;

/// Dead letters that are named, at most.
const NAMED: u32 = 5;

/// Looking at what is missing may take this part of the time, however much is missing.
const SHARE: u32 = 20;

/// What gathering remembers from one look to the next.
#[derive(Debug)]
pub(super) struct Gatherer {
    config: Arc<Config>,
    store: Store,
    metrics: Arc<Metrics>,
    thresholds: Thresholds,
    started_at: DateTime<Utc>,
    able_since: DateTime<Utc>,
    hooks: BTreeMap<HookName, Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    meter: Meter,
    backlog: Backlog,
    missing: Option<Scan>,
}

/// The last look at what is missing.
#[derive(Debug)]
struct Scan {
    shortfall: Shortfall,
    ended: Instant,
    took: Duration,
}

impl Gatherer {
    pub(super) fn new(
        config: Arc<Config>,
        store: Store,
        metrics: Arc<Metrics>,
        thresholds: Thresholds,
        started_at: DateTime<Utc>,
    ) -> Self {
        // After a reload the counters have a past.
        let hooks = config
            .hooks
            .iter()
            .map(|hook| {
                let meter = Meter::beginning(hook, &metrics);
                (hook.name.clone(), Memory { meter, ..Memory::default() })
            })
            .collect();
        let able_since = started_at;
        Self { config, store, metrics, thresholds, started_at, able_since, hooks }
    }

    /// Everything known at `now`.
    pub(super) async fn gather(&mut self, now: DateTime<Utc>) -> Facts {
        let store = match self.store.check_writable(now).await {
            Ok(()) => StoreFacts::Writable,
            Err(error) => {
                self.able_since = now;
                StoreFacts::Failing(error.to_string())
            }
        };
        let config = Arc::clone(&self.config);
        let mut hooks = Vec::with_capacity(config.hooks.len());
        for hook in &config.hooks {
            hooks.push(self.hook(hook, now).await);
        }
        let disk = space(self.store.file()).await;
        let (started_at, able_since) = (self.started_at, self.able_since);
        Facts { started_at, able_since, store, disk, hooks }
    }

    async fn hook(&mut self, hook: &Hook, now: DateTime<Utc>) -> HookFacts {
        let mut memory = self.hooks.remove(&hook.name).unwrap_or_default();
        let requests = memory.meter.read(hook, &self.metrics, now);
        let facts = match Bench::of(&self.store, hook).await {
            Err(error) => unseen(hook, requests, &error),
            Ok(bench) => self.seen(&bench, &mut memory, requests, now).await,
        };
        self.hooks.insert(hook.name.clone(), memory);
        facts
    }

    async fn seen(
        &self,
        bench: &Bench<'_>,
        memory: &mut Memory,
        requests: Requests,
        now: DateTime<Utc>,
    ) -> HookFacts {
        let name = &bench.hook.name;
        let clock = bench.memory.clock_offset;
        let back = clock.to_githubs(now - HookFacts::ATTEMPTS_BACK);
        let attempts = self.store.attempts_since(name, back).await;
        let sweeps = self.store.sweeps(Some(name), SWEEPS).await;
        // Stored by the last sweep, so a process that has not swept yet has it too.
        let clock_offset = Some(clock.get()).filter(|offset| !offset.is_zero());
        HookFacts {
            name: name.clone(),
            missing: self.missing(bench, memory, now).await.map_err(|error| error.to_string()),
            complete_at: Ok(bench.memory.complete_at()),
            attempts: attempts
                .map(|count| Attempts {
                    succeeded: count.succeeded,
                    failed: count.failed,
                    failing_since: count.failing_since.map(|at| clock.to_ours(at)),
                    newest_code: count.newest_code,
                })
                .map_err(|error| error.to_string()),
            last_sweep: sweeps
                .map(|rows| rows.into_iter().find_map(last_sweep))
                .map_err(|error| error.to_string()),
            clock_offset,
            requests,
            last_delivery_at: self.last_delivery(bench).await.map_err(|error| error.to_string()),
            inbox: self.inbox(bench.hook, &mut memory.backlog, now).await,
        }
    }

    /// What is missing; the last answer while looking again would take too much of the time.
    async fn missing(
        &self,
        bench: &Bench<'_>,
        memory: &mut Memory,
        now: DateTime<Utc>,
    ) -> Result<Shortfall, StoreError> {
        if let Some(scan) = &memory.missing
            && scan.ended.elapsed() < scan.took * SHARE
        {
            return Ok(scan.shortfall.clone());
        }
        let began = Instant::now();
        let shortfall = self.scan(bench, now).await?;
        let scan =
            Scan { shortfall: shortfall.clone(), ended: Instant::now(), took: began.elapsed() };
        memory.missing = Some(scan);
        Ok(shortfall)
    }

    async fn scan(&self, bench: &Bench<'_>, now: DateTime<Utc>) -> Result<Shortfall, StoreError> {
        let (hook, clock) = (bench.hook, bench.memory.clock_offset);
        let mut shortfall = Shortfall::default();
        let mut after: Option<Guid> = None;
        loop {
            let batch = self.store.open_deliveries(&hook.name, after.as_ref(), BATCH).await?;
            let Some(last) = batch.last() else { return Ok(shortfall) };
            after = Some(last.delivery.guid.clone());
            for open in &batch {
                let verdict = bench.judge(&open.delivery, now);
                let times = open
                    .delivery
                    .first_attempt_at()
                    .zip(open.delivery.expires_at(hook.policy.window));
                let Some((first_attempt_at, expires_at)) = times else { continue };
                // The grace of one more attempt is no end of what has been missing.
                let grace = matches!(verdict, Verdict::Waiting { why: Wait::Grace, .. });
                if verdict.is_missing() || (grace && open.missing_since.is_some()) {
                    let lacking = Lacking {
                        guid: &open.delivery.guid,
                        verdict: &verdict,
                        first_attempt_at: clock.to_ours(first_attempt_at),
                        missing_since: open.missing_since,
                        expires_at: clock.to_ours(expires_at),
                    };
                    shortfall.add(&lacking, &self.thresholds, now);
                }
            }
        }
    }

    /// The state of a hook's hand-over, where it has one.
    async fn inbox(
        &self,
        hook: &Hook,
        backlog: &mut Backlog,
        now: DateTime<Utc>,
    ) -> Option<Look<InboxFacts>> {
        hook.forward.as_ref()?;
        let counts = match self.store.inbox_counts(&hook.name).await {
            Ok(counts) => counts,
            Err(error) => return Some(Err(error.to_string())),
        };
        let dead = if counts.dead == 0 {
            Ok(Vec::new())
        } else {
            self.store.dead_letters(&hook.name, 0, NAMED).await
        };
        let facts = dead.map(|dead| {
            backlog.update(&counts, now);
            InboxFacts {
                dead: counts.dead,
                dead_since: dead.iter().filter_map(|letter| letter.died_at).min(),
                dead_guids: dead.into_iter().map(|letter| letter.guid).collect(),
                waiting: counts.waiting,
                waiting_since: backlog.waiting_since,
                handed_over_at: backlog.handed_over_at,
            }
        });
        Some(facts.map_err(|error| error.to_string()))
    }

    /// When something last came, or else when it first could have.
    async fn last_delivery(&self, bench: &Bench<'_>) -> Result<Option<DateTime<Utc>>, StoreError> {
        let began = bench.memory.recording_since.or(bench.memory.adopted_at);
        let since = began.unwrap_or(DateTime::UNIX_EPOCH);
        let arrived = self.store.newest_arrival(&bench.hook.name, since).await?;
        let attempted = self.store.newest_first_attempt(&bench.hook.name).await?;
        let clock = bench.memory.clock_offset;
        let attempted = attempted.map(|at| clock.to_ours(at));
        Ok(arrived.max(attempted).max(began))
    }
}

fn unseen(hook: &Hook, requests: Requests, error: &StoreError) -> HookFacts {
    let why = error.to_string();
    HookFacts {
        name: hook.name.clone(),
        missing: Err(why.clone()),
        complete_at: Err(why.clone()),
        attempts: Err(why.clone()),
        last_sweep: Err(why.clone()),
        clock_offset: None,
        requests,
        last_delivery_at: Err(why.clone()),
        inbox: hook.forward.as_ref().map(|_| Err(why)),
    }
}

/// What a finished sweep tells of the credential; `None`: it has not finished, or is from a time
/// when its ending was not kept.
fn last_sweep(row: SweepRow) -> Option<LastSweep> {
    row.finished_at?;
    let end = match Ending::from_word(row.numbers.ending.as_deref()?)? {
        Ending::Complete | Ending::Partial => SweepEnd::Authorized,
        Ending::Unauthorized => SweepEnd::Unauthorized,
        Ending::Stopped | Ending::RateLimited | Ending::Failed | Ending::Misconfigured => {
            SweepEnd::Unclear
        }
    };
    Some(LastSweep { started_at: row.started_at, end, error: row.numbers.error })
}

async fn space(file: Option<&Path>) -> Look<Disk> {
    let directory = file.and_then(Path::parent).map(Path::to_path_buf);
    let Some(directory) = directory else {
        return Err("the database server's disk is not seen from here".to_owned());
    };
    // A network file system may hang.
    let asked = tokio::task::spawn_blocking(move || free_space(&directory));
    match tokio::time::timeout(Duration::from_secs(5), asked).await {
        Ok(Ok(answer)) => answer.map_err(|error| error.to_string()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the file system does not answer".to_owned()),
    }
}
