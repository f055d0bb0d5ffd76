//! Receipts: recording an arrival and reading it back byte for byte.

use bytes::Bytes;
use chrono::{DateTime, Utc};

use super::{
    Result, Store, StoreError,
    backend::on,
    error::inconsistent,
    pack::{self, Packed},
    rows::{count, event, guid, hook, size, word},
    types::{Arrival, Recorded, StoredReceipt},
};
use crate::domain::{
    delivery::Via,
    ids::{Guid, HookName},
};

/// A whole row, or one without its bytes.
#[derive(sqlx::FromRow)]
struct Row {
    hook: String,
    guid: String,
    event: String,
    action: Option<String>,
    installation_id: Option<i64>,
    repository_id: Option<i64>,
    via: String,
    received_at: DateTime<Utc>,
    wanted: bool,
    arrivals: i64,
    conflicts: i64,
    headers: String,
    encoding: i64,
    body: Option<Vec<u8>>,
    pruned: i64,
    body_size: i64,
    digest: Vec<u8>,
}

const WITH_BODY: &str = "SELECT hook, guid, event, action, installation_id, repository_id, via, \
     received_at, wanted, arrivals, conflicts, headers, encoding, body, \
     CAST(CASE WHEN body IS NULL THEN 1 ELSE 0 END AS BIGINT) AS pruned, body_size, digest \
     FROM receipts WHERE hook = $1 AND guid = $2";

const WITHOUT_BODY: &str = "SELECT hook, guid, event, action, installation_id, repository_id, via, \
     received_at, wanted, arrivals, conflicts, headers, encoding, NULL AS body, \
     CAST(CASE WHEN body IS NULL THEN 1 ELSE 0 END AS BIGINT) AS pruned, body_size, digest \
     FROM receipts WHERE hook = $1 AND guid = $2";

const NEWEST: &str = "SELECT received_at FROM receipts WHERE hook = $1 AND via <> 'api' \
     ORDER BY received_at DESC LIMIT 1";

impl Store {
    /// Records one verified arrival; returns after the commit is on disk. Many calls share one
    /// commit. The body is stored compressed and comes back byte for byte.
    ///
    /// Dropping the future does not undo the commit.
    pub async fn record(&self, arrival: Arrival) -> Result<Recorded> {
        let packed = if arrival.body.len() < pack::LARGE {
            Packed::new(&arrival)
        } else {
            tokio::task::spawn_blocking(move || Packed::new(&arrival))
                .await
                .map_err(|e| StoreError::Unavailable(Box::new(e)))?
        };
        self.inner.writer.record(packed).await
    }

    /// Whether the last attempt to record committed; `true` before the first.
    #[must_use]
    pub fn records(&self) -> bool {
        self.inner.writer.committed()
    }

    /// One receipt with its bytes. `None`: never arrived.
    pub async fn receipt(&self, hook: &HookName, guid: &Guid) -> Result<Option<StoredReceipt>> {
        self.receipt_by(WITH_BODY, hook, guid).await
    }

    /// One receipt with an empty body. `None`: never arrived.
    pub(super) async fn receipt_facts(
        &self,
        hook: &HookName,
        guid: &Guid,
    ) -> Result<Option<StoredReceipt>> {
        self.receipt_by(WITHOUT_BODY, hook, guid).await
    }

    async fn receipt_by(
        &self,
        sql: &'static str,
        hook: &HookName,
        guid: &Guid,
    ) -> Result<Option<StoredReceipt>> {
        let row: Option<Row> = on!(self.backend(), |db| {
            sqlx::query_as(sql).bind(hook.as_str()).bind(guid.as_str()).fetch_optional(db).await?
        });
        row.map(stored).transpose()
    }

    /// When the newest event came in over the network (not `via: api`).
    pub async fn newest_arrival(&self, hook: &HookName) -> Result<Option<DateTime<Utc>>> {
        Ok(on!(self.backend(), |db| {
            sqlx::query_scalar(NEWEST).bind(hook.as_str()).fetch_optional(db).await?
        }))
    }
}

fn stored(row: Row) -> Result<StoredReceipt> {
    const TABLE: &str = "receipts";
    let body_size = size(TABLE, "body_size", row.body_size)?;
    let body = match row.body {
        Some(bytes) => pack::decode(row.encoding, bytes, body_size)?,
        None => Vec::new(),
    };
    let headers = serde_json::from_str(&row.headers)
        .map_err(|_| inconsistent(TABLE, "headers are not a list of pairs"))?;
    let digest =
        row.digest.try_into().map_err(|_| inconsistent(TABLE, "digest has not 32 bytes"))?;
    Ok(StoredReceipt {
        arrival: Arrival {
            hook: hook(TABLE, &row.hook)?,
            guid: guid(TABLE, &row.guid)?,
            event: event(TABLE, &row.event)?,
            action: row.action,
            installation_id: row.installation_id,
            repository_id: row.repository_id,
            via: word(TABLE, "via", &row.via, Via::from_word)?,
            received_at: row.received_at,
            wanted: row.wanted,
            forward: false,
            headers,
            body: Bytes::from(body),
        },
        arrivals: count(TABLE, "arrivals", row.arrivals)?,
        conflicts: count(TABLE, "conflicts", row.conflicts)?,
        body_size,
        digest,
        body_pruned: row.pruned == 1,
    })
}
