//! Holding the sweep lease: taken at once or after a wait, renewed in the background, given back.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::SharedClock,
    domain::ids::HookName,
    store::{
        Store, StoreError,
        types::{Acquired, Lease},
    },
};

/// How often a waiting sweep asks whether the lease is free.
const POLL: Duration = Duration::from_millis(250);

/// What the lease is taken with.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub(super) store: Store,
    pub(super) clock: SharedClock,
    pub(super) hook: HookName,
    pub(super) owner: String,
    /// How long it lasts without renewal.
    pub(super) lasts: Duration,
}

/// The answer to [`Terms::take`].
pub(super) enum Taken {
    Held(Held),
    Busy { owner: String, until: DateTime<Utc> },
}

/// A lease that is renewed until it is given back. Dropped without that, it runs out by itself.
pub(super) struct Held {
    pub(super) lease: Lease,
    /// Cancelled when the caller is, and when the lease is lost: look at it between steps.
    pub(super) stop: CancellationToken,
    store: Store,
    renewer: JoinHandle<()>,
}

impl Terms {
    /// Takes the lease; while somebody else has it, tries again for `patience`.
    pub(super) async fn take(
        &self,
        patience: Duration,
        cancel: &CancellationToken,
    ) -> Result<Taken, StoreError> {
        let deadline = Instant::now() + patience;
        loop {
            let now = self.clock.now();
            match self.store.acquire(&self.hook, &self.owner, now, self.until(now)).await? {
                Acquired::Held(lease) => return Ok(Taken::Held(self.hold(lease, cancel))),
                Acquired::Busy { owner, until } => {
                    if Instant::now() >= deadline || cancel.is_cancelled() {
                        return Ok(Taken::Busy { owner, until });
                    }
                }
            }
            tokio::select! {
                () = sleep(POLL) => {}
                () = cancel.cancelled() => {}
            }
        }
    }

    fn until(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        now + self.lasts
    }

    fn hold(&self, lease: Lease, cancel: &CancellationToken) -> Held {
        let stop = cancel.child_token();
        let renewer = tokio::spawn(self.clone().keep(lease.clone(), stop.clone()));
        Held { lease, stop, store: self.store.clone(), renewer }
    }

    /// Renews every third of the lease. A store that does not answer is asked again: the fence
    /// decides, not this task.
    async fn keep(self, lease: Lease, stop: CancellationToken) {
        loop {
            sleep(self.lasts / 3).await;
            match self.store.renew(&lease, self.until(self.clock.now())).await {
                Ok(()) => {}
                Err(StoreError::LeaseLost { .. }) => {
                    tracing::warn!(hook = %self.hook, "another process took over the sweep lease");
                    stop.cancel();
                    return;
                }
                Err(error) => {
                    tracing::warn!(hook = %self.hook, %error, "could not renew the sweep lease");
                }
            }
        }
    }
}

impl Held {
    /// Gives the lease back, once no renewal can come after it.
    pub(super) async fn release(mut self) {
        self.renewer.abort();
        let _aborted = (&mut self.renewer).await;
        if let Err(error) = self.store.release(&self.lease).await {
            tracing::warn!(hook = %self.lease.hook, %error, "could not give the sweep lease back");
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.renewer.abort();
    }
}
