//! Group commit: one task writes every arrival, and all that wait share one commit and its sync.

use std::{
    collections::{HashMap, HashSet},
    error::Error,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use sqlx::{Connection as _, QueryBuilder};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
};

use super::{
    Result, StoreError,
    backend::{Backend, in_write},
    batches,
    dialect::SQLITE_BEGIN,
    error::inconsistent,
    inbox::{Entry, enqueue},
    pack::Packed,
    types::Recorded,
};
use crate::pulse::Pulse;

/// Arrivals in one commit, at most.
const BATCH: usize = 256;

/// Rows in one statement, at most; a power of two.
const ROWS: usize = 64;

/// Arrivals that wait for the task. Those beyond it wait at the sender.
const QUEUE: usize = 1024;

const INSERT: &str = "INSERT INTO receipts (hook, guid, event, action, installation_id, \
     repository_id, via, received_at, wanted, arrivals, conflicts, headers, encoding, body, \
     body_size, digest) ";

const KEEP_FIRST: &str = " ON CONFLICT (hook, guid) DO NOTHING";

const RETURNING: &str = " RETURNING seq, hook, guid";

/// The statement that inserts `(place, row)` pairs and leaves alone what is known.
macro_rules! insert {
    ($rows:expr) => {{
        let mut insert = QueryBuilder::new(INSERT);
        insert.push_values($rows, |mut values, (_, row)| {
            values
                .push_bind(row.hook.as_str())
                .push_bind(row.guid.as_str())
                .push_bind(row.event.as_str())
                .push_bind(row.action.as_deref())
                .push_bind(row.installation_id)
                .push_bind(row.repository_id)
                .push_bind(row.via)
                .push_bind(row.received_at)
                .push_bind(row.wanted)
                .push("1, 0")
                .push_bind(row.headers.as_str())
                .push_bind(row.encoding)
                .push_bind(row.body.as_slice())
                .push_bind(row.body_size)
                .push_bind(row.digest.as_slice());
        });
        insert.push(KEEP_FIRST);
        insert
    }};
}

/// What was read through the API is JSON serialised anew, so its bytes differ from those sent without
/// being in conflict with them.
const COUNT: &str = "UPDATE receipts SET arrivals = arrivals + 1, \
     conflicts = conflicts + CASE WHEN digest = $3 OR via = 'api' OR $4 = 'api' THEN 0 ELSE 1 END \
     WHERE hook = $1 AND guid = $2 \
     RETURNING CAST(CASE WHEN digest = $3 OR via = 'api' OR $4 = 'api' THEN 0 ELSE 1 END AS BIGINT), \
     seq, wanted";

/// Brings bytes to a receipt that has none: an application reported it (then it never had headers), or
/// retention removed them. It stays what it was; it can be handed over again now.
const FILL: &str = "UPDATE receipts SET headers = $3, encoding = $4, body = $5, body_size = $6, \
     digest = $7 WHERE hook = $1 AND guid = $2 \
     AND ((body_size = 0 AND headers = '[]') OR (body IS NULL AND digest = $7))";

const WANT: &str = "UPDATE receipts SET wanted = TRUE WHERE seq = $1";

enum Message {
    Record(Box<Packed>, oneshot::Sender<Result<Recorded>>),
    Close,
}

/// The task and the way to it. It ends when it is told to, or when the last store handle is gone.
#[derive(Debug)]
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
    committed: Arc<AtomicBool>,
    pulse: Pulse,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(super) fn start(backend: Backend, arrivals: watch::Sender<u64>) -> Self {
        let (queue, messages) = mpsc::channel(QUEUE);
        let committed = Arc::new(AtomicBool::new(true));
        let pulse = Pulse::default();
        let marks = pulse.clone();
        let task = tokio::spawn(run(backend, messages, Arc::clone(&committed), arrivals, marks));
        Self { queue, committed, pulse, task: Mutex::new(Some(task)) }
    }

    /// Marked before and after every commit.
    pub(super) fn pulse(&self) -> Pulse {
        self.pulse.clone()
    }

    /// Queues one arrival and waits for its commit. Once queued it is written, whether or not
    /// anybody still waits.
    pub(super) async fn record(&self, packed: Packed) -> Result<Recorded> {
        let closed = || StoreError::Unavailable("the store is closed".into());
        let (answer, committed) = oneshot::channel();
        self.queue.send(Message::Record(Box::new(packed), answer)).await.map_err(|_| closed())?;
        committed.await.map_err(|_| closed())?
    }

    /// Whether the last commit worked and there is a task for the next one.
    pub(super) fn committed(&self) -> bool {
        !self.has_ended() && self.committed.load(Ordering::Relaxed)
    }

    /// Whether the task is gone, told to or not: nothing will be recorded again.
    pub(super) fn has_ended(&self) -> bool {
        self.queue.is_closed()
    }

    /// Until the task is gone.
    pub(super) async fn ended(&self) {
        self.queue.closed().await;
    }

    /// Writes what is queued, then ends the task.
    pub(super) async fn close(&self) {
        let _ = self.queue.send(Message::Close).await;
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            let _ = task.await;
        }
    }
}

async fn run(
    backend: Backend,
    mut messages: mpsc::Receiver<Message>,
    committed: Arc<AtomicBool>,
    arrivals: watch::Sender<u64>,
    pulse: Pulse,
) {
    let mut received = Vec::with_capacity(BATCH);
    while messages.recv_many(&mut received, BATCH).await > 0 {
        let (mut rows, mut answers) = (Vec::new(), Vec::new());
        for message in received.drain(..) {
            match message {
                Message::Record(row, answer) => {
                    rows.push(row);
                    answers.push(answer);
                }
                // What is queued already is still read; then the channel is empty and the loop ends.
                Message::Close => messages.close(),
            }
        }
        let forwarded = rows.iter().any(|row| row.forward);
        pulse.working();
        let results = write(&backend, &rows, &committed).await;
        pulse.waiting();
        for (result, answer) in results.into_iter().zip(answers) {
            // Nobody waits when the client hung up; the row is committed all the same.
            let _ = answer.send(result);
        }
        if forwarded {
            arrivals.send_modify(|count| *count = count.wrapping_add(1));
        }
    }
}

/// Writes rows in one commit. When a row, and not the database, is what is wrong, each gets its own
/// commit, so that one bad row never stops the others.
async fn write(
    backend: &Backend,
    rows: &[Box<Packed>],
    committed: &AtomicBool,
) -> Vec<Result<Recorded>> {
    if rows.is_empty() {
        return Vec::new();
    }
    let result = commit(backend, rows).await;
    committed.store(result.is_ok(), Ordering::Relaxed);
    match result {
        Ok(recorded) => recorded.into_iter().map(Ok).collect(),
        Err(StoreError::Unavailable(source)) => {
            let source: Arc<dyn Error + Send + Sync> = source.into();
            rows.iter().map(|_| Err(StoreError::Unavailable(Box::new(source.clone())))).collect()
        }
        Err(error) if rows.len() == 1 => vec![Err(error)],
        Err(_) => {
            let mut results = Vec::with_capacity(rows.len());
            for row in rows {
                let result = commit(backend, std::slice::from_ref(row)).await;
                committed.store(result.is_ok(), Ordering::Relaxed);
                results.push(result.and_then(|recorded| {
                    recorded.first().copied().ok_or_else(|| inconsistent("receipts", "no result"))
                }));
            }
            results
        }
    }
}

/// One transaction: new keys inserted in few statements, known ones counted one by one.
async fn commit(backend: &Backend, rows: &[Box<Packed>]) -> Result<Vec<Recorded>> {
    // In the order of the key, so that two PostgreSQL clients with common GUIDs never wait for each
    // other in a circle.
    let mut order: Vec<(usize, &Packed)> = rows.iter().map(Box::as_ref).enumerate().collect();
    order.sort_by_key(|(at, row)| (row.hook.as_str(), row.guid.as_str(), *at));
    let mut firsts = order.clone();
    firsts.dedup_by_key(|(_, row)| (row.hook.as_str(), row.guid.as_str()));

    let mut recorded = vec![Recorded::New; rows.len()];
    let plain = firsts.len() == rows.len() && !rows.iter().any(|row| row.forward);
    if plain && all_new(backend, &firsts).await? {
        return Ok(recorded);
    }
    in_write!(backend, |tx| {
        let mut known: HashSet<usize> = HashSet::new();
        let mut entries: Vec<Entry<'_>> = Vec::new();
        for batch in batches(&firsts, ROWS) {
            let mut insert = insert!(batch);
            insert.push(RETURNING);
            let new: Vec<(i64, String, String)> =
                insert.build_query_as().fetch_all(&mut *tx).await?;
            let new: HashMap<_, _> =
                new.iter().map(|(seq, h, g)| ((h.as_str(), g.as_str()), *seq)).collect();
            for (at, row) in batch {
                match new.get(&(row.hook.as_str(), row.guid.as_str())) {
                    None => _ = known.insert(*at),
                    Some(seq) if row.forward => entries.push(Entry { seq: *seq, row, at: *at }),
                    Some(_) => {}
                }
            }
        }
        let first: HashSet<usize> = firsts.iter().map(|(at, _)| *at).collect();
        for (at, row) in &order {
            if first.contains(at) && !known.contains(at) {
                continue;
            }
            if row.body_size > 0 {
                sqlx::query(FILL)
                    .bind(row.hook.as_str())
                    .bind(row.guid.as_str())
                    .bind(row.headers.as_str())
                    .bind(row.encoding)
                    .bind(row.body.as_slice())
                    .bind(row.body_size)
                    .bind(row.digest.as_slice())
                    .execute(&mut *tx)
                    .await?;
            }
            let known: Option<(i64, i64, bool)> = sqlx::query_as(COUNT)
                .bind(row.hook.as_str())
                .bind(row.guid.as_str())
                .bind(row.digest.as_slice())
                .bind(row.via)
                .fetch_optional(&mut *tx)
                .await?;
            let (conflict, seq, wanted) =
                known.ok_or_else(|| inconsistent("receipts", "a known row is gone"))?;
            if let Some(slot) = recorded.get_mut(*at) {
                *slot = if conflict == 0 { Recorded::Again } else { Recorded::Conflict };
            }
            if row.forward && !wanted {
                // The filter did not want it then, and does now.
                sqlx::query(WANT).bind(seq).execute(&mut *tx).await?;
                entries.push(Entry { seq, row, at: *at });
            }
        }
        enqueue!(tx, entries, recorded);
    });
    Ok(recorded)
}

/// The common case on SQLite, without asking which rows were new: all of them. `false`: some were known,
/// or it is another database, and nothing has been written. Rows that come back go from thread to
/// thread one by one, which costs as much as inserting them.
async fn all_new(backend: &Backend, rows: &[(usize, &Packed)]) -> Result<bool> {
    let Backend::Sqlite { write, file, .. } = backend else { return Ok(false) };
    let mut held = write.acquire().await?;
    let mut tx = held.begin_with(SQLITE_BEGIN).await?;
    for batch in batches(rows, ROWS) {
        let done = insert!(batch).build().execute(&mut *tx).await?;
        if usize::try_from(done.rows_affected()).ok() != Some(batch.len()) {
            tx.rollback().await?;
            return Ok(false);
        }
    }
    tx.commit().await?;
    file.check_in_place()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::{
        config::{Database, Migrate},
        store::Store,
    };

    #[tokio::test]
    async fn a_store_whose_writer_died_says_so_at_every_door() {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", directory.path().join("test.db").display());
        let settings = Database { url: url.into(), migrate: Migrate::Auto };
        let store = Store::open(&settings).await.unwrap();
        let now = chrono::DateTime::UNIX_EPOCH;
        assert!(store.records());
        store.check_writable(now).await.unwrap();
        assert!(timeout(Duration::ZERO, store.recording_ended()).await.is_err());

        // As a panic would end it.
        let task = store.inner.writer.task.lock().unwrap().take().unwrap();
        task.abort();
        store.recording_ended().await;
        assert!(!store.records());
        let refusal = store.check_writable(now).await.unwrap_err();
        assert!(matches!(refusal, StoreError::Unavailable(_)), "{refusal:?}");
    }
}
