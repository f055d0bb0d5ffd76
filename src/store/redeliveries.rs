//! Our requests: the intent before the act, what became of it, and the story of one delivery.

use chrono::{DateTime, Utc};

use super::{
    Result, Store,
    backend::{in_write, on},
    dialect::text,
    error::inconsistent,
    lease::fence,
    rows::{self, count},
    types::{Intent, Lease, Story},
};
use crate::domain::{
    delivery::{Delivery, Outcome},
    ids::{Guid, HookName},
};

/// Also holds the delivery's row, so that two requests by hand at once get different numbers.
const MARK: &str = "UPDATE deliveries SET open = 1, asked_by_hand = (asked_by_hand OR $3) \
     WHERE hook = $1 AND guid = $2";

const INTEND: &str = "INSERT INTO redeliveries \
     (hook, guid, nth, means, attempt_id, asked_at, probe, sweep_id, outcome) \
     SELECT $1, $2, COALESCE(MAX(nth), 0) + 1, $3, $4, $5, $6, $7, 'intended' \
     FROM redeliveries WHERE hook = $1 AND guid = $2 RETURNING nth";

const CONCLUDE: &str = "UPDATE redeliveries SET outcome = $4, detail = $5, concluded_at = $6 \
     WHERE hook = $1 AND guid = $2 AND nth = $3";

const ASKED: &str =
    "SELECT DISTINCT guid FROM redeliveries WHERE hook = $1 AND asked_at >= $2 ORDER BY guid";

const DETAILS: &str =
    "SELECT nth, detail FROM redeliveries WHERE hook = $1 AND guid = $2 ORDER BY nth";

const DISMISSED: &str = "SELECT dismissed_at, dismissed_note FROM deliveries \
     WHERE hook = $1 AND guid = $2 AND dismissed_at IS NOT NULL";

impl Store {
    /// Commits the intent to ask, before anything is sent. The next `nth` of the delivery is
    /// assigned here. Fenced when a lease is given; by-hand requests of one GUID come without. A
    /// request by hand (`sweep` is `None`) marks the delivery as asked for by hand, for good.
    pub async fn intend(&self, intent: &Intent, lease: Option<&Lease>) -> Result<u32> {
        let nth: i64 = in_write!(self.backend(), |tx| {
            if let Some(lease) = lease {
                fence!(tx, lease);
            }
            let marked = sqlx::query(MARK)
                .bind(intent.hook.as_str())
                .bind(intent.guid.as_str())
                .bind(intent.sweep.is_none())
                .execute(&mut *tx)
                .await?;
            if marked.rows_affected() == 0 {
                return Err(inconsistent("deliveries", "a request for a delivery never listed"));
            }
            sqlx::query_scalar(INTEND)
                .bind(intent.hook.as_str())
                .bind(intent.guid.as_str())
                .bind(intent.means.as_str())
                .bind(intent.attempt.get())
                .bind(intent.asked_at)
                .bind(intent.probe)
                .bind(intent.sweep)
                .fetch_one(&mut *tx)
                .await?
        });
        count("redeliveries", "nth", nth)
    }

    /// Stores what became of a request. Not fenced: it happened, whoever holds the lease by now.
    pub async fn conclude(
        &self,
        hook: &HookName,
        guid: &Guid,
        nth: u32,
        outcome: Outcome,
        detail: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<()> {
        in_write!(self.backend(), |tx| {
            let concluded = sqlx::query(CONCLUDE)
                .bind(hook.as_str())
                .bind(guid.as_str())
                .bind(i64::from(nth))
                .bind(outcome.as_str())
                .bind(detail.map(text))
                .bind(now)
                .execute(&mut *tx)
                .await?;
            if concluded.rows_affected() == 0 {
                return Err(inconsistent("redeliveries", "a request without intent"));
            }
        });
        Ok(())
    }

    /// The deliveries that were asked for since `asked_since`, with all their facts, in GUID order.
    pub async fn asked_since(
        &self,
        hook: &HookName,
        asked_since: DateTime<Utc>,
    ) -> Result<Vec<Delivery>> {
        let guids: Vec<String> = on!(self.backend(), |db| {
            sqlx::query_scalar(ASKED).bind(hook.as_str()).bind(asked_since).fetch_all(db).await?
        });
        let guids = guids
            .iter()
            .map(|guid| rows::guid("redeliveries", guid))
            .collect::<Result<Vec<_>>>()?;
        Ok(self.facts(hook, &guids).await?.into_iter().map(|open| open.delivery).collect())
    }

    /// Everything about one delivery for `show`; `None` when neither list nor receiver knows it.
    pub async fn story(&self, hook: &HookName, guid: &Guid) -> Result<Option<Story>> {
        let Some(open) = self.delivery(hook, guid).await? else { return Ok(None) };
        let (details, dismissed): (Vec<(i64, Option<String>)>, _) = on!(self.backend(), |db| (
            sqlx::query_as(DETAILS).bind(hook.as_str()).bind(guid.as_str()).fetch_all(db).await?,
            sqlx::query_as(DISMISSED)
                .bind(hook.as_str())
                .bind(guid.as_str())
                .fetch_optional(db)
                .await?,
        ));
        let mut receipt = self.receipt_facts(hook, guid).await?;
        if let (Some(stored), Some(known)) = (&mut receipt, &open.delivery.receipt) {
            stored.arrival.via = known.via;
        }
        let details = details
            .into_iter()
            .map(|(nth, detail)| Ok((count("redeliveries", "nth", nth)?, detail)))
            .collect::<Result<_>>()?;
        Ok(Some(Story { open, details, receipt, dismissed }))
    }
}
