//! Deliveries for `list`: newest first, over one hook or all, listed or only received.

use std::{cmp::Reverse, collections::HashMap};

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    Result, Store,
    backend::on,
    rows,
    types::{OpenDelivery, Query},
};
use crate::domain::ids::{Guid, HookName};

const LISTED: &str = "SELECT guid, first_attempt_at FROM deliveries \
     WHERE hook = $1 AND first_attempt_at >= $2 AND first_attempt_at <= $5 \
     AND (first_attempt_at < $5 OR guid > $6) AND CAST($3 AS TEXT) IS NULL \
     ORDER BY first_attempt_at DESC, guid LIMIT $4";

/// A text of its own, because no index serves "this event, or any".
const LISTED_EVENT: &str = "SELECT guid, first_attempt_at FROM deliveries \
     WHERE hook = $1 AND event = $3 AND first_attempt_at >= $2 AND first_attempt_at <= $5 \
     AND (first_attempt_at < $5 OR guid > $6) \
     ORDER BY first_attempt_at DESC, guid LIMIT $4";

/// Materialised, or SQLite would walk the history in the order of the index on the first attempt.
const OPEN: &str = "WITH open_ones AS MATERIALIZED ( \
     SELECT guid, first_attempt_at, event FROM deliveries WHERE hook = $1 AND open = 1) \
     SELECT guid, first_attempt_at FROM open_ones \
     WHERE first_attempt_at >= $2 AND first_attempt_at <= $5 \
     AND (first_attempt_at < $5 OR guid > $6) AND (CAST($3 AS TEXT) IS NULL OR event = $3) \
     ORDER BY first_attempt_at DESC, guid LIMIT $4";

const UNLISTED: &str = "SELECT guid, received_at FROM receipts \
     WHERE hook = $1 AND received_at >= $2 AND received_at <= $5 \
     AND (received_at < $5 OR guid > $6) AND (CAST($3 AS TEXT) IS NULL OR event = $3) \
     AND NOT EXISTS (SELECT 1 FROM deliveries \
     WHERE deliveries.hook = receipts.hook AND deliveries.guid = receipts.guid) \
     ORDER BY received_at DESC, guid LIMIT $4";

/// Walks an index only, so it costs little beside looking at the receipts themselves.
const NTH_NEWEST: &str = "SELECT received_at FROM receipts WHERE hook = $1 \
     ORDER BY received_at DESC LIMIT 1 OFFSET $2";

/// The last day of year 9999: no delivery is newer, and as text it still sorts.
const FOREVER: TimeDelta = TimeDelta::days(2_932_896);

type Keys = Vec<(String, DateTime<Utc>)>;

impl Store {
    /// Deliveries for `list`, newest first attempt first; one that GitHub has not listed yet stands
    /// where it was received.
    pub async fn list(&self, query: &Query) -> Result<Vec<OpenDelivery>> {
        let hooks = match &query.hook {
            Some(hook) => vec![hook.clone()],
            None => self.hook_names().await?,
        };
        let mut keys = Vec::new();
        for hook in hooks {
            for (guid, at) in self.newest_keys(&hook, query).await? {
                keys.push((at, hook.clone(), rows::guid("deliveries", &guid)?));
            }
        }
        keys.sort_by(|(a, hook_a, guid_a), (b, hook_b, guid_b)| {
            (Reverse(a), guid_a, hook_a).cmp(&(Reverse(b), guid_b, hook_b))
        });
        keys.truncate(usize::try_from(query.limit).unwrap_or(usize::MAX));

        let mut by_hook: HashMap<&HookName, Vec<Guid>> = HashMap::new();
        for (_, hook, guid) in &keys {
            by_hook.entry(hook).or_default().push(guid.clone());
        }
        let mut found = HashMap::new();
        for (hook, guids) in by_hook {
            for open in self.facts(hook, &guids).await? {
                found.insert((open.hook.clone(), open.delivery.guid.clone()), open);
            }
        }
        Ok(keys.into_iter().filter_map(|(_, hook, guid)| found.remove(&(hook, guid))).collect())
    }

    /// The newest keys of one hook, at most twice the limit.
    async fn newest_keys(&self, hook: &HookName, query: &Query) -> Result<Keys> {
        let since = query.since.unwrap_or(DateTime::UNIX_EPOCH);
        let sql = match &query.event {
            _ if query.open_only => OPEN,
            Some(_) => LISTED_EVENT,
            None => LISTED,
        };
        let mut keys = self.keys(sql, hook, since, query).await?;
        if !query.open_only {
            // An unlisted one older than a full answer would be cut off anyway; not looking for it
            // keeps the cost to what is shown.
            let full = keys.len() >= usize::try_from(query.limit).unwrap_or(usize::MAX);
            let oldest = keys.last().filter(|_| full).map_or(since, |(_, at)| *at);
            let oldest = query.unlisted_since.map_or(oldest, |at| at.max(oldest));
            keys.extend(self.keys(UNLISTED, hook, oldest, query).await?);
        }
        Ok(keys)
    }

    /// When the receipt was taken in that has so many newer ones on its hook; `None`: there are not
    /// that many. As a bound of [`Query::unlisted_since`] it keeps a search for a rare event from
    /// reading every receipt.
    pub async fn receipt_behind(
        &self,
        hook: &HookName,
        newer: usize,
    ) -> Result<Option<DateTime<Utc>>> {
        let newer = i64::try_from(newer).unwrap_or(i64::MAX);
        Ok(on!(self.backend(), |db| {
            sqlx::query_scalar(NTH_NEWEST)
                .bind(hook.as_str())
                .bind(newer)
                .fetch_optional(db)
                .await?
        }))
    }

    async fn keys(
        &self,
        sql: &'static str,
        hook: &HookName,
        since: DateTime<Utc>,
        query: &Query,
    ) -> Result<Keys> {
        let (newest, after) = query.before.as_ref().map_or_else(
            || (DateTime::UNIX_EPOCH + FOREVER, ""),
            |(newest, after)| (*newest, after.as_str()),
        );
        Ok(on!(self.backend(), |db| {
            sqlx::query_as(sql)
                .bind(hook.as_str())
                .bind(since)
                .bind(query.event.as_deref())
                .bind(i64::from(query.limit))
                .bind(newest)
                .bind(after)
                .fetch_all(db)
                .await?
        }))
    }
}
