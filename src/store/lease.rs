//! The sweep lease of a hook: a row with an expiry and a fencing token, no lock that a session holds.

use chrono::{DateTime, Utc};

use super::{
    Result, Store, StoreError,
    backend::in_write,
    error::inconsistent,
    types::{Acquired, Lease},
};
use crate::domain::ids::HookName;

/// Writes nothing new, but holds the row until the transaction ends: nobody can take the lease over
/// between this check and the commit.
pub(super) const FENCE: &str =
    "UPDATE hooks SET lease_token = lease_token WHERE name = $1 AND lease_token = $2";

/// Leaves the function with [`StoreError::LeaseLost`] unless the lease is still ours. An expired one
/// that nobody took is.
macro_rules! fence {
    ($tx:ident, $lease:expr) => {{
        let lease = $lease;
        let held = sqlx::query($crate::store::lease::FENCE)
            .bind(lease.hook.as_str())
            .bind(lease.token)
            .execute(&mut *$tx)
            .await?;
        if held.rows_affected() == 0 {
            return Err($crate::store::lease::lost(lease));
        }
    }};
}
pub(super) use fence;

const KNOW: &str =
    "INSERT INTO hooks (name, lease_token) VALUES ($1, 0) ON CONFLICT (name) DO NOTHING";

const TAKE: &str = "UPDATE hooks SET lease_owner = $2, lease_token = lease_token + 1, \
     lease_until = $4 WHERE name = $1 AND (lease_until IS NULL OR lease_until <= $3) \
     RETURNING lease_token";

const HOLDER: &str = "SELECT lease_owner, lease_until FROM hooks WHERE name = $1";

const RENEW: &str = "UPDATE hooks SET lease_until = $3 WHERE name = $1 AND lease_token = $2";

/// The token moves on, so that a straggler of the former holder cannot write any more.
const RELEASE: &str = "UPDATE hooks SET lease_owner = NULL, lease_until = NULL, \
     lease_token = lease_token + 1 WHERE name = $1 AND lease_token = $2";

/// Who holds the lease, and until when.
type Holder = (Option<String>, Option<DateTime<Utc>>);

impl Store {
    /// Takes the sweep lease of a hook if it is free or expired. A higher token each time.
    pub async fn acquire(
        &self,
        hook: &HookName,
        owner: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Acquired> {
        let (token, holder): (Option<i64>, Holder) = in_write!(self.backend(), |tx| {
            sqlx::query(KNOW).bind(hook.as_str()).execute(&mut *tx).await?;
            let token = sqlx::query_scalar(TAKE)
                .bind(hook.as_str())
                .bind(owner)
                .bind(now)
                .bind(until)
                .fetch_optional(&mut *tx)
                .await?;
            let holder = sqlx::query_as(HOLDER).bind(hook.as_str()).fetch_one(&mut *tx).await?;
            (token, holder)
        });
        match (token, holder) {
            (Some(token), _) => {
                Ok(Acquired::Held(Lease { hook: hook.clone(), owner: owner.to_owned(), token }))
            }
            (None, (Some(owner), Some(until))) => Ok(Acquired::Busy { owner, until }),
            (None, _) => Err(inconsistent("hooks", "a lease without owner or end")),
        }
    }

    /// Prolongs the lease; [`StoreError::LeaseLost`] when another token holds it.
    pub async fn renew(&self, lease: &Lease, until: DateTime<Utc>) -> Result<()> {
        in_write!(self.backend(), |tx| {
            let held = sqlx::query(RENEW)
                .bind(lease.hook.as_str())
                .bind(lease.token)
                .bind(until)
                .execute(&mut *tx)
                .await?;
            if held.rows_affected() == 0 {
                return Err(lost(lease));
            }
        });
        Ok(())
    }

    /// Gives the lease back; nothing happens when it is already lost. Writes with it fail from now on.
    pub async fn release(&self, lease: &Lease) -> Result<()> {
        in_write!(self.backend(), |tx| {
            sqlx::query(RELEASE)
                .bind(lease.hook.as_str())
                .bind(lease.token)
                .execute(&mut *tx)
                .await?;
        });
        Ok(())
    }
}

pub(super) fn lost(lease: &Lease) -> StoreError {
    StoreError::LeaseLost { hook: lease.hook.to_string() }
}
