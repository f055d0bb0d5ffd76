//! Hand-overs of the past, for `show`.

use chrono::{DateTime, Utc};

use super::types::HandoverRow;
use crate::{
    domain::{
        ids::{Guid, HookName},
        retry::HandoverResult,
    },
    store::{
        Result, Store,
        backend::on,
        rows::{count, word},
    },
};

pub(super) const INSERT: &str = "INSERT INTO handovers \
     (seq, nth, token, owner, started_at, finished_at, result, status_code, detail, late) ";

const OF_ONE: &str = "SELECT h.nth, h.owner, h.started_at, h.finished_at, h.result, \
     h.status_code, h.detail, h.late FROM handovers h JOIN receipts r ON r.seq = h.seq \
     WHERE r.hook = $1 AND r.guid = $2 ORDER BY h.id";

#[derive(sqlx::FromRow)]
struct Row {
    nth: i64,
    owner: Option<String>,
    started_at: Option<DateTime<Utc>>,
    finished_at: DateTime<Utc>,
    result: String,
    status_code: Option<i64>,
    detail: Option<String>,
    late: bool,
}

impl Store {
    /// Every hand-over of one event, oldest first.
    pub async fn handovers(&self, hook: &HookName, guid: &Guid) -> Result<Vec<HandoverRow>> {
        let rows: Vec<Row> = on!(self.backend(), |db| {
            sqlx::query_as(OF_ONE).bind(hook.as_str()).bind(guid.as_str()).fetch_all(db).await?
        });
        rows.into_iter().map(handover).collect()
    }
}

fn handover(row: Row) -> Result<HandoverRow> {
    Ok(HandoverRow {
        nth: count("handovers", "nth", row.nth)?,
        owner: row.owner,
        started_at: row.started_at,
        finished_at: row.finished_at,
        result: word("handovers", "result", &row.result, HandoverResult::from_word)?,
        status_code: row.status_code.and_then(|code| u16::try_from(code).ok()),
        detail: row.detail,
        late: row.late,
    })
}
