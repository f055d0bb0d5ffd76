//! The statements that take events out of the inbox: one atomic statement each, so that two workers
//! never get the same event.
//!
//! SQLite has one writer, so a claim cannot meet another one. On PostgreSQL a claim skips the rows
//! that another one holds; this is the one difference between the two texts.

/// The words around a choice of rows. `$1` hook, `$2` most, `$3` owner, `$4` lease until, `$5` now.
macro_rules! claim {
    ($choose:expr, $lock:literal) => {
        concat!(
            "WITH ",
            $choose,
            $lock,
            ") UPDATE inbox SET state = 'processing', attempts = attempts + 1, \
             sends = sends + 1, token = token + 1, owner = $3, lease_until = $4, \
             hold_until = CASE WHEN attempts = 0 THEN $4 ELSE hold_until END, due_at = $5 \
             WHERE seq IN (SELECT seq FROM picked) AND state = 'waiting' \
             RETURNING seq, token, attempts, sends, order_key"
        )
    };
}

/// Whether nobody holds the event's key. An event holds its key from its arrival to the end of its
/// first lease; after that it may be repeated, but no other event waits for it.
macro_rules! free_key {
    () => {
        "(i.order_key IS NULL OR NOT EXISTS (SELECT 1 FROM inbox o WHERE o.hook = i.hook \
         AND o.order_key = i.order_key AND o.state IN ('waiting', 'processing') \
         AND o.seq <> i.seq AND ((o.state = 'processing' AND o.hold_until > $5) \
         OR (o.state = 'waiting' AND o.seq < i.seq AND (o.attempts = 0 OR o.hold_until > $5)))))"
    };
}

macro_rules! fresh {
    () => {
        "picked AS MATERIALIZED (SELECT seq FROM inbox WHERE hook = $1 AND state = 'waiting' \
         AND attempts = 0 ORDER BY seq LIMIT $2"
    };
}

macro_rules! retry {
    () => {
        "picked AS MATERIALIZED (SELECT seq FROM inbox WHERE hook = $1 AND state = 'waiting' \
         AND attempts > 0 AND due_at <= $5 ORDER BY due_at, seq LIMIT $2"
    };
}

/// Hops from key to key (`$6` is where to start) and looks at the oldest fresh event of each, so that
/// a long queue behind one key costs one look.
macro_rules! fresh_ordered {
    () => {
        concat!(
            "RECURSIVE keys (k, n) AS (SELECT (SELECT MIN(order_key) FROM inbox WHERE hook = $1 \
             AND state IN ('waiting', 'processing') AND order_key > $6), 1 UNION ALL \
             SELECT (SELECT MIN(order_key) FROM inbox WHERE hook = $1 \
             AND state IN ('waiting', 'processing') AND order_key > keys.k), n + 1 \
             FROM keys WHERE k IS NOT NULL AND n < 256), \
             heads AS MATERIALIZED (SELECT (SELECT seq FROM inbox WHERE hook = $1 AND order_key = keys.k \
             AND state IN ('waiting', 'processing') AND state = 'waiting' AND attempts = 0 \
             ORDER BY seq LIMIT 1) AS head FROM keys WHERE k IS NOT NULL), \
             loose AS MATERIALIZED (SELECT seq AS head FROM inbox WHERE hook = $1 AND order_key IS NULL \
             AND state IN ('waiting', 'processing') AND state = 'waiting' AND attempts = 0 \
             ORDER BY seq LIMIT $2), \
             picked AS MATERIALIZED (SELECT i.seq FROM inbox i WHERE i.seq IN \
             (SELECT head FROM heads UNION ALL SELECT head FROM loose) \
             AND i.state = 'waiting' AND i.attempts = 0 AND ",
            free_key!(),
            " ORDER BY i.seq LIMIT $2"
        )
    };
}

macro_rules! retry_ordered {
    () => {
        concat!(
            "picked AS MATERIALIZED (SELECT i.seq FROM inbox i WHERE i.hook = $1 \
             AND i.state = 'waiting' AND i.attempts > 0 AND i.due_at <= $5 AND ",
            free_key!(),
            " ORDER BY i.due_at, i.seq LIMIT $2"
        )
    };
}

/// Ends what its worker did not. `$1` hook, `$2` leases until then, `$3` most attempts, `$4` now.
macro_rules! expire {
    ($lock:literal) => {
        concat!(
            "WITH picked AS MATERIALIZED (SELECT seq FROM inbox WHERE hook = $1 \
             AND state = 'processing' AND lease_until <= $2 ORDER BY lease_until LIMIT 256",
            $lock,
            ") UPDATE inbox SET state = CASE WHEN attempts >= $3 THEN 'dead' ELSE 'waiting' END, \
             finished_at = CASE WHEN attempts >= $3 THEN $4 END, due_at = $4, lease_until = NULL, \
             last_error = 'the worker did not finish within its lease' \
             WHERE seq IN (SELECT seq FROM picked) AND state = 'processing' \
             RETURNING seq, token, sends, owner, state"
        )
    };
}

/// The texts of one database.
#[derive(Debug)]
pub(super) struct Texts {
    pub(super) expire: &'static str,
    pub(super) fresh: &'static str,
    pub(super) retry: &'static str,
    pub(super) fresh_ordered: &'static str,
    pub(super) retry_ordered: &'static str,
}

pub(super) const SQLITE: Texts = Texts {
    expire: expire!(""),
    fresh: claim!(fresh!(), ""),
    retry: claim!(retry!(), ""),
    fresh_ordered: claim!(fresh_ordered!(), ""),
    retry_ordered: claim!(retry_ordered!(), ""),
};

pub(super) const POSTGRES: Texts = Texts {
    expire: expire!(" FOR UPDATE SKIP LOCKED"),
    fresh: claim!(fresh!(), " FOR UPDATE SKIP LOCKED"),
    retry: claim!(retry!(), " FOR UPDATE SKIP LOCKED"),
    fresh_ordered: claim!(fresh_ordered!(), " FOR UPDATE OF i SKIP LOCKED"),
    retry_ordered: claim!(retry_ordered!(), " FOR UPDATE OF i SKIP LOCKED"),
};
