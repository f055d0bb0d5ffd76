//! The history of sweeps: one row each, opened at the start and completed with the numbers.

use chrono::{DateTime, Utc};

use super::{
    Result, Store,
    backend::{in_write, on},
    dialect::text,
    error::inconsistent,
    lease::fence,
    rows::{self, count},
    types::{Lease, SweepNumbers, SweepRow},
};
use crate::domain::ids::HookName;

#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    hook: String,
    started_by: String,
    dry_run: bool,
    started_at: DateTime<Utc>,
    finished_at: Option<DateTime<Utc>>,
    complete: bool,
    listed: i64,
    new_attempts: i64,
    unreadable: i64,
    api_calls: i64,
    due: i64,
    requested: i64,
    deferred: i64,
    fetched: i64,
    missing: i64,
    lost: i64,
    adopted: i64,
    error: Option<String>,
    ending: Option<String>,
}

const BEGIN: &str = "INSERT INTO sweeps (hook, started_by, dry_run, started_at, complete, listed, \
     new_attempts, unreadable, api_calls, due, requested, deferred, fetched, missing, lost, adopted) \
     VALUES ($1, $2, $3, $4, $5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) RETURNING id";

const FINISH: &str = "UPDATE sweeps SET finished_at = $2, complete = $3, listed = $4, \
     new_attempts = $5, unreadable = $6, api_calls = $7, due = $8, requested = $9, deferred = $10, \
     fetched = $11, missing = $12, lost = $13, adopted = $14, error = $15, ending = $16 \
     WHERE id = $1";

const OF_ALL: &str = "SELECT id, hook, started_by, dry_run, started_at, finished_at, complete, \
     listed, new_attempts, unreadable, api_calls, due, requested, deferred, fetched, missing, lost, \
     adopted, error, ending FROM sweeps ORDER BY id DESC LIMIT $1";

const OF_HOOK: &str = "SELECT id, hook, started_by, dry_run, started_at, finished_at, complete, \
     listed, new_attempts, unreadable, api_calls, due, requested, deferred, fetched, missing, lost, \
     adopted, error, ending FROM sweeps WHERE hook = $2 ORDER BY id DESC LIMIT $1";

impl Store {
    /// Opens the row of a sweep and returns its id. Fenced.
    pub async fn begin_sweep(
        &self,
        lease: &Lease,
        trigger: &str,
        dry_run: bool,
        now: DateTime<Utc>,
    ) -> Result<i64> {
        Ok(in_write!(self.backend(), |tx| {
            fence!(tx, lease);
            sqlx::query_scalar(BEGIN)
                .bind(lease.hook.as_str())
                .bind(trigger)
                .bind(dry_run)
                .bind(now)
                .bind(false)
                .fetch_one(&mut *tx)
                .await?
        }))
    }

    /// Completes the row of a sweep with its numbers.
    pub async fn finish_sweep(
        &self,
        id: i64,
        numbers: &SweepNumbers,
        now: DateTime<Utc>,
    ) -> Result<()> {
        in_write!(self.backend(), |tx| {
            let finished = sqlx::query(FINISH)
                .bind(id)
                .bind(now)
                .bind(numbers.complete)
                .bind(i64::from(numbers.listed))
                .bind(i64::from(numbers.new_attempts))
                .bind(i64::from(numbers.unreadable))
                .bind(i64::from(numbers.api_calls))
                .bind(i64::from(numbers.due))
                .bind(i64::from(numbers.requested))
                .bind(i64::from(numbers.deferred))
                .bind(i64::from(numbers.fetched))
                .bind(i64::from(numbers.missing))
                .bind(i64::from(numbers.lost))
                .bind(i64::from(numbers.adopted))
                .bind(numbers.error.as_deref().map(text))
                .bind(numbers.ending.as_deref())
                .execute(&mut *tx)
                .await?;
            if finished.rows_affected() == 0 {
                return Err(inconsistent("sweeps", "a sweep that never began"));
            }
        });
        Ok(())
    }

    /// The newest sweeps of a hook (`None`: of all), newest first.
    pub async fn sweeps(&self, hook: Option<&HookName>, limit: u32) -> Result<Vec<SweepRow>> {
        let limit = i64::from(limit);
        let rows: Vec<Row> = on!(self.backend(), |db| match hook {
            Some(hook) => {
                sqlx::query_as(OF_HOOK).bind(limit).bind(hook.as_str()).fetch_all(db).await?
            }
            None => sqlx::query_as(OF_ALL).bind(limit).fetch_all(db).await?,
        });
        rows.into_iter().map(sweep).collect()
    }
}

fn sweep(row: Row) -> Result<SweepRow> {
    const TABLE: &str = "sweeps";
    Ok(SweepRow {
        id: row.id,
        hook: rows::hook(TABLE, &row.hook)?,
        trigger: row.started_by,
        dry_run: row.dry_run,
        started_at: row.started_at,
        finished_at: row.finished_at,
        numbers: SweepNumbers {
            complete: row.complete,
            listed: count(TABLE, "listed", row.listed)?,
            new_attempts: count(TABLE, "new_attempts", row.new_attempts)?,
            unreadable: count(TABLE, "unreadable", row.unreadable)?,
            api_calls: count(TABLE, "api_calls", row.api_calls)?,
            due: count(TABLE, "due", row.due)?,
            requested: count(TABLE, "requested", row.requested)?,
            deferred: count(TABLE, "deferred", row.deferred)?,
            fetched: count(TABLE, "fetched", row.fetched)?,
            missing: count(TABLE, "missing", row.missing)?,
            lost: count(TABLE, "lost", row.lost)?,
            adopted: count(TABLE, "adopted", row.adopted)?,
            error: row.error,
            ending: row.ending,
        },
    })
}
