//! Reading the inbox: one event as it is sent, where events stand, dead letters, numbers.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::types::{DeadLetter, InboxCounts, InboxRow, Sendable};
use crate::{
    domain::{
        ids::{Guid, HookName},
        retry::HandoverState,
    },
    store::{
        Result, Store,
        backend::{fetch_guids, on},
        rows::{self, count, size, word},
    },
};

const TABLE: &str = "inbox";

const SENDABLE: &str = "SELECT r.hook, r.guid, r.repository_id, i.replayed FROM inbox i \
     JOIN receipts r ON r.seq = i.seq WHERE i.seq = $1";

const FIRST_ATTEMPT: &str = "SELECT first_attempt_at FROM deliveries WHERE hook = $1 AND guid = $2";

const NEWEST_HANDED: &str = "SELECT newest_at FROM handed WHERE hook = $1 AND repository_id = $2";

const ONE: &str = "SELECT i.state, i.attempts, i.replays, i.due_at, i.lease_until, i.owner, \
     i.last_error, i.finished_at FROM receipts r JOIN inbox i ON i.seq = r.seq \
     WHERE r.hook = $1 AND r.guid = $2";

const STATES: &str = "SELECT r.guid, i.state, r.wanted FROM receipts r \
     LEFT JOIN inbox i ON i.seq = r.seq WHERE r.hook = ";

/// The states are written out: only so does SQLite use the partial indexes.
const COUNTS: &str = "SELECT \
     CAST((SELECT COUNT(*) FROM inbox WHERE hook = $1 AND state = 'waiting' AND attempts = 0) + \
     (SELECT COUNT(*) FROM inbox WHERE hook = $1 AND state = 'waiting' AND attempts > 0) \
     AS BIGINT), \
     CAST((SELECT COUNT(*) FROM inbox WHERE hook = $1 AND state = 'processing') AS BIGINT), \
     CAST(COALESCE((SELECT processed FROM inbox_tally WHERE hook = $1), 0) AS BIGINT), \
     CAST((SELECT COUNT(*) FROM inbox WHERE hook = $1 AND state = 'dead') AS BIGINT)";

const OLDEST_FRESH: &str = "SELECT received_at FROM receipts WHERE seq = (SELECT MIN(seq) \
     FROM inbox WHERE hook = $1 AND state = 'waiting' AND attempts = 0)";

const DEAD: &str = "SELECT i.seq, i.hook, r.guid, r.event, r.action, r.repository_id, \
     r.received_at, i.finished_at, i.sends, i.last_error FROM inbox i \
     JOIN receipts r ON r.seq = i.seq \
     WHERE i.hook = $1 AND i.state = 'dead' AND i.seq > $2 ORDER BY i.seq LIMIT $3";

#[derive(sqlx::FromRow)]
struct Key {
    hook: String,
    guid: String,
    repository_id: Option<i64>,
    replayed: bool,
}

#[derive(sqlx::FromRow)]
struct Row {
    state: String,
    attempts: i64,
    replays: i64,
    due_at: DateTime<Utc>,
    lease_until: Option<DateTime<Utc>>,
    owner: Option<String>,
    last_error: Option<String>,
    finished_at: Option<DateTime<Utc>>,
}

#[derive(sqlx::FromRow)]
struct DeadRow {
    seq: i64,
    hook: String,
    guid: String,
    event: String,
    action: Option<String>,
    repository_id: Option<i64>,
    received_at: DateTime<Utc>,
    finished_at: Option<DateTime<Utc>>,
    sends: i64,
    last_error: Option<String>,
}

impl Store {
    /// One event with its bytes, as it is to be handed over. `None`: it was pruned meanwhile.
    pub async fn sendable(&self, seq: i64) -> Result<Option<Sendable>> {
        let key: Option<Key> = on!(self.backend(), |db| {
            sqlx::query_as(SENDABLE).bind(seq).fetch_optional(db).await?
        });
        let Some(key) = key else { return Ok(None) };
        let (hook, guid) = (rows::hook("receipts", &key.hook)?, rows::guid("receipts", &key.guid)?);
        let Some(mut receipt) = self.receipt(&hook, &guid).await? else { return Ok(None) };
        let (first_attempt_at, newest_handed_at): (Option<DateTime<Utc>>, _) =
            on!(self.backend(), |db| (
                sqlx::query_scalar(FIRST_ATTEMPT)
                    .bind(hook.as_str())
                    .bind(guid.as_str())
                    .fetch_optional(db)
                    .await?,
                match key.repository_id {
                    Some(repository) => {
                        sqlx::query_scalar(NEWEST_HANDED)
                            .bind(hook.as_str())
                            .bind(repository)
                            .fetch_optional(db)
                            .await?
                    }
                    None => None,
                },
            ));
        if first_attempt_at.is_some() {
            // Only the list tells whether it was sent again.
            let listed = self.delivery(&hook, &guid).await?;
            if let Some(known) = listed.and_then(|listed| listed.delivery.receipt) {
                receipt.arrival.via = known.via;
            }
        }
        Ok(Some(Sendable { receipt, first_attempt_at, newest_handed_at, replayed: key.replayed }))
    }

    /// Where one event stands. `None`: it never arrived, or was never meant for the application.
    pub async fn inbox_row(&self, hook: &HookName, guid: &Guid) -> Result<Option<InboxRow>> {
        let row: Option<Row> = on!(self.backend(), |db| {
            sqlx::query_as(ONE).bind(hook.as_str()).bind(guid.as_str()).fetch_optional(db).await?
        });
        row.map(|row| {
            Ok(InboxRow {
                state: word(TABLE, "state", &row.state, HandoverState::from_word)?,
                attempts: count(TABLE, "attempts", row.attempts)?,
                replays: count(TABLE, "replays", row.replays)?,
                due_at: row.due_at,
                lease_until: row.lease_until,
                owner: row.owner,
                last_error: row.last_error,
                finished_at: row.finished_at,
            })
        })
        .transpose()
    }

    /// Where events stand: the state of those that were to be handed over, `ignored` for those that
    /// the filter did not want. Events that are in neither set, or unknown, are left out.
    pub async fn handover_states(
        &self,
        hook: &HookName,
        guids: &[&str],
    ) -> Result<HashMap<String, HandoverState>> {
        let mut states = HashMap::with_capacity(guids.len());
        for guids in guids.chunks(500) {
            let found: Vec<(String, Option<String>, bool)> =
                on!(self.backend(), |db| fetch_guids!(db, STATES, hook, guids));
            for (guid, state, wanted) in found {
                let state = match state {
                    Some(state) => Some(word(TABLE, "state", &state, HandoverState::from_word)?),
                    None => (!wanted).then_some(HandoverState::Ignored),
                };
                states.extend(state.map(|state| (guid, state)));
            }
        }
        Ok(states)
    }

    /// How many events of a hook are where. Costs by what is not processed.
    pub async fn inbox_counts(&self, hook: &HookName) -> Result<InboxCounts> {
        let ((waiting, processing, processed, dead), oldest_fresh_at): ((i64, i64, i64, i64), _) =
            on!(self.backend(), |db| (
                sqlx::query_as(COUNTS).bind(hook.as_str()).fetch_one(db).await?,
                sqlx::query_scalar(OLDEST_FRESH).bind(hook.as_str()).fetch_optional(db).await?,
            ));
        Ok(InboxCounts {
            waiting: size(TABLE, "waiting", waiting)?,
            processing: size(TABLE, "processing", processing)?,
            processed: size(TABLE, "processed", processed)?,
            dead: size(TABLE, "dead", dead)?,
            oldest_fresh_at,
        })
    }

    /// Dead letters of a hook in order of receipt, after `after`, at most `limit`.
    pub async fn dead_letters(
        &self,
        hook: &HookName,
        after: i64,
        limit: u32,
    ) -> Result<Vec<DeadLetter>> {
        let rows: Vec<DeadRow> = on!(self.backend(), |db| {
            sqlx::query_as(DEAD)
                .bind(hook.as_str())
                .bind(after)
                .bind(i64::from(limit))
                .fetch_all(db)
                .await?
        });
        rows.into_iter().map(dead_letter).collect()
    }
}

fn dead_letter(row: DeadRow) -> Result<DeadLetter> {
    Ok(DeadLetter {
        seq: row.seq,
        hook: rows::hook(TABLE, &row.hook)?,
        guid: rows::guid("receipts", &row.guid)?,
        event: rows::event("receipts", &row.event)?,
        action: row.action,
        repository_id: row.repository_id,
        received_at: row.received_at,
        died_at: row.finished_at,
        attempts: count(TABLE, "sends", row.sends)?,
        last_error: row.last_error,
    })
}
