//! How an event gets into the inbox: in the transaction that records it, so that no receipt exists
//! without its work.

use crate::store::pack::Packed;

/// One event for the inbox.
#[derive(Debug)]
pub(in crate::store) struct Entry<'a> {
    /// Its receipt.
    pub(in crate::store) seq: i64,
    /// The arrival that brought it.
    pub(in crate::store) row: &'a Packed,
    /// The arrival's place in its batch.
    pub(in crate::store) at: usize,
}

/// Which of these keys retention removed.
pub(in crate::store) const BURIED: &str =
    "SELECT hook, guid FROM tombstones WHERE (hook, guid) IN (";

pub(in crate::store) const ENTER: &str = "INSERT INTO inbox (seq, hook, state, attempts, sends, \
     replays, replayed, token, order_key, due_at, last_error, finished_at) ";

pub(in crate::store) const ENTERED: &str = " ON CONFLICT (seq) DO NOTHING";

/// Why a buried event is not handed over.
pub(in crate::store) const REPEATED: &str =
    "sent again after retention had removed it; `redeliverd replay` hands it over";

/// Puts entries into the inbox within the transaction `tx`: `enqueue!(tx, entries, recorded)`. What
/// repeats an event that retention removed is recorded as known, and not handed over.
macro_rules! enqueue {
    ($tx:ident, $entries:expr, $recorded:expr) => {
        for batch in $crate::store::batches(&$entries, ROWS) {
            let mut query = QueryBuilder::new($crate::store::inbox::BURIED);
            query.push_values(batch, |mut values, entry| {
                values.push_bind(entry.row.hook.as_str()).push_bind(entry.row.guid.as_str());
            });
            query.push(")");
            let buried: HashSet<(String, String)> =
                query.build_query_as().fetch_all(&mut *$tx).await?.into_iter().collect();
            let dead = |entry: &Entry<'_>| {
                !buried.is_empty()
                    && buried.contains(&(entry.row.hook.clone(), entry.row.guid.clone()))
            };
            let mut query = QueryBuilder::new($crate::store::inbox::ENTER);
            query.push_values(batch, |mut values, entry| {
                let buried = dead(entry);
                values
                    .push_bind(entry.seq)
                    .push_bind(entry.row.hook.as_str())
                    .push_bind(if buried { "discarded" } else { "waiting" })
                    .push("0, 0, 0")
                    .push_bind(false)
                    .push("0")
                    .push_bind(entry.row.repository_id)
                    .push_bind(entry.row.received_at)
                    .push_bind(buried.then_some($crate::store::inbox::REPEATED))
                    .push_bind(buried.then_some(entry.row.received_at));
            });
            query.push($crate::store::inbox::ENTERED);
            query.build().execute(&mut *$tx).await?;
            for entry in batch.iter().filter(|entry| dead(entry)) {
                if let Some(slot) = $recorded.get_mut(entry.at) {
                    *slot = Recorded::Again;
                }
            }
        }
    };
}

pub(in crate::store) use enqueue;
