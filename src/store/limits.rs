//! Until when a credential must not be used, shared by every process on this store.

use chrono::{DateTime, Utc};

use super::{
    Result, Store,
    backend::{in_write, on},
};

const LIMIT: &str = "SELECT until FROM limits WHERE credential = $1";

const SET: &str = "INSERT INTO limits (credential, until) VALUES ($1, $2) \
     ON CONFLICT (credential) DO UPDATE SET until = excluded.until \
     WHERE limits.until < excluded.until";

impl Store {
    /// Until when a credential must not be used, past or future; `None`: never limited.
    pub async fn limit(&self, credential: &str) -> Result<Option<DateTime<Utc>>> {
        Ok(on!(self.backend(), |db| {
            sqlx::query_scalar(LIMIT).bind(credential).fetch_optional(db).await?
        }))
    }

    /// Remembers a limit for every process that uses this store; keeps a later one.
    pub async fn set_limit(&self, credential: &str, until: DateTime<Utc>) -> Result<()> {
        in_write!(self.backend(), |tx| {
            sqlx::query(SET).bind(credential).bind(until).execute(&mut *tx).await?;
        });
        Ok(())
    }
}
