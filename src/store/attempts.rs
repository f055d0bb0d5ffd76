//! Storing a page of GitHub's list together with how far the listing got.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, SubsecRound, Utc};
use sqlx::QueryBuilder;

use super::{
    Result, Store,
    backend::in_write,
    batches,
    dialect::text,
    lease::lost,
    types::{Lease, SavedPage},
};
use crate::{domain::boundary::Listing, github::Listed};

/// Rows in one statement, at most; a power of two.
const ROWS: usize = 128;

/// Also the fence: it holds the hook's row until the commit.
const LISTING: &str = "UPDATE hooks SET head_at = $3, rechecked_at = $4, complete_at = $5, \
     adopted_at = COALESCE(adopted_at, $6) WHERE name = $1 AND lease_token = $2";

const CLEAR_GAPS: &str = "DELETE FROM gaps WHERE hook = $1";

const ADD_GAP: &str =
    "INSERT INTO gaps (hook, nth, floor, ceiling, link) VALUES ($1, $2, $3, $4, $5)";

const KNOWN: &str = "SELECT id, code, status FROM attempts WHERE hook = ";

const INSERT: &str =
    "INSERT INTO attempts (hook, id, guid, delivered_at, redelivery, status, code, listed_at) ";

const CHANGE: &str = "UPDATE attempts SET code = $3, status = $4 WHERE hook = $1 AND id = $2";

const DELIVERY: &str = "INSERT INTO deliveries (hook, guid, event, action, installation_id, \
     repository_id, first_attempt_at, last_attempt_at, asked_by_hand, open) ";

/// What the operator said and what was judged stays; the delivery is to be judged again.
const AGAIN: &str = " ON CONFLICT (hook, guid) DO UPDATE SET open = 1, \
     first_attempt_at = CASE WHEN excluded.first_attempt_at < deliveries.first_attempt_at \
     THEN excluded.first_attempt_at ELSE deliveries.first_attempt_at END, \
     last_attempt_at = CASE WHEN excluded.last_attempt_at > deliveries.last_attempt_at \
     THEN excluded.last_attempt_at ELSE deliveries.last_attempt_at END, \
     action = COALESCE(deliveries.action, excluded.action), \
     installation_id = COALESCE(deliveries.installation_id, excluded.installation_id), \
     repository_id = COALESCE(deliveries.repository_id, excluded.repository_id)";

/// First and last attempt of one GUID on the page.
struct Span<'a> {
    listed: &'a Listed,
    first: DateTime<Utc>,
    last: DateTime<Utc>,
}

impl Store {
    /// Stores a page and how far the listing got, in one transaction. Idempotent. A new or changed
    /// attempt reopens its delivery. `adopt_at` is stored once, when the hook has none yet. A code
    /// that GitHub told once is never forgotten for a null.
    pub async fn save_page(
        &self,
        lease: &Lease,
        rows: &[Listed],
        listing: &Listing,
        adopt_at: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<SavedPage> {
        // One row per id; should GitHub repeat one on a page, the later, which may know the code.
        let rows: BTreeMap<i64, &Listed> =
            rows.iter().map(|row| (row.attempt.id.get(), row)).collect();
        let ids: Vec<i64> = rows.keys().copied().collect();
        let hook = lease.hook.as_str();
        let saved = in_write!(self.backend(), |tx| {
            let held = sqlx::query(LISTING)
                .bind(hook)
                .bind(lease.token)
                .bind(listing.head)
                .bind(listing.rechecked_at)
                .bind(listing.complete_at)
                .bind(adopt_at)
                .execute(&mut *tx)
                .await?;
            if held.rows_affected() == 0 {
                return Err(lost(lease));
            }
            sqlx::query(CLEAR_GAPS).bind(hook).execute(&mut *tx).await?;
            for (nth, gap) in (0_i64..).zip(&listing.gaps) {
                sqlx::query(ADD_GAP)
                    .bind(hook)
                    .bind(nth)
                    .bind(gap.floor)
                    .bind(gap.ceiling)
                    .bind(gap.link.as_deref())
                    .execute(&mut *tx)
                    .await?;
            }

            let mut known: HashMap<i64, (Option<i64>, String)> = HashMap::new();
            for batch in batches(&ids, ROWS) {
                let mut select = QueryBuilder::new(KNOWN);
                select.push_bind(hook).push(" AND id IN (");
                let mut list = select.separated(", ");
                for id in batch {
                    list.push_bind(*id);
                }
                select.push(")");
                let found: Vec<(i64, Option<i64>, String)> =
                    select.build_query_as().fetch_all(&mut *tx).await?;
                known.extend(found.into_iter().map(|(id, code, status)| (id, (code, status))));
            }

            let new: Vec<&Listed> = rows
                .iter()
                .filter(|(id, _)| !known.contains_key(id))
                .map(|(_, row)| *row)
                .collect();
            for batch in batches(&new, ROWS) {
                let mut insert = QueryBuilder::new(INSERT);
                insert.push_values(batch, |mut values, row| {
                    values
                        .push_bind(hook)
                        .push_bind(row.attempt.id.get())
                        .push_bind(row.guid.as_str())
                        .push_bind(row.attempt.delivered_at.trunc_subsecs(6))
                        .push_bind(row.attempt.redelivery)
                        .push_bind(text(&row.attempt.status))
                        .push_bind(row.attempt.code.map(i64::from))
                        .push_bind(now);
                });
                insert.build().execute(&mut *tx).await?;
            }

            let changed: Vec<&Listed> = rows
                .iter()
                .filter(|(id, row)| known.get(id).is_some_and(|known| differs(known, row)))
                .map(|(_, row)| *row)
                .collect();
            for row in &changed {
                sqlx::query(CHANGE)
                    .bind(hook)
                    .bind(row.attempt.id.get())
                    .bind(row.attempt.code.map(i64::from))
                    .bind(text(&row.attempt.status))
                    .execute(&mut *tx)
                    .await?;
            }

            let spans = spans(new.iter().chain(&changed).copied());
            for batch in batches(&spans, ROWS) {
                let mut upsert = QueryBuilder::new(DELIVERY);
                upsert.push_values(batch, |mut values, span| {
                    values
                        .push_bind(hook)
                        .push_bind(span.listed.guid.as_str())
                        .push_bind(span.listed.event.as_str())
                        .push_bind(span.listed.action.as_deref().map(text))
                        .push_bind(span.listed.installation_id)
                        .push_bind(span.listed.repository_id)
                        .push_bind(span.first)
                        .push_bind(span.last)
                        .push_bind(false)
                        .push("1");
                });
                upsert.push(AGAIN);
                upsert.build().execute(&mut *tx).await?;
            }
            SavedPage { new_attempts: u32::try_from(new.len()).unwrap_or(u32::MAX) }
        });
        Ok(saved)
    }
}

/// Whether the list now tells more about an attempt than is stored.
fn differs(known: &(Option<i64>, String), row: &Listed) -> bool {
    let (code, status) = known;
    let told = row.attempt.code.map(i64::from);
    told != *code && told.is_some() || told == *code && text(&row.attempt.status) != *status
}

/// One span per GUID, in the order of the GUIDs.
fn spans<'a>(rows: impl Iterator<Item = &'a Listed>) -> Vec<Span<'a>> {
    let mut spans: BTreeMap<&str, Span<'a>> = BTreeMap::new();
    for listed in rows {
        let at = listed.attempt.delivered_at.trunc_subsecs(6);
        let span =
            spans.entry(listed.guid.as_str()).or_insert(Span { listed, first: at, last: at });
        span.first = span.first.min(at);
        span.last = span.last.max(at);
    }
    spans.into_values().collect()
}
