//! The task that looks: gathers facts, assesses conditions, keeps them, and has the channels tell.

use std::{collections::BTreeMap, future::Future, pin::Pin, sync::Arc, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{
    SetupError,
    channel::{Snapshot, Speaker, Surroundings},
    channels,
    facts::Gatherer,
    heartbeat::Heartbeat,
};
use crate::{
    clock::SharedClock,
    config::Config,
    domain::{
        condition::{Finding, State, Subject, Thresholds, assess},
        ids::HookName,
    },
    store::{Store, types::ConditionRow},
    sweeper::worker::Swept,
    telemetry::{ConditionLabel, Metrics},
};

/// The watch of one process lasts so many looks without being renewed; then another one tells.
const LOOKS: i32 = 4;

/// A watch never lasts less: looks can take some seconds while the store hangs.
const SHORTEST_WATCH: TimeDelta = TimeDelta::seconds(30);

/// Ends of sweeps that wait to be taken note of.
const SWEPT: usize = 64;

/// Something that runs until it is cancelled.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The task that looks, and those that tell.
#[derive(Debug)]
pub struct Watch {
    watcher: Watcher,
    speakers: Vec<Speaker>,
    heartbeat: Option<Heartbeat>,
    swept: mpsc::Sender<Swept>,
}

#[derive(Debug)]
struct Watcher {
    surroundings: Surroundings,
    gatherer: Gatherer,
    thresholds: Thresholds,
    check_every: Duration,
    owner: String,
    role: Role,
    term: u64,
    /// Since when each condition is as it was last found.
    known: BTreeMap<Subject, Known>,
    /// What the store holds.
    stored: Vec<ConditionRow>,
    swept: mpsc::Receiver<Swept>,
    complete: watch::Sender<u64>,
    looks: watch::Sender<Option<Arc<Snapshot>>>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    state: State,
    since: DateTime<Utc>,
    /// When it began to hold, kept while nobody can look.
    began: Option<DateTime<Utc>>,
}

/// Of several processes on one store, one tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Nobody knows: the store has not answered yet.
    Unclear,
    /// This process tells.
    Telling,
    /// Another one does.
    Silent,
}

impl Watch {
    /// Prepares every channel. `owner` names this process in the store.
    ///
    /// # Errors
    /// Names the channel that cannot be used as configured.
    pub fn new(
        config: &Arc<Config>,
        store: &Store,
        clock: &SharedClock,
        metrics: &Arc<Metrics>,
        owner: String,
    ) -> Result<Self, SetupError> {
        let alerts = &config.alerts;
        let thresholds = Thresholds {
            missing_after: alerts.missing_after,
            closing_within: alerts.closing_within,
            silence_after: alerts.silence_after,
            period: config.sweep.period,
        };
        let surroundings = Surroundings {
            store: store.clone(),
            clock: Arc::clone(clock),
            metrics: Arc::clone(metrics),
        };
        let speakers = channels(alerts)?
            .into_iter()
            .map(|channel| Speaker::new(channel, surroundings.clone(), alerts.repeat_every))
            .collect();
        let heartbeat = alerts
            .heartbeat_url
            .clone()
            .map(|url| Heartbeat::new(url, Arc::clone(clock), Arc::clone(metrics)))
            .transpose()?;
        let gatherer = Gatherer::new(
            Arc::clone(config),
            store.clone(),
            Arc::clone(metrics),
            thresholds.clone(),
            clock.now(),
        );
        let (swept, receiver) = mpsc::channel(SWEPT);
        let watcher = Watcher {
            surroundings,
            gatherer,
            thresholds,
            check_every: alerts.check_every,
            owner,
            role: Role::Unclear,
            term: 0,
            known: BTreeMap::new(),
            stored: Vec::new(),
            swept: receiver,
            complete: watch::Sender::new(0),
            looks: watch::Sender::new(None),
        };
        Ok(Self { watcher, speakers, heartbeat, swept })
    }

    /// Where the end of each sweep is to be told.
    #[must_use]
    pub fn swept(&self) -> mpsc::Sender<Swept> {
        self.swept.clone()
    }

    /// What is to run until `cancel`: the task that looks, those that tell, and the heartbeat, each
    /// with its name.
    #[must_use]
    pub fn into_tasks(self, cancel: &CancellationToken) -> Vec<(&'static str, Task)> {
        let mut tasks: Vec<(&'static str, Task)> = Vec::new();
        for speaker in self.speakers {
            let looks = self.watcher.looks.subscribe();
            tasks.push(("alert channel", Box::pin(speaker.run(looks, cancel.clone()))));
        }
        if let Some(heartbeat) = self.heartbeat {
            let sweeps = self.watcher.complete.subscribe();
            tasks.push(("heartbeat", Box::pin(heartbeat.run(sweeps, cancel.clone()))));
        }
        tasks.push(("watch", Box::pin(self.watcher.run(cancel.clone()))));
        tasks
    }
}

impl Watcher {
    async fn run(mut self, cancel: CancellationToken) {
        self.recall().await;
        loop {
            self.look().await;
            tokio::select! {
                biased;
                () = cancel.cancelled() => break,
                Some(swept) = self.swept.recv() => self.after(swept),
                () = tokio::time::sleep(self.check_every) => {}
            }
        }
        if self.role == Role::Telling {
            // Otherwise the next process waits until the watch has run out.
            let _gone = self.surroundings.store.release_watch(&self.owner).await;
        }
    }

    /// Takes up where the last process ended, so that what it told still has its beginning.
    async fn recall(&mut self) {
        let Ok(conditions) = self.surroundings.store.conditions().await else { return };
        for row in conditions.rows {
            let began = (row.state == State::Firing).then_some(row.since);
            let known = Known { state: row.state, since: row.since, began };
            self.known.insert(row.subject, known);
        }
    }

    /// Takes note of the sweeps that have ended; one look is enough for all of them.
    fn after(&mut self, first: Swept) {
        let mut complete = u64::from(first.complete);
        while let Ok(swept) = self.swept.try_recv() {
            complete += u64::from(swept.complete);
        }
        if complete > 0 {
            self.complete.send_modify(|count| *count += complete);
        }
    }

    async fn look(&mut self) {
        let now = self.surroundings.clock.now();
        let facts = self.gatherer.gather(now).await;
        let findings = assess(&facts, &self.thresholds, now);
        let findings: Vec<_> = findings
            .into_iter()
            .map(|finding| {
                let since = self.date(&finding, now);
                (finding, since)
            })
            .collect();
        self.known.retain(|subject, _| findings.iter().any(|(f, _)| f.subject == *subject));
        self.measure(&findings);
        self.take_role(now).await;
        if self.role == Role::Silent {
            return;
        }
        let look = Arc::new(Snapshot { term: self.term, findings });
        // First, for a database that is gone keeps whoever writes to it waiting.
        self.looks.send_replace(Some(Arc::clone(&look)));
        self.keep(&look.findings).await;
    }

    /// Since when the finding's state holds. A condition that held, could not be seen, and holds,
    /// held all the time.
    fn date(&mut self, finding: &Finding, now: DateTime<Utc>) -> DateTime<Utc> {
        let before = self.known.get(&finding.subject);
        let began = before.and_then(|known| known.began);
        let (since, began) = match finding.state {
            State::Firing => {
                let began = began.unwrap_or(now);
                (began, Some(began))
            }
            State::Resolved => (same(before, State::Resolved).unwrap_or(now), None),
            State::Unknown => (same(before, State::Unknown).unwrap_or(now), began),
        };
        self.known.insert(finding.subject.clone(), Known { state: finding.state, since, began });
        since
    }

    /// Takes or keeps the watch. While the store does not answer, whoever told goes on, and who
    /// does not know tells too: twice is better than never.
    async fn take_role(&mut self, now: DateTime<Utc>) {
        let check_every = TimeDelta::from_std(self.check_every).unwrap_or(SHORTEST_WATCH);
        let until = now + (check_every * LOOKS).max(SHORTEST_WATCH);
        let role = match self.surroundings.store.keep_watch(&self.owner, now, until).await {
            Ok(true) => Role::Telling,
            Ok(false) => Role::Silent,
            Err(_) => return,
        };
        if role == Role::Telling && self.role != Role::Telling {
            self.term += 1;
            self.stored.clear();
        }
        self.role = role;
    }

    /// Stores what was found, where it changed.
    async fn keep(&mut self, findings: &[(Finding, DateTime<Utc>)]) {
        let rows: Vec<_> = findings
            .iter()
            .map(|(finding, since)| ConditionRow {
                subject: finding.subject.clone(),
                state: finding.state,
                since: *since,
                summary: finding.summary.clone(),
            })
            .collect();
        if rows == self.stored {
            return;
        }
        match self.surroundings.store.save_conditions(&rows).await {
            Ok(()) => self.stored = rows,
            Err(error) => tracing::debug!(%error, "the conditions cannot be stored"),
        }
    }

    fn measure(&self, findings: &[(Finding, DateTime<Utc>)]) {
        for (finding, _) in findings {
            let hook = finding.subject.hook.as_ref().map_or("", HookName::as_str);
            let label = ConditionLabel {
                condition: finding.subject.condition.as_str().to_owned(),
                hook: hook.to_owned(),
            };
            let value = match finding.state {
                State::Firing => 1.0,
                State::Resolved => 0.0,
                State::Unknown => f64::NAN,
            };
            self.surroundings.metrics.condition.get_or_create(&label).set(value);
        }
    }
}

fn same(before: Option<&Known>, state: State) -> Option<DateTime<Utc>> {
    before.filter(|known| known.state == state).map(|known| known.since)
}
