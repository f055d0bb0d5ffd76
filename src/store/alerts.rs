//! What was found out about the daemon's own state, and what each channel was told of it.

use chrono::{DateTime, Utc};

use super::{
    Result, Store,
    backend::{in_write, on},
    dialect::text,
    rows,
    types::{AttemptCount, ConditionRow, Conditions},
};
use crate::domain::{
    condition::{Condition, State, Subject},
    ids::HookName,
    notice::Said,
};

/// Takes or keeps the watch; changes nothing while somebody else holds it.
const WATCH: &str = "INSERT INTO alert_watch (id, owner, until, checked_at) VALUES (1, $1, $2, $3) \
     ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, until = excluded.until, \
     checked_at = excluded.checked_at \
     WHERE alert_watch.owner = excluded.owner OR alert_watch.until < excluded.checked_at";

const RELEASE: &str = "UPDATE alert_watch SET until = checked_at WHERE id = 1 AND owner = $1";

const CHECKED_AT: &str = "SELECT checked_at FROM alert_watch WHERE id = 1";

const FORGET_CONDITIONS: &str = "DELETE FROM conditions";

const SAVE_CONDITION: &str = "INSERT INTO conditions (condition, hook, state, since, summary) \
     VALUES ($1, $2, $3, $4, $5)";

const CONDITIONS: &str =
    "SELECT condition, hook, state, since, summary FROM conditions ORDER BY condition, hook";

const SAID: &str = "SELECT condition, hook, since, said_at, count FROM said WHERE channel = $1";

const SAY: &str = "INSERT INTO said (channel, condition, hook, since, said_at, count) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (channel, condition, hook) \
     DO UPDATE SET since = excluded.since, said_at = excluded.said_at, count = excluded.count";

const UNSAY: &str = "DELETE FROM said WHERE channel = $1 AND condition = $2 AND hook = $3";

/// Whether any attempt of a while succeeded: found at once while all is well.
const SUCCEEDED: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM (SELECT a.id FROM deliveries d \
     JOIN attempts a ON a.hook = d.hook AND a.guid = d.guid \
     WHERE d.hook = $1 AND d.last_attempt_at >= $2 AND a.delivered_at >= $2 \
     AND a.code BETWEEN 200 AND 299 LIMIT 1) AS one";

/// A code of null or 0 is not known yet.
const FAILED: &str = "SELECT CAST(COUNT(*) AS BIGINT) AS failed, MIN(a.delivered_at) AS since \
     FROM deliveries d JOIN attempts a ON a.hook = d.hook AND a.guid = d.guid \
     WHERE d.hook = $1 AND d.last_attempt_at >= $2 AND a.delivered_at >= $2 \
     AND a.code <> 0 AND NOT a.code BETWEEN 200 AND 299";

const NEWEST_CODE: &str = "SELECT a.code FROM deliveries d \
     JOIN attempts a ON a.hook = d.hook AND a.guid = d.guid \
     WHERE d.hook = $1 AND d.last_attempt_at >= $2 AND a.delivered_at >= $2 AND a.code <> 0 \
     ORDER BY a.delivered_at DESC, a.id DESC LIMIT 1";

const NEWEST_FIRST: &str = "SELECT first_attempt_at FROM deliveries WHERE hook = $1 ORDER BY first_attempt_at DESC LIMIT 1";

#[derive(sqlx::FromRow)]
struct Row {
    condition: String,
    hook: String,
    state: String,
    since: DateTime<Utc>,
    summary: String,
}

#[derive(sqlx::FromRow)]
struct SaidRow {
    condition: String,
    hook: String,
    since: DateTime<Utc>,
    said_at: DateTime<Utc>,
    count: i64,
}

#[derive(sqlx::FromRow)]
struct FailedRow {
    failed: i64,
    since: Option<DateTime<Utc>>,
}

impl Store {
    /// Takes the watch, or keeps it, until `until`, and notes that its holder looked `now`. `false`:
    /// another process holds it, and tells.
    pub async fn keep_watch(
        &self,
        owner: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<bool> {
        Ok(in_write!(self.backend(), |tx| {
            sqlx::query(WATCH)
                .bind(owner)
                .bind(until)
                .bind(now)
                .execute(&mut *tx)
                .await?
                .rows_affected()
                > 0
        }))
    }

    /// Lets another process take the watch at once.
    pub async fn release_watch(&self, owner: &str) -> Result<()> {
        in_write!(self.backend(), |tx| {
            sqlx::query(RELEASE).bind(owner).execute(&mut *tx).await?;
        });
        Ok(())
    }

    /// Replaces what is known about every condition.
    pub async fn save_conditions(&self, conditions: &[ConditionRow]) -> Result<()> {
        in_write!(self.backend(), |tx| {
            sqlx::query(FORGET_CONDITIONS).execute(&mut *tx).await?;
            for row in conditions {
                sqlx::query(SAVE_CONDITION)
                    .bind(row.subject.condition.as_str())
                    .bind(hook_word(&row.subject))
                    .bind(row.state.as_str())
                    .bind(row.since)
                    .bind(text(&row.summary))
                    .execute(&mut *tx)
                    .await?;
            }
        });
        Ok(())
    }

    /// What is known about every condition, in the order of their names.
    pub async fn conditions(&self) -> Result<Conditions> {
        let (checked_at, rows): (Option<DateTime<Utc>>, Vec<Row>) = on!(self.backend(), |db| (
            sqlx::query_scalar(CHECKED_AT).fetch_optional(db).await?,
            sqlx::query_as(CONDITIONS).fetch_all(db).await?,
        ));
        let rows = rows.into_iter().map(condition).collect::<Result<Vec<_>>>()?;
        Ok(Conditions { checked_at, rows })
    }

    /// What a channel takes to hold.
    pub async fn said(&self, channel: &str) -> Result<Vec<(Subject, Said)>> {
        let rows: Vec<SaidRow> =
            on!(self.backend(), |db| { sqlx::query_as(SAID).bind(channel).fetch_all(db).await? });
        rows.into_iter()
            .map(|row| {
                let subject = subject("said", &row.condition, &row.hook)?;
                let count = rows::size("said", "count", row.count)?;
                Ok((subject, Said { since: row.since, at: row.said_at, count }))
            })
            .collect()
    }

    /// Remembers what a channel was told; `None`: that it ended.
    pub async fn say(&self, channel: &str, subject: &Subject, said: Option<&Said>) -> Result<()> {
        let (condition, hook) = (subject.condition.as_str(), hook_word(subject));
        in_write!(self.backend(), |tx| {
            match said {
                Some(said) => {
                    sqlx::query(SAY)
                        .bind(channel)
                        .bind(condition)
                        .bind(hook)
                        .bind(said.since)
                        .bind(said.at)
                        .bind(i64::try_from(said.count).unwrap_or(i64::MAX))
                        .execute(&mut *tx)
                        .await?;
                }
                None => {
                    sqlx::query(UNSAY)
                        .bind(channel)
                        .bind(condition)
                        .bind(hook)
                        .execute(&mut *tx)
                        .await?;
                }
            }
        });
        Ok(())
    }

    /// How GitHub's attempts on a hook since then fared. The failed ones are counted only when none
    /// succeeded.
    pub async fn attempts_since(
        &self,
        hook: &HookName,
        since: DateTime<Utc>,
    ) -> Result<AttemptCount> {
        let hook = hook.as_str();
        let succeeded: i64 = on!(self.backend(), |db| {
            sqlx::query_scalar(SUCCEEDED).bind(hook).bind(since).fetch_one(db).await?
        });
        if succeeded > 0 {
            return Ok(AttemptCount { succeeded: true, ..AttemptCount::default() });
        }
        let (failed, newest): (FailedRow, Option<i64>) = on!(self.backend(), |db| (
            sqlx::query_as(FAILED).bind(hook).bind(since).fetch_one(db).await?,
            sqlx::query_scalar(NEWEST_CODE).bind(hook).bind(since).fetch_optional(db).await?,
        ));
        Ok(AttemptCount {
            succeeded: false,
            failed: rows::size("attempts", "the count", failed.failed)?,
            failing_since: failed.since,
            newest_code: newest.and_then(|code| i32::try_from(code).ok()),
        })
    }

    /// When GitHub first attempted the newest event of a hook; `None`: none is listed.
    pub async fn newest_first_attempt(&self, hook: &HookName) -> Result<Option<DateTime<Utc>>> {
        Ok(on!(self.backend(), |db| {
            sqlx::query_scalar(NEWEST_FIRST).bind(hook.as_str()).fetch_optional(db).await?
        }))
    }
}

fn hook_word(subject: &Subject) -> &str {
    subject.hook.as_ref().map_or("", HookName::as_str)
}

fn subject(table: &'static str, condition: &str, hook: &str) -> Result<Subject> {
    Ok(Subject {
        condition: rows::word(table, "condition", condition, Condition::from_word)?,
        hook: if hook.is_empty() { None } else { Some(rows::hook(table, hook)?) },
    })
}

fn condition(row: Row) -> Result<ConditionRow> {
    const TABLE: &str = "conditions";
    Ok(ConditionRow {
        subject: subject(TABLE, &row.condition, &row.hook)?,
        state: rows::word(TABLE, "state", &row.state, State::from_word)?,
        since: row.since,
        summary: row.summary,
    })
}
