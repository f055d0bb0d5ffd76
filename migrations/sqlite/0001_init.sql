-- The first schema: what the receiver proves (receipts), what GitHub lists (deliveries, attempts),
-- what we asked for (redeliveries), and what a sweep remembers between two runs (hooks, gaps,
-- limits, sweeps). Times are RFC 3339 text written by the program, which sorts; SQL never asks for
-- the time. Every key starts with the hook, because hooks share GUIDs.

CREATE TABLE hooks (
    name               TEXT    NOT NULL PRIMARY KEY,
    recording_since    TEXT,
    adopted_at         TEXT,
    head_at            TEXT,
    rechecked_at       TEXT,
    complete_at        TEXT,
    ramp_saved_at      TEXT,
    ramp_allowance     INTEGER,
    ramp_last_batch_at TEXT,
    ramp_down_since    TEXT,
    ramp_next_probe_at TEXT,
    ramp_pause_us      INTEGER,
    rules_fingerprint  TEXT,
    lease_owner        TEXT,
    lease_token        INTEGER NOT NULL,
    lease_until        TEXT
) STRICT;

-- The unread holes of a hook's list, newest first by nth.
CREATE TABLE gaps (
    hook    TEXT    NOT NULL,
    nth     INTEGER NOT NULL,
    floor   TEXT    NOT NULL,
    ceiling TEXT    NOT NULL,
    link    TEXT,
    PRIMARY KEY (hook, nth)
) STRICT;

-- One row per event that GitHub listed. open = 0 once a verdict settled or excused it.
CREATE TABLE deliveries (
    hook             TEXT    NOT NULL,
    guid             TEXT    NOT NULL,
    event            TEXT    NOT NULL,
    action           TEXT,
    installation_id  INTEGER,
    repository_id    INTEGER,
    first_attempt_at TEXT    NOT NULL,
    last_attempt_at  TEXT    NOT NULL,
    asked_by_hand    INTEGER NOT NULL,
    dismissed_at     TEXT,
    dismissed_note   TEXT,
    verdict          TEXT,
    reason           TEXT,
    judged_at        TEXT,
    missing_since    TEXT,
    open             INTEGER NOT NULL,
    PRIMARY KEY (hook, guid)
) STRICT;

-- Sweeps and status walk what is open, however long the history is.
CREATE INDEX deliveries_open ON deliveries (hook, guid) WHERE open = 1;
-- `list` reads newest first.
CREATE INDEX deliveries_first ON deliveries (hook, first_attempt_at);
-- A rare event is found without reading the others. With the GUID, or SQLite would take the index above.
CREATE INDEX deliveries_event ON deliveries (hook, event, first_attempt_at, guid);
-- Changed rules reopen what is young enough to be asked for.
CREATE INDEX deliveries_last ON deliveries (hook, last_attempt_at);

-- One row per row of GitHub's list. A code may come later than the row.
CREATE TABLE attempts (
    hook         TEXT    NOT NULL,
    id           INTEGER NOT NULL,
    guid         TEXT    NOT NULL,
    delivered_at TEXT    NOT NULL,
    redelivery   INTEGER NOT NULL,
    status       TEXT    NOT NULL,
    code         INTEGER,
    listed_at    TEXT    NOT NULL,
    PRIMARY KEY (hook, id)
) STRICT;

CREATE INDEX attempts_guid ON attempts (hook, guid);

-- One row per request of ours, committed before it is sent.
CREATE TABLE redeliveries (
    hook         TEXT    NOT NULL,
    guid         TEXT    NOT NULL,
    nth          INTEGER NOT NULL,
    means        TEXT    NOT NULL,
    attempt_id   INTEGER NOT NULL,
    asked_at     TEXT    NOT NULL,
    probe        INTEGER NOT NULL,
    sweep_id     INTEGER,
    outcome      TEXT    NOT NULL,
    detail       TEXT,
    concluded_at TEXT,
    PRIMARY KEY (hook, guid, nth)
) STRICT;

CREATE INDEX redeliveries_asked ON redeliveries (hook, asked_at);

-- One row per event that arrived, with its bytes. encoding: 0 as sent, 1 zstd. body is NULL once
-- retention removed it. seq is the order of arrival and is never used twice.
CREATE TABLE receipts (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    hook            TEXT    NOT NULL,
    guid            TEXT    NOT NULL,
    event           TEXT    NOT NULL,
    action          TEXT,
    installation_id INTEGER,
    repository_id   INTEGER,
    via             TEXT    NOT NULL,
    received_at     TEXT    NOT NULL,
    wanted          INTEGER NOT NULL,
    arrivals        INTEGER NOT NULL,
    conflicts       INTEGER NOT NULL,
    headers         TEXT    NOT NULL,
    encoding        INTEGER NOT NULL,
    body            BLOB,
    body_size       INTEGER NOT NULL,
    digest          BLOB    NOT NULL,
    UNIQUE (hook, guid)
) STRICT;

CREATE INDEX receipts_received ON receipts (hook, received_at);

-- Until when a credential must not be used, for every process on this store.
CREATE TABLE limits (
    credential TEXT NOT NULL PRIMARY KEY,
    until      TEXT NOT NULL
) STRICT;

-- The history of sweeps; finished_at stays NULL for one that was killed.
CREATE TABLE sweeps (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    hook          TEXT    NOT NULL,
    started_by    TEXT    NOT NULL,
    dry_run       INTEGER NOT NULL,
    started_at    TEXT    NOT NULL,
    finished_at   TEXT,
    complete      INTEGER NOT NULL,
    listed        INTEGER NOT NULL,
    new_attempts  INTEGER NOT NULL,
    unreadable    INTEGER NOT NULL,
    api_calls     INTEGER NOT NULL,
    due           INTEGER NOT NULL,
    requested     INTEGER NOT NULL,
    deferred      INTEGER NOT NULL,
    fetched       INTEGER NOT NULL,
    missing       INTEGER NOT NULL,
    lost          INTEGER NOT NULL,
    adopted       INTEGER NOT NULL,
    error         TEXT
) STRICT;

CREATE INDEX sweeps_hook ON sweeps (hook, id);

-- One row that is rewritten to prove that a commit works.
CREATE TABLE write_proof (
    id INTEGER NOT NULL PRIMARY KEY,
    at TEXT    NOT NULL
) STRICT;
