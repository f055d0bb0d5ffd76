//! Reading deliveries one by one and by what is open; what an operator says about one.

use chrono::{DateTime, Utc};

use super::{
    Result, Store,
    backend::{in_write, on},
    dialect::text,
    rows,
    types::OpenDelivery,
};
use crate::domain::ids::{Guid, HookName};

/// `open = 1` as a literal: only so does SQLite use the partial index.
const OPEN: &str = "SELECT guid FROM deliveries WHERE hook = $1 AND open = 1 AND guid > $2 \
     ORDER BY guid LIMIT $3";

const FIRST_BETWEEN: &str = "SELECT guid FROM deliveries \
     WHERE hook = $1 AND first_attempt_at >= $2 AND first_attempt_at < $3 LIMIT 1";

/// Walks the key, so that it can be continued; only a dry run asks this.
const CLOSED: &str = "SELECT guid FROM deliveries WHERE hook = $1 AND guid > $2 AND open = 0 \
     AND last_attempt_at >= $3 ORDER BY guid LIMIT $4";

const DISMISS: &str = "UPDATE deliveries SET dismissed_at = $3, dismissed_note = $4, open = 1 \
     WHERE hook = $1 AND guid = $2";

impl Store {
    /// Open deliveries of a hook (not closed by a verdict), with all their facts, in GUID order,
    /// after `after`, at most `limit`. Memory stays flat however many there are. Only what GitHub
    /// has listed: an arrival that is not listed yet has nothing to be judged.
    pub async fn open_deliveries(
        &self,
        hook: &HookName,
        after: Option<&Guid>,
        limit: u32,
    ) -> Result<Vec<OpenDelivery>> {
        let guids: Vec<String> = on!(self.backend(), |db| {
            sqlx::query_scalar(OPEN)
                .bind(hook.as_str())
                .bind(after.map_or("", Guid::as_str))
                .bind(i64::from(limit))
                .fetch_all(db)
                .await?
        });
        let guids =
            guids.iter().map(|guid| rows::guid("deliveries", guid)).collect::<Result<Vec<_>>>()?;
        self.facts(hook, &guids).await
    }

    /// Closed deliveries of a hook whose newest attempt is not before `since`, in pages like those of
    /// [`Store::open_deliveries`].
    pub async fn closed_deliveries(
        &self,
        hook: &HookName,
        since: DateTime<Utc>,
        after: Option<&Guid>,
        limit: u32,
    ) -> Result<Vec<OpenDelivery>> {
        let guids: Vec<String> = on!(self.backend(), |db| {
            sqlx::query_scalar(CLOSED)
                .bind(hook.as_str())
                .bind(after.map_or("", Guid::as_str))
                .bind(since)
                .bind(i64::from(limit))
                .fetch_all(db)
                .await?
        });
        let guids =
            guids.iter().map(|guid| rows::guid("deliveries", guid)).collect::<Result<Vec<_>>>()?;
        self.facts(hook, &guids).await
    }

    /// Whether a delivery is known that was first attempted at or after `from` and before `to`.
    pub async fn knows_between(
        &self,
        hook: &HookName,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
    ) -> Result<bool> {
        let known: Option<String> = on!(self.backend(), |db| {
            sqlx::query_scalar(FIRST_BETWEEN)
                .bind(hook.as_str())
                .bind(from)
                .bind(to)
                .fetch_optional(db)
                .await?
        });
        Ok(known.is_some())
    }

    /// One delivery with all its facts; `None` when neither list nor receiver knows it.
    pub async fn delivery(&self, hook: &HookName, guid: &Guid) -> Result<Option<OpenDelivery>> {
        Ok(self.facts(hook, std::slice::from_ref(guid)).await?.pop())
    }

    /// Takes a delivery out of missing. `Ok(false)`: GitHub has not listed it, so it is not missing.
    pub async fn dismiss(
        &self,
        hook: &HookName,
        guid: &Guid,
        note: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<bool> {
        Ok(in_write!(self.backend(), |tx| {
            sqlx::query(DISMISS)
                .bind(hook.as_str())
                .bind(guid.as_str())
                .bind(now)
                .bind(note.map(text))
                .execute(&mut *tx)
                .await?
                .rows_affected()
                > 0
        }))
    }
}
