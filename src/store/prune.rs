//! Retention in short batches: payload bytes first, whole events later, never what is open.
//!
//! Open is: not judged settled or excused, waiting, being handed over, or dead. Every batch is one
//! short transaction, so that arrivals go on between them.

use chrono::{DateTime, Utc};
use sqlx::QueryBuilder;

use super::{
    Result, Store,
    backend::{in_write, on},
};
use crate::domain::{ids::HookName, retry::HandoverState};

/// Rows in one batch, at most.
const BATCH: i64 = 500;

/// `$3` is where the batch before ended, so that open events are passed once and not per batch.
const PAYLOADS: &str = "UPDATE receipts SET body = NULL WHERE seq IN (SELECT r.seq FROM receipts r \
     WHERE r.hook = $1 AND r.body IS NOT NULL AND r.received_at < $2 AND r.received_at >= $3 \
     AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.seq = r.seq \
     AND i.state IN ('waiting', 'processing', 'dead')) \
     AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.hook = r.hook AND d.guid = r.guid \
     AND d.open = 1) ORDER BY r.received_at LIMIT $4) RETURNING received_at";

const OLD_RECEIPTS: &str = "SELECT r.seq, r.received_at FROM receipts r \
     WHERE r.hook = $1 AND r.received_at < $2 AND r.received_at >= $3 \
     AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.seq = r.seq \
     AND i.state IN ('waiting', 'processing', 'dead')) \
     AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.hook = r.hook AND d.guid = r.guid \
     AND (d.open = 1 OR d.last_attempt_at >= $2)) ORDER BY r.received_at LIMIT $4";

const INBOX: &str = "DELETE FROM inbox WHERE state IN ('processed', 'discarded') AND seq IN (";

const UNTALLY: &str = "UPDATE inbox_tally SET processed = processed - $2 WHERE hook = $1";

/// A replay asked for meanwhile keeps its receipt.
const RECEIPTS: &str = "DELETE FROM receipts WHERE NOT EXISTS \
     (SELECT 1 FROM inbox i WHERE i.seq = receipts.seq) AND seq IN (";

const HANDOVERS: &str = "DELETE FROM handovers WHERE seq IN (";

const BURY: &str = "INSERT INTO tombstones (hook, guid, pruned_at) ";
const BURIED: &str = " ON CONFLICT (hook, guid) DO UPDATE SET pruned_at = excluded.pruned_at";

const OLD_DELIVERIES: &str = "SELECT d.guid, d.last_attempt_at FROM deliveries d \
     WHERE d.hook = $1 AND d.last_attempt_at < $2 AND d.last_attempt_at >= $3 AND d.open = 0 \
     AND NOT EXISTS (SELECT 1 FROM receipts r WHERE r.hook = d.hook AND r.guid = d.guid) \
     ORDER BY d.last_attempt_at LIMIT $4";

const DELIVERIES: &str = "DELETE FROM deliveries WHERE open = 0 AND hook = ";
const ATTEMPTS: &str = "DELETE FROM attempts WHERE hook = ";
const REDELIVERIES: &str = "DELETE FROM redeliveries WHERE hook = ";

const SWEEPS: &str = "DELETE FROM sweeps WHERE id IN (SELECT id FROM sweeps WHERE hook = $1 \
     AND started_at < $2 ORDER BY id LIMIT $3)";

const MARKS: &str = "DELETE FROM handed WHERE hook = $1 AND repository_id IN \
     (SELECT repository_id FROM handed WHERE hook = $1 AND newest_at < $2 LIMIT $3)";

const TOMBSTONES: &str = "DELETE FROM tombstones WHERE hook = $1 AND guid IN \
     (SELECT guid FROM tombstones WHERE hook = $1 AND pruned_at < $2 \
     ORDER BY pruned_at LIMIT $3)";

/// What one batch removed, and where the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pruned {
    /// How many.
    pub removed: u64,
    /// `None`: nothing is left that may go.
    pub next: Option<DateTime<Utc>>,
}

impl Pruned {
    fn batch(times: &[DateTime<Utc>]) -> Self {
        let full = i64::try_from(times.len()).is_ok_and(|removed| removed >= BATCH);
        let last = times.iter().max().copied();
        Self { removed: times.len() as u64, next: last.filter(|_| full) }
    }
}

/// Deletes the rows of `$hook` whose GUID is in `$guids`.
macro_rules! delete_guids {
    ($tx:ident, $sql:expr, $hook:expr, $guids:expr) => {{
        let mut query = QueryBuilder::new($sql);
        query.push_bind($hook.as_str()).push(" AND guid IN (");
        let mut list = query.separated(", ");
        for guid in $guids {
            list.push_bind(guid.as_str());
        }
        query.push(")");
        query.build().execute(&mut *$tx).await?;
    }};
}

/// A statement that ends in a list of receipts.
macro_rules! with_seqs {
    ($sql:expr, $seqs:expr, $tail:expr) => {{
        let mut query = QueryBuilder::new($sql);
        let mut list = query.separated(", ");
        for seq in $seqs {
            list.push_bind(*seq);
        }
        query.push($tail);
        query
    }};
}

impl Store {
    /// Removes the bytes of one batch of events received before `before`, from `from` on.
    pub async fn prune_payloads(
        &self,
        hook: &HookName,
        before: DateTime<Utc>,
        from: DateTime<Utc>,
    ) -> Result<Pruned> {
        let times: Vec<DateTime<Utc>> = in_write!(self.backend(), |tx| {
            sqlx::query_scalar(PAYLOADS)
                .bind(hook.as_str())
                .bind(before)
                .bind(from)
                .bind(BATCH)
                .fetch_all(&mut *tx)
                .await?
        });
        Ok(Pruned::batch(&times))
    }

    /// Removes one batch of events received before `before`, from `from` on, with all that is known
    /// of them. Their keys stay as tombstones.
    pub async fn prune_receipts(
        &self,
        hook: &HookName,
        before: DateTime<Utc>,
        from: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<Pruned> {
        let old: Vec<(i64, DateTime<Utc>)> = in_write!(self.backend(), |tx| {
            let old: Vec<(i64, DateTime<Utc>)> = sqlx::query_as(OLD_RECEIPTS)
                .bind(hook.as_str())
                .bind(before)
                .bind(from)
                .bind(BATCH)
                .fetch_all(&mut *tx)
                .await?;
            if old.is_empty() {
                return Ok(Pruned { removed: 0, next: None });
            }
            let seqs: Vec<i64> = old.iter().map(|(seq, _)| *seq).collect();
            let states: Vec<String> = with_seqs!(INBOX, &seqs, ") RETURNING state")
                .build_query_scalar()
                .fetch_all(&mut *tx)
                .await?;
            let processed =
                states.iter().filter(|state| *state == HandoverState::Processed.as_str()).count();
            if processed > 0 {
                sqlx::query(UNTALLY)
                    .bind(hook.as_str())
                    .bind(i64::try_from(processed).unwrap_or(i64::MAX))
                    .execute(&mut *tx)
                    .await?;
            }
            let gone: Vec<(i64, String)> = with_seqs!(RECEIPTS, &seqs, ") RETURNING seq, guid")
                .build_query_as()
                .fetch_all(&mut *tx)
                .await?;
            let (seqs, guids): (Vec<i64>, Vec<String>) = gone.into_iter().unzip();
            if !seqs.is_empty() {
                with_seqs!(HANDOVERS, &seqs, ")").build().execute(&mut *tx).await?;
                let mut bury = QueryBuilder::new(BURY);
                bury.push_values(&guids, |mut values, guid| {
                    values.push_bind(hook.as_str()).push_bind(guid.as_str()).push_bind(now);
                });
                bury.push(BURIED);
                bury.build().execute(&mut *tx).await?;
                delete_guids!(tx, DELIVERIES, hook, &guids);
                delete_guids!(tx, ATTEMPTS, hook, &guids);
                delete_guids!(tx, REDELIVERIES, hook, &guids);
            }
            old
        });
        Ok(Pruned::batch(&old.iter().map(|(_, at)| *at).collect::<Vec<_>>()))
    }

    /// Removes one batch of deliveries that never arrived and are closed, last attempted before
    /// `before`, from `from` on.
    pub async fn prune_deliveries(
        &self,
        hook: &HookName,
        before: DateTime<Utc>,
        from: DateTime<Utc>,
    ) -> Result<Pruned> {
        let old: Vec<(String, DateTime<Utc>)> = on!(self.backend(), |db| {
            sqlx::query_as(OLD_DELIVERIES)
                .bind(hook.as_str())
                .bind(before)
                .bind(from)
                .bind(BATCH)
                .fetch_all(db)
                .await?
        });
        let (guids, times): (Vec<String>, Vec<_>) = old.into_iter().unzip();
        if !guids.is_empty() {
            in_write!(self.backend(), |tx| {
                delete_guids!(tx, DELIVERIES, hook, &guids);
                delete_guids!(tx, ATTEMPTS, hook, &guids);
                delete_guids!(tx, REDELIVERIES, hook, &guids);
            });
        }
        Ok(Pruned::batch(&times))
    }

    /// Removes one batch each of sweeps, marks and tombstones from before `before`; returns how many
    /// rows. Zero: nothing is left.
    pub async fn prune_traces(&self, hook: &HookName, before: DateTime<Utc>) -> Result<u64> {
        let mut removed = 0;
        in_write!(self.backend(), |tx| {
            for sql in [SWEEPS, MARKS, TOMBSTONES] {
                removed += sqlx::query(sql)
                    .bind(hook.as_str())
                    .bind(before)
                    .bind(BATCH)
                    .execute(&mut *tx)
                    .await?
                    .rows_affected();
            }
        });
        Ok(removed)
    }

    /// Every hook that has left a trace here, whether or not it is still configured.
    pub async fn known_hooks(&self) -> Result<Vec<HookName>> {
        self.hook_names().await
    }
}
