//! Removes what is old, batch by batch, so that the store stays as large as the configuration says.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::SharedClock,
    config::Retention,
    domain::ids::HookName,
    store::{Store, StoreError},
};

/// How often the daemon looks for what is old.
const EVERY: Duration = Duration::from_mins(10);

/// How often it does so while arrivals cannot be recorded: the disk may be full.
const EVERY_IN_NEED: Duration = Duration::from_secs(30);

/// Between two batches: the time in which arrivals have the database for themselves.
const PAUSE: Duration = Duration::from_millis(5);

/// What one pass removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Payloads whose metadata stays.
    pub payloads: u64,
    /// Events that had arrived.
    pub receipts: u64,
    /// Events that never arrived and are closed.
    pub deliveries: u64,
    /// Sweeps and other traces.
    pub traces: u64,
}

/// One pass over all that is older than the configuration allows; stops between two batches when
/// cancelled. What is missing, waiting, being handed over or dead stays, however old.
///
/// On a full disk it spends the reserve that the daemon has set aside.
///
/// # Errors
/// When the store failed; what was removed before stays removed.
pub async fn prune(
    store: &Store,
    settings: &Retention,
    now: DateTime<Utc>,
    cancel: &CancellationToken,
) -> Result<Pruned, StoreError> {
    let mut pruned = Pruned::default();
    match pass(store, settings, now, cancel, &mut pruned).await {
        // Only what has something to remove meets it.
        Err(error) if error.is_disk_full() => {
            tracing::warn!(%error, "no room to remove old rows in; spending the reserve");
            store.make_room().await?;
            pass(store, settings, now, cancel, &mut pruned).await?;
        }
        done => done?,
    }
    Ok(pruned)
}

async fn pass(
    store: &Store,
    settings: &Retention,
    now: DateTime<Utc>,
    cancel: &CancellationToken,
    pruned: &mut Pruned,
) -> Result<(), StoreError> {
    for hook in store.known_hooks().await? {
        prune_hook(store, &hook, settings, now, cancel, pruned).await?;
    }
    Ok(())
}

async fn prune_hook(
    store: &Store,
    hook: &HookName,
    settings: &Retention,
    now: DateTime<Utc>,
    cancel: &CancellationToken,
    pruned: &mut Pruned,
) -> Result<(), StoreError> {
    let payloads = now - settings.payloads;
    let history = now - settings.history;
    let mut from = Some(DateTime::UNIX_EPOCH);
    while let Some(at) = from.filter(|_| !cancel.is_cancelled()) {
        let batch = store.prune_payloads(hook, payloads, at).await?;
        pruned.payloads += batch.removed;
        from = batch.next;
        tokio::time::sleep(PAUSE).await;
    }
    from = Some(DateTime::UNIX_EPOCH);
    while let Some(at) = from.filter(|_| !cancel.is_cancelled()) {
        let batch = store.prune_receipts(hook, history, at, now).await?;
        pruned.receipts += batch.removed;
        from = batch.next;
        tokio::time::sleep(PAUSE).await;
    }
    from = Some(DateTime::UNIX_EPOCH);
    while let Some(at) = from.filter(|_| !cancel.is_cancelled()) {
        let batch = store.prune_deliveries(hook, history, at).await?;
        pruned.deliveries += batch.removed;
        from = batch.next;
        tokio::time::sleep(PAUSE).await;
    }
    while !cancel.is_cancelled() {
        match store.prune_traces(hook, history).await? {
            0 => break,
            removed => pruned.traces += removed,
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// Prunes at once and then every ten minutes, more often while the store does not record; until
/// cancelled.
pub async fn run(store: Store, settings: Retention, clock: SharedClock, cancel: CancellationToken) {
    loop {
        match prune(&store, &settings, clock.now(), &cancel).await {
            Ok(pruned) if pruned == Pruned::default() => {}
            Ok(pruned) => tracing::info!(
                payloads = pruned.payloads,
                receipts = pruned.receipts,
                deliveries = pruned.deliveries,
                traces = pruned.traces,
                "removed what was old"
            ),
            Err(error) => tracing::warn!(%error, "old rows could not be removed"),
        }
        if let Err(error) = store.keep_reserve().await {
            tracing::debug!(%error, "no space is set aside for pruning a full disk");
        }
        let pruned_at = Instant::now();
        while pruned_at.elapsed() < EVERY {
            tokio::select! {
                () = cancel.cancelled() => return,
                () = tokio::time::sleep(EVERY_IN_NEED) => {}
            }
            if !store.records() {
                break;
            }
        }
    }
}
