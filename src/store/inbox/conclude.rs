//! The end of claims: states, history, tally and marks, in the transaction of the turn.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::types::Conclusion;
use crate::{
    domain::retry::{HandoverResult, HandoverState, Next},
    store::dialect::text,
};

pub(super) const CONCLUDE: &str =
    "WITH done (d_seq, d_token, d_state, d_due_at, d_error, d_at) AS (";

/// A processed event that is owed again goes back to waiting, as fresh as if it had just come.
pub(super) const CONCLUDED: &str = ") UPDATE inbox SET \
     state = CASE WHEN d_state = 'processed' AND replays > 0 THEN 'waiting' ELSE d_state END, \
     attempts = CASE WHEN d_state = 'processed' AND replays > 0 THEN 0 ELSE attempts END, \
     replays = CASE WHEN d_state = 'processed' AND replays > 0 THEN replays - 1 ELSE replays END, \
     finished_at = CASE WHEN d_state = 'waiting' OR (d_state = 'processed' AND replays > 0) \
     THEN NULL ELSE d_at END, due_at = d_due_at, last_error = d_error, lease_until = NULL \
     FROM done WHERE seq = d_seq AND token = d_token AND state = 'processing' \
     RETURNING seq, state";

pub(super) const TALLY: &str = "INSERT INTO inbox_tally (hook, processed) VALUES ($1, $2) \
     ON CONFLICT (hook) DO UPDATE SET processed = inbox_tally.processed + excluded.processed";

pub(super) const MARK: &str = "INSERT INTO handed (hook, repository_id, newest_at) ";

pub(super) const MARKED: &str = " ON CONFLICT (hook, repository_id) DO UPDATE SET newest_at = \
     CASE WHEN excluded.newest_at > handed.newest_at THEN excluded.newest_at \
     ELSE handed.newest_at END";

/// Ends claims as their conclusions say, within the transaction `tx`; puts those that were still held
/// into `held`.
macro_rules! conclude {
    ($tx:ident, $hook:expr, $owner:expr, $conclusions:expr, $held:ident) => {{
        let mut processed = 0_i64;
        for batch in batches($conclusions, ROWS) {
            let mut query = QueryBuilder::new(conclude::CONCLUDE);
            query.push_values(batch, |mut values, it| {
                let (state, due_at) = conclude::after(it);
                values
                    .push_bind(it.claimed.seq)
                    .push_bind(it.claimed.token)
                    .push_bind(state.as_str())
                    .push_bind(due_at)
                    .push_bind(conclude::error_of(it))
                    .push_bind(it.finished_at);
            });
            query.push(conclude::CONCLUDED);
            let rows: Vec<(i64, String)> = query.build_query_as().fetch_all(&mut *$tx).await?;
            for (seq, state) in rows {
                $held.insert(seq);
                processed += i64::from(state == HandoverState::Processed.as_str());
            }
        }
        for batch in batches($conclusions, ROWS) {
            let mut query = QueryBuilder::new(history::INSERT);
            query.push_values(batch, |mut values, it| {
                values
                    .push_bind(it.claimed.seq)
                    .push_bind(i64::from(it.claimed.nth))
                    .push_bind(it.claimed.token)
                    .push_bind($owner)
                    .push_bind(Some(it.started_at))
                    .push_bind(it.finished_at)
                    .push_bind(it.result.as_str())
                    .push_bind(it.status_code.map(i64::from))
                    .push_bind(it.detail.as_deref().map(text))
                    .push_bind(!$held.contains(&it.claimed.seq));
            });
            query.build().execute(&mut *$tx).await?;
        }
        if processed > 0 {
            sqlx::query(conclude::TALLY)
                .bind($hook.as_str())
                .bind(processed)
                .execute(&mut *$tx)
                .await?;
        }
        for batch in batches(&conclude::marks($conclusions), ROWS) {
            let mut query = QueryBuilder::new(conclude::MARK);
            query.push_values(batch, |mut values, (repository, at)| {
                values.push_bind($hook.as_str()).push_bind(*repository).push_bind(*at);
            });
            query.push(conclude::MARKED);
            query.build().execute(&mut *$tx).await?;
        }
    }};
}

pub(super) use conclude;

/// The state that follows, and from when on it is due.
pub(super) fn after(conclusion: &Conclusion) -> (HandoverState, DateTime<Utc>) {
    match conclusion.next {
        Next::Done => (HandoverState::Processed, conclusion.finished_at),
        Next::Again { due_at } => (HandoverState::Waiting, due_at),
        Next::Dead => (HandoverState::Dead, conclusion.finished_at),
    }
}

/// One line about what went wrong; `None`: nothing did.
pub(super) fn error_of(conclusion: &Conclusion) -> Option<String> {
    if conclusion.result == HandoverResult::Processed {
        return None;
    }
    let status = conclusion.status_code.map(|code| format!("{code} ")).unwrap_or_default();
    let word = conclusion.result.as_str();
    let detail = conclusion.detail.as_deref().map(|words| format!(": {words}")).unwrap_or_default();
    Some(text(&format!("{status}{word}{detail}")))
}

/// The newest processed event of each repository, in the order of the key.
pub(super) fn marks(conclusions: &[&Conclusion]) -> Vec<(i64, DateTime<Utc>)> {
    let mut newest: BTreeMap<i64, DateTime<Utc>> = BTreeMap::new();
    for it in conclusions.iter().filter(|it| it.result == HandoverResult::Processed) {
        if let Some((repository, at)) = it.mark {
            newest.entry(repository).and_modify(|known| *known = at.max(*known)).or_insert(at);
        }
    }
    newest.into_iter().collect()
}
