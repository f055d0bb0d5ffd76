//! Until when a credential must not be used, shared by every process on this store.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    Result, Store,
    backend::{in_write, on},
};

const LIMIT: &str = "SELECT until FROM limits WHERE credential = $1";

const SET: &str = "INSERT INTO limits (credential, until) VALUES ($1, $2) \
     ON CONFLICT (credential) DO UPDATE SET until = excluded.until \
     WHERE limits.until < excluded.until OR limits.until > $3";

/// GitHub never makes anybody wait longer; what ends later was written by a clock that was wrong.
const LONGEST: TimeDelta = TimeDelta::hours(24);

impl Store {
    /// Until when, after `now`, a credential must not be used; `None`: it may be. A moment more than a
    /// day ahead is no limit.
    pub async fn limit(
        &self,
        credential: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<DateTime<Utc>>> {
        let until: Option<DateTime<Utc>> = on!(self.backend(), |db| {
            sqlx::query_scalar(LIMIT).bind(credential).fetch_optional(db).await?
        });
        Ok(until.filter(|until| now < *until && *until <= latest(now)))
    }

    /// Remembers a limit for every process that uses this store; keeps a later one, unless that is
    /// more than a day ahead.
    pub async fn set_limit(
        &self,
        credential: &str,
        until: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<()> {
        in_write!(self.backend(), |tx| {
            sqlx::query(SET)
                .bind(credential)
                .bind(until)
                .bind(latest(now))
                .execute(&mut *tx)
                .await?;
        });
        Ok(())
    }
}

fn latest(now: DateTime<Utc>) -> DateTime<Utc> {
    now.checked_add_signed(LONGEST).unwrap_or(DateTime::<Utc>::MAX_UTC)
}
