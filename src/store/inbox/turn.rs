//! One turn of a worker: its conclusions, the leases of lost workers, and its next claims.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use sqlx::QueryBuilder;

use super::{
    claim::{POSTGRES, SQLITE, Texts},
    conclude::{self, conclude},
    history,
    types::{Claim, Claimed, Conclusion, Turn},
};
use crate::{
    domain::{
        ids::HookName,
        retry::{HandoverResult, HandoverState},
    },
    store::{
        Result, Store,
        backend::{Backend, in_write},
        batches,
        dialect::text,
        rows::count,
    },
};

/// Rows in one statement, at most; a power of two.
const ROWS: usize = 64;

const RENEW: &str = "UPDATE inbox SET lease_until = ";
const RENEWED: &str = " WHERE state = 'processing' AND (seq, token) IN (";

const RELEASE: &str = "UPDATE inbox SET state = 'waiting', attempts = attempts - 1, \
     sends = sends - 1, lease_until = NULL \
     WHERE state = 'processing' AND (seq, token) IN (";

#[derive(sqlx::FromRow)]
struct ClaimedRow {
    seq: i64,
    token: i64,
    attempts: i64,
    sends: i64,
    order_key: Option<i64>,
}

#[derive(sqlx::FromRow)]
struct Expired {
    seq: i64,
    token: i64,
    sends: i64,
    owner: Option<String>,
    state: String,
}

/// Whose share of a claim's limit a statement may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    /// What is set aside for events that failed before.
    Retries,
    /// All that is left.
    Rest,
}

/// One claiming statement: its text, its share, and whether it hops from key to key.
type Step = (&'static str, Share, bool);

/// First what failed before, up to its share; then fresh events; then what failed before again, where
/// fresh ones left room.
fn steps(texts: &Texts, claim: &Claim) -> Vec<Step> {
    let (retry, fresh) = if claim.ordered {
        (texts.retry_ordered, texts.fresh_ordered)
    } else {
        (texts.retry, texts.fresh)
    };
    let mut steps = vec![(retry, Share::Retries, false), (fresh, Share::Rest, claim.ordered)];
    if claim.ordered && claim.cursor != 0 {
        // From the first key again, where those after the cursor left room.
        steps.push((fresh, Share::Rest, true));
    }
    steps.push((retry, Share::Rest, false));
    steps
}

/// Ends claims whose lease is over, within the transaction `tx`.
macro_rules! expire {
    ($tx:ident, $hook:expr, $texts:ident, $claim:ident, $now:ident) => {{
        let expired: Vec<Expired> = sqlx::query_as($texts.expire)
            .bind($hook.as_str())
            .bind($claim.expired_before)
            .bind(i64::from($claim.max_attempts))
            .bind($now)
            .fetch_all(&mut *$tx)
            .await?;
        for batch in batches(&expired, ROWS) {
            let mut query = QueryBuilder::new(history::INSERT);
            query.push_values(batch, |mut values, it| {
                values
                    .push_bind(it.seq)
                    .push_bind(it.sends)
                    .push_bind(it.token)
                    .push_bind(it.owner.as_deref())
                    .push_bind(None::<DateTime<Utc>>)
                    .push_bind($now)
                    .push_bind(HandoverResult::Expired.as_str())
                    .push_bind(None::<i64>)
                    .push_bind(None::<String>)
                    .push_bind(false);
            });
            query.build().execute(&mut *$tx).await?;
        }
        expired
    }};
}

/// Claims events, within the transaction `tx`.
macro_rules! take {
    ($tx:ident, $hook:expr, $owner:expr, $texts:ident, $claim:ident, $now:ident, $cursor:ident) => {{
        let mut taken: Vec<ClaimedRow> = Vec::new();
        let mut hopped = false;
        for (sql, share, hops) in steps($texts, $claim) {
            let free = usize::try_from($claim.limit).unwrap_or(0).saturating_sub(taken.len());
            let share = match share {
                Share::Retries => usize::try_from($claim.retries).unwrap_or(0).min(free),
                Share::Rest => free,
            };
            if share == 0 {
                continue;
            }
            if hops && hopped {
                $cursor = 0;
            }
            let mut query = sqlx::query_as::<_, ClaimedRow>(sql)
                .bind($hook.as_str())
                .bind(i64::try_from(share).unwrap_or(i64::MAX))
                .bind($owner)
                .bind($claim.lease_until)
                .bind($now);
            if hops {
                query = query.bind($cursor);
            }
            let rows = query.fetch_all(&mut *$tx).await?;
            if hops {
                hopped = true;
                let last = rows.iter().filter_map(|row| row.order_key).max();
                $cursor = last.filter(|_| rows.len() == share).unwrap_or(0);
            }
            taken.extend(rows);
        }
        taken
    }};
}

impl Store {
    /// Writes a worker's conclusions and claims its next events, all in one commit. A conclusion
    /// whose claim was taken over changes nothing and is recorded as late.
    pub async fn hand_over(
        &self,
        hook: &HookName,
        owner: &str,
        conclusions: &[Conclusion],
        claim: Option<&Claim>,
        now: DateTime<Utc>,
    ) -> Result<Turn> {
        let texts = match self.backend() {
            Backend::Sqlite { .. } => &SQLITE,
            Backend::Postgres(_) => &POSTGRES,
        };
        // In the order of the key, so that two clients never wait for each other in a circle.
        let mut sorted: Vec<&Conclusion> = conclusions.iter().collect();
        sorted.sort_by_key(|conclusion| conclusion.claimed.seq);
        let mut held: HashSet<i64> = HashSet::new();
        let mut cursor = claim.map_or(0, |claim| claim.cursor);
        let (expired, taken) = in_write!(self.backend(), |tx| {
            conclude!(tx, hook, owner, &sorted, held);
            match claim {
                Some(claim) => {
                    let expired = expire!(tx, hook, texts, claim, now);
                    (expired, take!(tx, hook, owner, texts, claim, now, cursor))
                }
                None => (Vec::new(), Vec::new()),
            }
        });
        let dead = expired.iter().filter(|it| it.state == HandoverState::Dead.as_str()).count();
        let mut claimed = taken.iter().map(claimed).collect::<Result<Vec<_>>>()?;
        claimed.sort_by_key(|claimed| claimed.seq);
        let late = sorted.iter().map(|it| it.claimed.seq).filter(|seq| !held.contains(seq));
        Ok(Turn {
            claimed,
            refused: late.collect(),
            expired: u32::try_from(expired.len() - dead).unwrap_or(u32::MAX),
            expired_dead: u32::try_from(dead).unwrap_or(u32::MAX),
            cursor,
        })
    }

    /// Prolongs claims; returns which events are still ours. The others were taken over.
    pub async fn renew_claims(
        &self,
        claims: &[Claimed],
        until: DateTime<Utc>,
    ) -> Result<HashSet<i64>> {
        let mut held = HashSet::new();
        in_write!(self.backend(), |tx| {
            for batch in batches(claims, ROWS) {
                let mut query = QueryBuilder::new(RENEW);
                query.push_bind(until).push(RENEWED);
                query.push_values(batch, |mut values, it| {
                    values.push_bind(it.seq).push_bind(it.token);
                });
                query.push(") RETURNING seq");
                let rows: Vec<i64> = query.build_query_scalar().fetch_all(&mut *tx).await?;
                held.extend(rows);
            }
        });
        Ok(held)
    }

    /// Gives claims back that were never begun: as if they had never been made.
    pub async fn release_claims(&self, claims: &[Claimed]) -> Result<()> {
        in_write!(self.backend(), |tx| {
            for batch in batches(claims, ROWS) {
                let mut query = QueryBuilder::new(RELEASE);
                query.push_values(batch, |mut values, it| {
                    values.push_bind(it.seq).push_bind(it.token);
                });
                query.push(")");
                query.build().execute(&mut *tx).await?;
            }
        });
        Ok(())
    }
}

fn claimed(row: &ClaimedRow) -> Result<Claimed> {
    Ok(Claimed {
        seq: row.seq,
        token: row.token,
        attempt: count("inbox", "attempts", row.attempts)?,
        nth: count("inbox", "sends", row.sends)?,
    })
}
