//! What is remembered of a hook between sweeps: recording, adoption, listing, ramp.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    Result, Store,
    backend::{in_write, on},
    lease::fence,
    rows::{self, count},
    types::{HookMemory, Lease},
};
use crate::domain::{
    boundary::{Gap, Listing},
    clock_offset::ClockOffset,
    ids::{Guid, HookName},
    plan::{Down, Ramp},
};

#[derive(sqlx::FromRow)]
struct Row {
    recording_since: Option<DateTime<Utc>>,
    adopted_at: Option<DateTime<Utc>>,
    head_at: Option<DateTime<Utc>>,
    rechecked_at: Option<DateTime<Utc>>,
    complete_at: Option<DateTime<Utc>>,
    ramp_allowance: Option<i64>,
    ramp_last_batch_at: Option<DateTime<Utc>>,
    ramp_down_since: Option<DateTime<Utc>>,
    ramp_next_probe_at: Option<DateTime<Utc>>,
    ramp_pause_us: Option<i64>,
    rules_fingerprint: Option<String>,
    clock_offset_us: Option<i64>,
}

#[derive(sqlx::FromRow)]
struct GapRow {
    floor: DateTime<Utc>,
    ceiling: DateTime<Utc>,
    link: Option<String>,
}

const BEGIN_RECORDING: &str = "INSERT INTO hooks (name, recording_since, lease_token) \
     VALUES ($1, $2, 0) ON CONFLICT (name) DO UPDATE SET recording_since = \
     COALESCE(hooks.recording_since, excluded.recording_since)";

const HOOK: &str = "SELECT recording_since, adopted_at, head_at, rechecked_at, complete_at, \
     ramp_allowance, ramp_last_batch_at, ramp_down_since, ramp_next_probe_at, ramp_pause_us, \
     rules_fingerprint, clock_offset_us FROM hooks WHERE name = $1";

const GAPS: &str = "SELECT floor, ceiling, link FROM gaps WHERE hook = $1 ORDER BY nth";

const SAVE_RAMP: &str = "UPDATE hooks SET ramp_saved_at = $2, ramp_allowance = $3, \
     ramp_last_batch_at = $4, ramp_down_since = $5, ramp_next_probe_at = $6, ramp_pause_us = $7 \
     WHERE name = $1";

const SAVE_CLOCK_OFFSET: &str = "UPDATE hooks SET clock_offset_us = $2 WHERE name = $1";

/// Every hook that has left a trace, also one without a row in `hooks`. The recursive part hops from
/// name to name along the key, so it costs by the number of hooks and not of receipts.
const NAMES: &str = "WITH RECURSIVE hop (hook) AS ( \
     SELECT MIN(hook) FROM receipts UNION ALL \
     SELECT (SELECT MIN(r.hook) FROM receipts r WHERE r.hook > hop.hook) FROM hop \
     WHERE hop.hook IS NOT NULL) \
     SELECT name FROM hooks UNION SELECT hook FROM hop WHERE hook IS NOT NULL ORDER BY 1";

const KNOWS: &str = "SELECT CAST(COUNT(*) AS BIGINT) FROM ( \
     SELECT hook FROM deliveries WHERE hook = $1 AND guid = $2 UNION ALL \
     SELECT hook FROM receipts WHERE hook = $1 AND guid = $2) AS known";

impl Store {
    /// Notes that the receiver records for these hooks from `now` on; keeps an earlier moment.
    pub async fn begin_recording(&self, hooks: &[HookName], now: DateTime<Utc>) -> Result<()> {
        in_write!(self.backend(), |tx| {
            for hook in hooks {
                sqlx::query(BEGIN_RECORDING)
                    .bind(hook.as_str())
                    .bind(now)
                    .execute(&mut *tx)
                    .await?;
            }
        });
        Ok(())
    }

    /// Everything remembered about a hook; the default for one never seen.
    pub async fn hook(&self, hook: &HookName) -> Result<HookMemory> {
        let (row, gaps): (Option<Row>, Vec<GapRow>) = on!(self.backend(), |db| (
            sqlx::query_as(HOOK).bind(hook.as_str()).fetch_optional(db).await?,
            sqlx::query_as(GAPS).bind(hook.as_str()).fetch_all(db).await?,
        ));
        let Some(row) = row else { return Ok(HookMemory::default()) };
        Ok(HookMemory {
            ramp: ramp(&row)?,
            recording_since: row.recording_since,
            adopted_at: row.adopted_at,
            listing: Listing {
                head: row.head_at,
                gaps: gaps
                    .into_iter()
                    .map(|GapRow { floor, ceiling, link }| Gap { floor, ceiling, link })
                    .collect(),
                rechecked_at: row.rechecked_at,
                complete_at: row.complete_at,
            },
            rules_fingerprint: row.rules_fingerprint,
            clock_offset: row
                .clock_offset_us
                .map(|us| ClockOffset::new(TimeDelta::microseconds(us)))
                .unwrap_or_default(),
        })
    }

    /// Stores the ramp. Fenced by the lease.
    pub async fn save_ramp(&self, lease: &Lease, ramp: &Ramp, now: DateTime<Utc>) -> Result<()> {
        let down = ramp.down.as_ref();
        in_write!(self.backend(), |tx| {
            fence!(tx, lease);
            sqlx::query(SAVE_RAMP)
                .bind(lease.hook.as_str())
                .bind(now)
                .bind(i64::from(ramp.allowance))
                .bind(ramp.last_batch_at)
                .bind(down.map(|down| down.since))
                .bind(down.map(|down| down.next_probe_at))
                .bind(down.map(|down| down.pause.num_microseconds().unwrap_or(i64::MAX)))
                .execute(&mut *tx)
                .await?;
        });
        Ok(())
    }

    /// Stores what a sweep measured. Fenced by the lease.
    pub async fn save_clock_offset(&self, lease: &Lease, offset: ClockOffset) -> Result<()> {
        in_write!(self.backend(), |tx| {
            fence!(tx, lease);
            sqlx::query(SAVE_CLOCK_OFFSET)
                .bind(lease.hook.as_str())
                .bind(offset.get().num_microseconds().unwrap_or(i64::MAX))
                .execute(&mut *tx)
                .await?;
        });
        Ok(())
    }

    /// Which configured or stored hooks know this GUID, in the order of their names.
    pub async fn hooks_of(&self, guid: &Guid) -> Result<Vec<HookName>> {
        let mut knowing = Vec::new();
        for hook in self.hook_names().await? {
            let known: i64 = on!(self.backend(), |db| {
                sqlx::query_scalar(KNOWS)
                    .bind(hook.as_str())
                    .bind(guid.as_str())
                    .fetch_one(db)
                    .await?
            });
            if known > 0 {
                knowing.push(hook);
            }
        }
        Ok(knowing)
    }

    /// Every hook that has left a trace.
    pub(super) async fn hook_names(&self) -> Result<Vec<HookName>> {
        let names: Vec<String> =
            on!(self.backend(), |db| sqlx::query_scalar(NAMES).fetch_all(db).await?);
        names.iter().map(|name| rows::hook("hooks", name)).collect()
    }
}

fn ramp(row: &Row) -> Result<Option<Ramp>> {
    let Some(allowance) = row.ramp_allowance else { return Ok(None) };
    let down = match (row.ramp_down_since, row.ramp_next_probe_at, row.ramp_pause_us) {
        (Some(since), Some(next_probe_at), Some(pause)) => {
            Some(Down { since, next_probe_at, pause: TimeDelta::microseconds(pause) })
        }
        _ => None,
    };
    Ok(Some(Ramp {
        allowance: count("hooks", "ramp_allowance", allowance)?,
        last_batch_at: row.ramp_last_batch_at,
        down,
    }))
}
