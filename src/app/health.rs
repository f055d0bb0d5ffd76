//! Whether the store gets on: the marks by which the watchdog sees that it hangs.

use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    admin::Admin,
    lifecycle::{ServiceManager, Watched},
    pulse::Pulse,
    store::Store,
};

/// How long one commit may take, if the manager has the patience. The store itself gives up far
/// earlier, unless it hangs.
const COMMIT: Duration = Duration::from_mins(1);

/// What the watchdog watches whatever the configuration.
pub(super) struct Always {
    pub(super) loops: Vec<Watched>,
    /// The mark of [`probe`].
    pub(super) proof: Pulse,
}

/// The commits of arrivals, and of the proof that is made where none arrive.
pub(super) fn watched(manager: &ServiceManager, store: &Store) -> Always {
    let proof = Pulse::default();
    let working = manager.watchdog().unwrap_or(COMMIT).min(COMMIT);
    let commits = [("the recording of arrivals", store.pulse()), ("the store", proof.clone())];
    let loops = commits
        .map(|(name, pulse)| Watched { name: name.to_owned(), pulse, overdue: None, working })
        .into();
    Always { loops, proof }
}

/// Has the store prove itself as often as the watchdog is fed, until `stop`. A store that refuses
/// has answered: a restart would not help it. One that does not answer hangs.
pub(super) async fn probe(
    manager: ServiceManager,
    admin: watch::Receiver<Admin>,
    proof: Pulse,
    stop: CancellationToken,
) {
    let Some(limit) = manager.watchdog() else { return stop.cancelled().await };
    let Admin { store, clock, .. } = admin.borrow().clone();
    loop {
        proof.working();
        let proven = tokio::select! {
            () = stop.cancelled() => return proof.waiting(),
            proven = store.check_writable(clock.now()) => proven,
        };
        proof.waiting();
        if let Err(error) = proven {
            tracing::debug!(%error, "the store takes nothing");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(limit / 2) => {}
        }
    }
}
