-- The way from a receipt to the application. A row stands for an event that is to be, or was,
-- handed over; it is written in the same transaction as its receipt, so that no event is known
-- and yet nobody's work. Rows are small and apart from the payloads, so that claims touch few pages.

CREATE TABLE inbox (
    seq         INTEGER NOT NULL PRIMARY KEY,  -- receipts.seq: the order of receipt
    hook        TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    attempts    INTEGER NOT NULL,              -- claims since it was last made waiting afresh
    sends       INTEGER NOT NULL,              -- claims ever
    replays     INTEGER NOT NULL,              -- hand-overs still owed after this one
    replayed    INTEGER NOT NULL,              -- whether an operator ever asked for a replay
    token       INTEGER NOT NULL,              -- grows with every claim: the fence
    owner       TEXT,
    order_key   INTEGER,                       -- the repository
    due_at      TEXT    NOT NULL,
    lease_until TEXT,
    hold_until  TEXT,                          -- how long it may hold its key
    last_error  TEXT,
    finished_at TEXT
) STRICT;

CREATE INDEX inbox_fresh ON inbox (hook, seq) WHERE state = 'waiting' AND attempts = 0;
CREATE INDEX inbox_retry ON inbox (hook, due_at, seq) WHERE state = 'waiting' AND attempts > 0;
CREATE INDEX inbox_lease ON inbox (hook, lease_until) WHERE state = 'processing';
CREATE INDEX inbox_dead ON inbox (hook, seq) WHERE state = 'dead';
-- Per key, what is not finished: who holds it, and who is next.
CREATE INDEX inbox_key ON inbox (hook, order_key, seq) WHERE state IN ('waiting', 'processing');

-- The history of hand-overs, for `show`. late = 1: the claim had been taken over, so the result
-- changed nothing.
CREATE TABLE handovers (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    seq         INTEGER NOT NULL,
    nth         INTEGER NOT NULL,
    token       INTEGER NOT NULL,
    owner       TEXT,
    started_at  TEXT,
    finished_at TEXT    NOT NULL,
    result      TEXT    NOT NULL,
    status_code INTEGER,
    detail      TEXT,
    late        INTEGER NOT NULL
) STRICT;

CREATE INDEX handovers_seq ON handovers (seq);

-- How many rows of the inbox are processed: nearly all, so that they are not counted each time.
CREATE TABLE inbox_tally (
    hook      TEXT    NOT NULL PRIMARY KEY,
    processed INTEGER NOT NULL
) STRICT;

-- Per repository, the newest event that the application took: older ones after it are late.
CREATE TABLE handed (
    hook          TEXT    NOT NULL,
    repository_id INTEGER NOT NULL,
    newest_at     TEXT    NOT NULL,
    PRIMARY KEY (hook, repository_id)
) STRICT;

-- Keys of receipts that retention removed, so that a later repetition is not taken for news.
CREATE TABLE tombstones (
    hook      TEXT NOT NULL,
    guid      TEXT NOT NULL,
    pruned_at TEXT NOT NULL,
    PRIMARY KEY (hook, guid)
) STRICT, WITHOUT ROWID;

CREATE INDEX tombstones_pruned ON tombstones (hook, pruned_at);

-- What retention looks for, oldest first.
CREATE INDEX receipts_payloads ON receipts (hook, received_at) WHERE body IS NOT NULL;
