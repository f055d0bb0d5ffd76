//! One task per channel: decides what is news to it, tells it, and remembers what it was told.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{Failure, Named, Notice, count};
use crate::{
    clock::SharedClock,
    domain::{
        condition::{Finding, State, Subject},
        notice::{Said, Why, decide},
    },
    store::Store,
    telemetry::Metrics,
};

/// How long a channel that failed is left alone when it asks for nothing, doubling each time.
const FIRST_PAUSE: Duration = Duration::from_secs(15);
const LONGEST_PAUSE: Duration = Duration::from_mins(10);

/// How long what is being told may take once the daemon is to end: the receiver is down meanwhile.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How things stand, for every channel.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// Grows whenever this process begins to tell: what others told meanwhile is read anew.
    pub(super) term: u64,
    /// Every condition, with the time since when it is as it is.
    pub(super) findings: Vec<(Finding, DateTime<Utc>)>,
}

/// What the daemon gives every channel.
#[derive(Debug, Clone)]
pub(super) struct Surroundings {
    pub(super) store: Store,
    pub(super) clock: SharedClock,
    pub(super) metrics: Arc<Metrics>,
}

/// One channel at work.
#[derive(Debug)]
pub(super) struct Speaker {
    channel: Named,
    surroundings: Surroundings,
    repeat_every: TimeDelta,
    term: Option<u64>,
    said: BTreeMap<Subject, Said>,
    /// What the store could not take yet.
    unsaved: BTreeSet<Subject>,
    pause: Option<Pause>,
}

/// A channel that failed is left alone.
#[derive(Debug, Clone, Copy)]
struct Pause {
    until: Instant,
    next: Duration,
}

impl Speaker {
    pub(super) fn new(channel: Named, surroundings: Surroundings, repeat_every: TimeDelta) -> Self {
        let repeat_every = channel.notifier.repeat_every(repeat_every);
        Self {
            channel,
            surroundings,
            repeat_every,
            term: None,
            said: BTreeMap::new(),
            unsaved: BTreeSet::new(),
            pause: None,
        }
    }

    /// Tells what is news, at every look and when a pause is over, until `cancel`.
    pub(super) async fn run(
        mut self,
        mut looks: watch::Receiver<Option<Arc<Snapshot>>>,
        cancel: CancellationToken,
    ) {
        loop {
            let pause = self.pause;
            let over = async move {
                match pause {
                    Some(pause) => tokio::time::sleep_until(pause.until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                changed = looks.changed() => if changed.is_err() { return },
                () = over => {}
            }
            let look = looks.borrow_and_update().clone();
            if let Some(look) = look {
                self.tell(&look, &cancel).await;
            }
        }
    }

    async fn tell(&mut self, look: &Snapshot, cancel: &CancellationToken) {
        self.remember(look.term).await;
        if self.pause.is_some_and(|pause| Instant::now() < pause.until) {
            return;
        }
        for (finding, since) in look.findings.iter().chain(&self.vanished(look)) {
            if cancel.is_cancelled() {
                return;
            }
            let now = self.surroundings.clock.now();
            let said = self.said.get(&finding.subject).copied();
            let Some(why) = decide(finding, said.as_ref(), self.repeat_every, now) else {
                continue;
            };
            // A resolve notice tells of the time when the condition held.
            let began = said.map_or(*since, |said| said.since);
            let notice = Notice::of(finding, why, began, said.as_ref(), now);
            let told = tokio::select! {
                biased;
                told = self.channel.notifier.tell(&notice) => told,
                () = too_late(cancel) => {
                    // Not noted as told, so the next process tells it: twice is better than never.
                    let channel = &self.channel.name;
                    tracing::warn!(channel, "a notice was given up because the daemon ends");
                    return;
                }
            };
            count(&self.surroundings.metrics, &self.channel.name, &told);
            match told {
                Ok(()) => self.note(finding, why, began, now).await,
                Err(failure) => return self.leave_alone(&failure),
            }
        }
        self.pause = None;
    }

    /// Reads what this channel was told, by this process before or by another. A store that does
    /// not answer leaves what is known, because its failure is to be told as well.
    async fn remember(&mut self, term: u64) {
        for subject in std::mem::take(&mut self.unsaved) {
            self.save(subject).await;
        }
        if self.term == Some(term) || !self.unsaved.is_empty() {
            return;
        }
        match self.surroundings.store.said(&self.channel.name).await {
            Ok(said) => {
                self.said = said.into_iter().collect();
                self.term = Some(term);
            }
            Err(error) => {
                let channel = &self.channel.name;
                tracing::debug!(channel, %error, "what was told cannot be read");
            }
        }
    }

    /// Conditions that were told and are no longer watched: their hook left the configuration.
    fn vanished(&self, look: &Snapshot) -> Vec<(Finding, DateTime<Utc>)> {
        let watched: BTreeSet<&Subject> =
            look.findings.iter().map(|(finding, _)| &finding.subject).collect();
        self.said
            .iter()
            .filter(|(subject, _)| !watched.contains(subject))
            .map(|(subject, said)| {
                let finding = Finding {
                    subject: subject.clone(),
                    state: State::Resolved,
                    summary: "it is no longer watched".to_owned(),
                    count: 0,
                    oldest: None,
                    guids: Vec::new(),
                    command: "redeliverd status".to_owned(),
                };
                (finding, said.since)
            })
            .collect()
    }

    async fn note(
        &mut self,
        finding: &Finding,
        why: Why,
        began: DateTime<Utc>,
        now: DateTime<Utc>,
    ) {
        let subject = finding.subject.clone();
        if why == Why::Resolved {
            self.said.remove(&subject);
        } else {
            let said = Said { since: began, at: now, count: finding.count };
            self.said.insert(subject.clone(), said);
        }
        self.pause = None;
        self.save(subject).await;
    }

    async fn save(&mut self, subject: Subject) {
        let said = self.said.get(&subject);
        if self.surroundings.store.say(&self.channel.name, &subject, said).await.is_err() {
            self.unsaved.insert(subject);
        }
    }

    fn leave_alone(&mut self, failure: &Failure) {
        let next = self.pause.map_or(FIRST_PAUSE, |pause| pause.next);
        let pause = failure.retry_after.unwrap_or(next);
        tracing::warn!(
            channel = self.channel.name,
            error = %failure,
            retry_in_seconds = pause.as_secs(),
            "a notice was not taken"
        );
        let next = next.saturating_mul(2).min(LONGEST_PAUSE);
        self.pause = Some(Pause { until: Instant::now() + pause, next });
    }
}

async fn too_late(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(LAST_WORDS).await;
}
