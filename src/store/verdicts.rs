//! What was judged: storing verdicts, closing and reopening deliveries.

use chrono::{DateTime, Utc};
use sqlx::QueryBuilder;

use super::{Result, Store, backend::in_write, batches, lease::fence, types::Lease};
use crate::domain::{ids::Guid, verdict::Verdict};

/// Rows in one statement, at most; a power of two.
const ROWS: usize = 128;

const JUDGED: &str = "WITH judged (hook, guid, verdict, reason, missing, open, at) AS (";

/// Writes only what changed, so that a thousand deliveries that wait cost a sweep nothing. A
/// delivery that an operator asked for while it was judged `adopted` stays open.
const SAVE: &str = ") UPDATE deliveries SET verdict = judged.verdict, reason = judged.reason, \
     judged_at = judged.at, missing_since = \
     CASE WHEN judged.missing = 1 THEN COALESCE(deliveries.missing_since, judged.at) END, \
     open = CASE WHEN judged.reason = 'adopted' AND deliveries.asked_by_hand THEN 1 \
     ELSE judged.open END \
     FROM judged WHERE deliveries.hook = judged.hook AND deliveries.guid = judged.guid \
     AND (deliveries.verdict IS DISTINCT FROM judged.verdict \
     OR deliveries.reason IS DISTINCT FROM judged.reason OR deliveries.open <> judged.open)";

const REOPEN: &str =
    "UPDATE deliveries SET open = 1 WHERE hook = $1 AND last_attempt_at >= $2 AND open = 0";

const RULES: &str = "UPDATE hooks SET rules_fingerprint = $2 WHERE name = $1";

const ASK: &str = "UPDATE deliveries SET asked_by_hand = $3, open = 1 \
     WHERE hook = $1 AND first_attempt_at >= $2 AND asked_by_hand <> $3";

impl Store {
    /// Stores judgements, closing what is settled or excused. Fenced.
    pub async fn save_verdicts(
        &self,
        lease: &Lease,
        verdicts: &[(Guid, Verdict)],
        now: DateTime<Utc>,
    ) -> Result<()> {
        if verdicts.is_empty() {
            return Ok(());
        }
        in_write!(self.backend(), |tx| {
            fence!(tx, lease);
            for batch in batches(verdicts, ROWS) {
                let mut update = QueryBuilder::new(JUDGED);
                update.push_values(batch, |mut values, (guid, verdict)| {
                    values
                        .push_bind(lease.hook.as_str())
                        .push_bind(guid.as_str())
                        .push_bind(verdict.word())
                        .push_bind(verdict.reason())
                        .push_bind(i64::from(verdict.is_missing()))
                        .push_bind(i64::from(!verdict.is_closed()))
                        .push_bind(now);
                });
                update.push(SAVE);
                update.build().execute(&mut *tx).await?;
            }
        });
        Ok(())
    }

    /// Opens every delivery of the hook whose newest attempt is not before `since`, because the rules
    /// changed, and remembers `fingerprint` as the rules they are now judged by. Fenced. Returns how
    /// many were closed before.
    pub async fn reopen(
        &self,
        lease: &Lease,
        since: DateTime<Utc>,
        fingerprint: &str,
    ) -> Result<u64> {
        Ok(in_write!(self.backend(), |tx| {
            fence!(tx, lease);
            sqlx::query(RULES)
                .bind(lease.hook.as_str())
                .bind(fingerprint)
                .execute(&mut *tx)
                .await?;
            sqlx::query(REOPEN)
                .bind(lease.hook.as_str())
                .bind(since)
                .execute(&mut *tx)
                .await?
                .rows_affected()
        }))
    }

    /// Marks what was first attempted since `since` as asked for by hand, for good, and opens it.
    /// Returns how many were not marked before. Fenced.
    pub async fn ask_by_hand(&self, lease: &Lease, since: DateTime<Utc>) -> Result<u64> {
        Ok(in_write!(self.backend(), |tx| {
            fence!(tx, lease);
            sqlx::query(ASK)
                .bind(lease.hook.as_str())
                .bind(since)
                .bind(true)
                .execute(&mut *tx)
                .await?
                .rows_affected()
        }))
    }
}
