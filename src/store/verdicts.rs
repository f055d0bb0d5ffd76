//! What was judged: storing verdicts, closing and reopening deliveries.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::QueryBuilder;

use super::{
    Result, Store,
    backend::{in_write, on},
    batches,
    lease::fence,
    types::Lease,
};
use crate::domain::{ids::Guid, verdict::Verdict};

/// Rows in one statement, at most; a power of two.
const ROWS: usize = 128;

const JUDGED: &str = "WITH judged (hook, guid, verdict, reason, missing, open, at) AS (";

/// Writes only what changed, so that a thousand deliveries that wait cost a sweep nothing. The grace
/// of one more attempt does not end an episode: nothing has arrived by it. A delivery that an operator
/// asked for while it was judged `adopted` stays open.
const SAVE: &str = ") UPDATE deliveries SET verdict = judged.verdict, reason = judged.reason, \
     judged_at = judged.at, missing_since = \
     CASE WHEN judged.missing = 1 THEN COALESCE(deliveries.missing_since, judged.at) \
     WHEN judged.reason = 'grace' THEN deliveries.missing_since END, \
     open = CASE WHEN judged.reason = 'adopted' AND deliveries.asked_by_hand THEN 1 \
     ELSE judged.open END \
     FROM judged WHERE deliveries.hook = judged.hook AND deliveries.guid = judged.guid \
     AND (deliveries.verdict IS DISTINCT FROM judged.verdict \
     OR deliveries.reason IS DISTINCT FROM judged.reason OR deliveries.open <> judged.open)";

/// Deliveries opened in one transaction, at most: an arrival must never wait for the whole window.
const OPENED: i64 = 2_000;

/// The time of the last of the next rows. Read outside of the transaction that changes them.
const LAST_TO_REOPEN: &str = "SELECT MAX(at) FROM (SELECT last_attempt_at AS at FROM deliveries \
     WHERE hook = $1 AND last_attempt_at >= $2 ORDER BY last_attempt_at LIMIT $3) AS batch";

const REOPEN: &str = "UPDATE deliveries SET open = 1 \
     WHERE hook = $1 AND last_attempt_at >= $2 AND last_attempt_at <= $3 AND open = 0";

const LAST_TO_ASK: &str = "SELECT MAX(at) FROM (SELECT first_attempt_at AS at FROM deliveries \
     WHERE hook = $1 AND first_attempt_at >= $2 ORDER BY first_attempt_at LIMIT $3) AS batch";

const ASK: &str = "UPDATE deliveries SET asked_by_hand = TRUE, open = 1 WHERE hook = $1 \
     AND first_attempt_at >= $2 AND first_attempt_at <= $3 AND asked_by_hand <> TRUE";

const RULES: &str = "UPDATE hooks SET rules_fingerprint = $2 WHERE name = $1";

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
    /// changed, and remembers `fingerprint` as the rules they are now judged by: last, so that a kill
    /// in between leaves it to be done again. Fenced. Returns how many were closed before.
    pub async fn reopen(
        &self,
        lease: &Lease,
        since: DateTime<Utc>,
        fingerprint: &str,
    ) -> Result<u64> {
        let opened = self.open_in_batches(LAST_TO_REOPEN, REOPEN, lease, since).await?;
        in_write!(self.backend(), |tx| {
            fence!(tx, lease);
            sqlx::query(RULES)
                .bind(lease.hook.as_str())
                .bind(fingerprint)
                .execute(&mut *tx)
                .await?;
        });
        Ok(opened)
    }

    /// Marks what was first attempted since `since` as asked for by hand, for good, and opens it.
    /// Returns how many were not marked before. Fenced.
    pub async fn ask_by_hand(&self, lease: &Lease, since: DateTime<Utc>) -> Result<u64> {
        self.open_in_batches(LAST_TO_ASK, ASK, lease, since).await
    }

    /// Runs `change` over spans of time that hold about [`OPENED`] rows each, oldest first. `last`
    /// finds the end of the next span, so each row is looked at once however many there are.
    async fn open_in_batches(
        &self,
        last: &'static str,
        change: &'static str,
        lease: &Lease,
        since: DateTime<Utc>,
    ) -> Result<u64> {
        let hook = lease.hook.as_str();
        let (mut opened, mut from) = (0, since);
        loop {
            let to: Option<DateTime<Utc>> = on!(self.backend(), |db| {
                sqlx::query_scalar(last).bind(hook).bind(from).bind(OPENED).fetch_one(db).await?
            });
            let Some(to) = to else { break };
            opened += in_write!(self.backend(), |tx| {
                fence!(tx, lease);
                sqlx::query(change)
                    .bind(hook)
                    .bind(from)
                    .bind(to)
                    .execute(&mut *tx)
                    .await?
                    .rows_affected()
            });
            // Times are stored in whole microseconds.
            from = to + TimeDelta::microseconds(1);
        }
        Ok(opened)
    }
}
