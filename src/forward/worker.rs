//! The task that owns one hook's hand-overs: it claims, has events sent side by side, and writes
//! conclusions and next claims in one commit per turn.
//!
//! All writing is done here, one turn at a time. While a turn is being committed more requests end,
//! and the next turn concludes them together: the faster the application, the larger the turns.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::{
    sync::{Semaphore, mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{Forwarder, breaker::Breaker};
use crate::store::types::{Claimed, Conclusion};

/// How often the inbox is looked at although nothing woke us: retries fall due, and other processes
/// record too.
const POLL: Duration = Duration::from_secs(1);

/// How long we wait before we try the store again.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a turn waits for more to write while arrivals are being recorded: they have the disk
/// first, and fewer, larger turns take less of it.
const GATHER: Duration = Duration::from_millis(4);

/// How long the last write of a stopping worker may take.
const LAST_WRITE: Duration = Duration::from_secs(2);

/// What a sending task reports.
enum Ended {
    Concluded(Box<Conclusion>),
    /// Nothing was sent: we are stopping, or the store could not be read.
    Unsent(Claimed),
}

/// The task of one hook.
#[derive(Debug)]
pub struct Worker {
    pub(super) forwarder: Arc<Forwarder>,
    arrivals: watch::Receiver<u64>,
    slots: Arc<Semaphore>,
    pub(super) concurrency: usize,
    /// What we hold: being sent, or claimed ahead.
    pub(super) held: BTreeMap<i64, Claimed>,
    /// Ended, and not written yet.
    pub(super) concluded: Vec<Conclusion>,
    /// To be given back, and not written yet.
    pub(super) unsent: Vec<Claimed>,
    /// How many events beyond `concurrency` are claimed ahead: as many as ended during the last
    /// turn, so that a slow application never has events waiting in our hands.
    pub(super) ahead: usize,
    /// Whether a claim may find something.
    pub(super) hungry: bool,
    pub(super) turns: u64,
    pub(super) cursor: i64,
    pub(super) failing: bool,
    pub(super) breaker: Breaker,
}

impl Worker {
    /// A worker that has not begun.
    #[must_use]
    pub fn new(forwarder: Forwarder) -> Self {
        let concurrency = usize::try_from(forwarder.settings.concurrency).unwrap_or(1);
        Self {
            arrivals: forwarder.store.arrivals(),
            forwarder: Arc::new(forwarder),
            slots: Arc::new(Semaphore::new(concurrency.min(Semaphore::MAX_PERMITS))),
            concurrency,
            held: BTreeMap::new(),
            concluded: Vec::new(),
            unsent: Vec::new(),
            ahead: 0,
            hungry: true,
            turns: 0,
            cursor: 0,
            failing: false,
            breaker: Breaker::new(concurrency),
        }
    }

    /// Hands over until `soft`; then claims nothing, and ends once what is being sent has ended. What
    /// has not by `give_up`, which comes after `soft`, is given back. `hard` ends everything at once:
    /// the leases see to the rest.
    pub async fn run(
        mut self,
        soft: CancellationToken,
        give_up: CancellationToken,
        hard: CancellationToken,
    ) {
        let (ends, mut ended) = mpsc::unbounded_channel();
        let mut sending = JoinSet::new();
        let lease = self.forwarder.settings.lease;
        let mut renew_at = Instant::now() + lease / 3;
        let mut poll_at = Instant::now() + POLL;
        loop {
            while let Ok(end) = ended.try_recv() {
                self.take(end);
            }
            while let Some(joined) = sending.try_join_next() {
                if let Err(panic) = joined {
                    // A restart, and after enough of them a dead letter, is the way out.
                    tracing::error!(hook = %self.forwarder.hook, %panic, "a hand-over failed badly");
                    return;
                }
            }
            let stopping = soft.is_cancelled();
            if stopping && self.held.is_empty() && !self.has_news() {
                return;
            }
            if Instant::now() >= renew_at {
                self.renew().await;
                renew_at = Instant::now() + lease / 3;
            }
            if self.has_news() || (self.hungry && !stopping && self.free() > 0) {
                if !stopping && self.recording() {
                    sleep(GATHER).await;
                    while let Ok(end) = ended.try_recv() {
                        self.take(end);
                    }
                }
                let Some(claimed) = self.turn(stopping).await else {
                    tokio::select! {
                        () = hard.cancelled() => return,
                        () = sleep(PAUSE) => continue,
                    }
                };
                for claimed in claimed {
                    let (forwarder, slots) = (Arc::clone(&self.forwarder), Arc::clone(&self.slots));
                    sending.spawn(send(forwarder, slots, claimed, soft.clone(), ends.clone()));
                }
                if !hard.is_cancelled() {
                    continue;
                }
            }
            tokio::select! {
                biased;
                () = hard.cancelled() => return,
                () = give_up.cancelled(), if stopping => {
                    sending.shutdown().await;
                    while let Ok(end) = ended.try_recv() {
                        self.take(end);
                    }
                    self.give_back().await;
                    return;
                }
                Some(end) = ended.recv() => self.take(end),
                () = soft.cancelled(), if !stopping => {}
                Ok(()) = self.arrivals.changed(), if !stopping && !self.hungry => self.hungry = true,
                () = sleep_until(poll_at) => {
                    self.hungry = true;
                    poll_at = Instant::now() + POLL;
                }
                () = sleep_until(renew_at) => {}
            }
        }
    }

    /// How many more events may be in our hands.
    pub(super) fn free(&self) -> usize {
        match self.breaker.probe(Instant::now()) {
            None => (self.concurrency + self.ahead).saturating_sub(self.held.len()),
            Some(allowed) => usize::from(allowed && self.held.is_empty()),
        }
    }

    /// Whether anything was recorded since the last look.
    fn recording(&mut self) -> bool {
        let changed = self.arrivals.has_changed().unwrap_or(false);
        if changed {
            self.arrivals.mark_unchanged();
            self.hungry = true;
        }
        changed
    }

    fn has_news(&self) -> bool {
        !self.concluded.is_empty() || !self.unsent.is_empty()
    }

    fn take(&mut self, end: Ended) {
        match end {
            Ended::Concluded(conclusion) => {
                self.held.remove(&conclusion.claimed.seq);
                self.breaker.note(conclusion.result, Instant::now());
                self.concluded.push(*conclusion);
            }
            Ended::Unsent(claimed) => {
                self.held.remove(&claimed.seq);
                self.unsent.push(claimed);
            }
        }
    }

    /// The grace period is over: what is still being sent is waiting again, for whoever comes next.
    async fn give_back(&mut self) {
        self.unsent.extend(std::mem::take(&mut self.held).into_values());
        let written = tokio::time::timeout(LAST_WRITE, self.turn(true)).await;
        if !matches!(written, Ok(Some(_))) {
            let hook = &self.forwarder.hook;
            tracing::warn!(%hook, "claims could not be given back; they end with their leases");
        }
    }
}

/// Sends one event once a slot is free.
async fn send(
    forwarder: Arc<Forwarder>,
    slots: Arc<Semaphore>,
    claimed: Claimed,
    soft: CancellationToken,
    ends: mpsc::UnboundedSender<Ended>,
) {
    let slot = tokio::select! {
        biased;
        () = soft.cancelled() => None,
        slot = slots.acquire() => slot.ok(),
    };
    let end = match slot {
        None => Ended::Unsent(claimed),
        Some(_slot) => match forwarder.send(claimed).await {
            Ok(conclusion) => Ended::Concluded(Box::new(conclusion)),
            Err(error) => {
                tracing::warn!(hook = %forwarder.hook, %error, "an event could not be read");
                // The store needs a moment, and this event must not be claimed in a circle.
                sleep(PAUSE).await;
                Ended::Unsent(claimed)
            }
        },
    };
    // The worker is gone only when it was told to stop at once.
    let _ = ends.send(end);
}
