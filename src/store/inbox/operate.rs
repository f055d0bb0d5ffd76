//! What operators do with events: replay, requeue, discard.

use chrono::{DateTime, Utc};

use super::types::Replay;
use crate::{
    domain::{
        ids::{Guid, HookName},
        retry::HandoverState,
    },
    store::{Result, Store, backend::in_write, rows::word},
};

const RECEIPT: &str = "SELECT seq, repository_id, \
     CAST(CASE WHEN body IS NULL OR body_size = 0 THEN 0 ELSE 1 END AS BIGINT) \
     FROM receipts WHERE hook = $1 AND guid = $2";

/// Takes the row, and tells where it stood.
const TAKE: &str = "UPDATE inbox SET replayed = TRUE WHERE seq = $1 RETURNING state";

/// What is being handed over is owed the given number of times after that; what waits is owed so
/// often in all.
const REPLAY: &str = "INSERT INTO inbox (seq, hook, state, attempts, sends, replays, replayed, \
     token, order_key, due_at) VALUES ($1, $2, 'waiting', 0, 0, $3 - 1, TRUE, 0, $4, $5) \
     ON CONFLICT (seq) DO UPDATE SET \
     replays = CASE inbox.state WHEN 'processing' THEN inbox.replays + $3 \
     WHEN 'waiting' THEN inbox.replays + $3 - 1 ELSE $3 - 1 END, \
     attempts = CASE inbox.state WHEN 'processing' THEN inbox.attempts ELSE 0 END, \
     state = CASE inbox.state WHEN 'processing' THEN 'processing' ELSE 'waiting' END, \
     due_at = excluded.due_at, finished_at = NULL";

const UNTALLY: &str = "UPDATE inbox_tally SET processed = processed - 1 WHERE hook = $1";

const REQUEUE: &str = "UPDATE inbox SET state = 'waiting', attempts = 0, due_at = $3, \
     finished_at = NULL WHERE state = 'dead' AND seq = \
     (SELECT seq FROM receipts WHERE hook = $1 AND guid = $2)";

const REQUEUE_ALL: &str = "UPDATE inbox SET state = 'waiting', attempts = 0, due_at = $2, \
     finished_at = NULL WHERE hook = $1 AND state = 'dead'";

const DISCARD: &str = "UPDATE inbox SET state = 'discarded', replays = 0, finished_at = $3 \
     WHERE state = 'dead' AND seq = (SELECT seq FROM receipts WHERE hook = $1 AND guid = $2)";

const DISCARD_ALL: &str = "UPDATE inbox SET state = 'discarded', replays = 0, finished_at = $2 \
     WHERE hook = $1 AND state = 'dead'";

impl Store {
    /// Owes the application `times` (at least 1) hand-overs of what is stored, whatever its state.
    /// The debt is a number in the event's row, so that no crash loses or repeats it.
    pub async fn replay(
        &self,
        hook: &HookName,
        guid: &Guid,
        times: u32,
        now: DateTime<Utc>,
    ) -> Result<Replay> {
        let before: Option<String> = in_write!(self.backend(), |tx| {
            let receipt: Option<(i64, Option<i64>, i64)> = sqlx::query_as(RECEIPT)
                .bind(hook.as_str())
                .bind(guid.as_str())
                .fetch_optional(&mut *tx)
                .await?;
            let (seq, repository) = match receipt {
                None => return Ok(Replay::Unknown),
                Some((_, _, 0)) => return Ok(Replay::NoPayload),
                Some((seq, repository, _)) => (seq, repository),
            };
            let before: Option<String> =
                sqlx::query_scalar(TAKE).bind(seq).fetch_optional(&mut *tx).await?;
            if before.as_deref() == Some(HandoverState::Processed.as_str()) {
                sqlx::query(UNTALLY).bind(hook.as_str()).execute(&mut *tx).await?;
            }
            sqlx::query(REPLAY)
                .bind(seq)
                .bind(hook.as_str())
                .bind(i64::from(times.max(1)))
                .bind(repository)
                .bind(now)
                .execute(&mut *tx)
                .await?;
            before
        });
        self.wake_workers();
        let from = before
            .map(|word_| word("inbox", "state", &word_, HandoverState::from_word))
            .transpose()?;
        Ok(Replay::Queued { from })
    }

    /// Gives a dead letter all its attempts again. `Ok(false)`: it is not dead.
    pub async fn requeue(&self, hook: &HookName, guid: &Guid, now: DateTime<Utc>) -> Result<bool> {
        Ok(self.on_dead(REQUEUE, hook, Some(guid), now).await? > 0)
    }

    /// Requeues every dead letter of a hook; returns how many.
    pub async fn requeue_all(&self, hook: &HookName, now: DateTime<Utc>) -> Result<u64> {
        self.on_dead(REQUEUE_ALL, hook, None, now).await
    }

    /// Gives up a dead letter for good. `Ok(false)`: it is not dead.
    pub async fn discard(&self, hook: &HookName, guid: &Guid, now: DateTime<Utc>) -> Result<bool> {
        Ok(self.on_dead(DISCARD, hook, Some(guid), now).await? > 0)
    }

    /// Discards every dead letter of a hook; returns how many.
    pub async fn discard_all(&self, hook: &HookName, now: DateTime<Utc>) -> Result<u64> {
        self.on_dead(DISCARD_ALL, hook, None, now).await
    }

    async fn on_dead(
        &self,
        sql: &'static str,
        hook: &HookName,
        guid: Option<&Guid>,
        now: DateTime<Utc>,
    ) -> Result<u64> {
        let changed = in_write!(self.backend(), |tx| {
            let mut query = sqlx::query(sql).bind(hook.as_str());
            if let Some(guid) = guid {
                query = query.bind(guid.as_str());
            }
            query.bind(now).execute(&mut *tx).await?.rows_affected()
        });
        self.wake_workers();
        Ok(changed)
    }
}
