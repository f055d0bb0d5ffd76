//! The task that owns one hook's hand-overs: it claims, has events sent side by side, and writes
//! conclusions and next claims in one commit per turn.
//!
//! All writing is done here, one turn at a time. While a turn is being committed more requests end,
//! and the next turn concludes them together: the faster the application, the larger the turns.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use chrono::TimeDelta;
use tokio::{
    sync::{Semaphore, mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::Forwarder;
use crate::{
    config::Order,
    domain::retry::{Next, share_of_retries},
    store::types::{Claim, Claimed, Conclusion, Turn},
    telemetry::{HookLabel, ResultLabel},
};

/// How often the inbox is looked at although nothing woke us: retries fall due, and other processes
/// record too.
const POLL: Duration = Duration::from_secs(1);

/// How long we wait before we try the store again.
const PAUSE: Duration = Duration::from_secs(1);

/// Events claimed ahead of the application at most, as a multiple of `concurrency`.
const AHEAD: usize = 3;

/// How much other processes' clocks may be behind ours before we take over what they hold.
const MARGIN: TimeDelta = TimeDelta::seconds(2);

/// What a sending task reports.
enum Ended {
    Concluded(Box<Conclusion>),
    /// Nothing was sent: we are stopping, or the store could not be read (`true`).
    Unsent(Claimed, bool),
}

/// The task of one hook.
#[derive(Debug)]
pub struct Worker {
    forwarder: Arc<Forwarder>,
    arrivals: watch::Receiver<u64>,
    slots: Arc<Semaphore>,
    /// What we hold: being sent, or claimed ahead.
    held: BTreeMap<i64, Claimed>,
    /// Ended, and not written yet.
    concluded: Vec<Conclusion>,
    unsent: Vec<Claimed>,
    /// How many events beyond `concurrency` are claimed ahead: as many as ended during the last
    /// turn, so that a slow application never has events waiting in our hands.
    ahead: usize,
    /// Whether a claim may find something.
    hungry: bool,
    turns: u64,
    cursor: i64,
    failing: bool,
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
            held: BTreeMap::new(),
            concluded: Vec::new(),
            unsent: Vec::new(),
            ahead: 0,
            hungry: true,
            turns: 0,
            cursor: 0,
            failing: false,
        }
    }

    /// Hands over until `soft`; then claims nothing, and what is being sent has until `grace` is
    /// over to end. What has not ended by then is released. `hard` ends everything at once: the
    /// leases see to the rest.
    pub async fn run(mut self, soft: CancellationToken, hard: CancellationToken, grace: Duration) {
        let (ends, mut ended) = mpsc::unbounded_channel();
        let mut sending = JoinSet::new();
        let lease = self.forwarder.settings.lease;
        let mut renew_at = Instant::now() + lease / 3;
        let mut poll_at = Instant::now() + POLL;
        let mut give_up_at: Option<Instant> = None;
        loop {
            while let Ok(end) = ended.try_recv() {
                self.take(end);
            }
            while sending.try_join_next().is_some() {}
            if soft.is_cancelled() && give_up_at.is_none() {
                give_up_at = Some(Instant::now() + grace);
            }
            let stopping = give_up_at.is_some();
            let nothing_ended = self.concluded.is_empty() && self.unsent.is_empty();
            if stopping && self.held.is_empty() && nothing_ended {
                return;
            }
            if !nothing_ended || (self.hungry && !stopping && self.free() > 0) {
                if self.turn(stopping).await {
                    for claimed in self.unstarted() {
                        sending.spawn(send(
                            Arc::clone(&self.forwarder),
                            Arc::clone(&self.slots),
                            claimed,
                            soft.clone(),
                            ends.clone(),
                        ));
                    }
                } else {
                    tokio::select! {
                        () = hard.cancelled() => return,
                        () = sleep(PAUSE) => {}
                    }
                }
                if Instant::now() < renew_at {
                    continue;
                }
            }
            tokio::select! {
                biased;
                () = hard.cancelled() => return,
                () = sleep_until(renew_at) => {
                    self.renew().await;
                    renew_at = Instant::now() + lease / 3;
                }
                () = sleep_until(give_up_at.unwrap_or(renew_at)), if stopping => {
                    sending.shutdown().await;
                    while let Ok(end) = ended.try_recv() {
                        self.take(end);
                    }
                    self.unsent.extend(std::mem::take(&mut self.held).into_values());
                    if !self.turn(true).await {
                        let hook = &self.forwarder.hook;
                        tracing::warn!(%hook, "claims could not be released; their leases end them");
                    }
                    return;
                }
                Some(end) = ended.recv() => self.take(end),
                () = soft.cancelled(), if !stopping => {}
                changed = self.arrivals.changed(), if !stopping && !self.hungry => {
                    self.hungry = true;
                    if changed.is_err() {
                        return;
                    }
                }
                () = sleep_until(poll_at) => {
                    self.hungry = true;
                    poll_at = Instant::now() + POLL;
                }
            }
        }
    }
}
