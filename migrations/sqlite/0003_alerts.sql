-- What the daemon last found out about itself, so that commands can show it, and what each channel
-- was told, so that a restart does not say it twice. hook is empty where a condition is about the
-- whole daemon, since a key takes no NULL.

CREATE TABLE conditions (
    condition TEXT NOT NULL,
    hook      TEXT NOT NULL,
    state     TEXT NOT NULL,
    since     TEXT NOT NULL,
    summary   TEXT NOT NULL,
    PRIMARY KEY (condition, hook)
) STRICT;

-- One row per condition that a channel takes to hold.
CREATE TABLE said (
    channel   TEXT    NOT NULL,
    condition TEXT    NOT NULL,
    hook      TEXT    NOT NULL,
    since     TEXT    NOT NULL,
    said_at   TEXT    NOT NULL,
    count     INTEGER NOT NULL,
    PRIMARY KEY (channel, condition, hook)
) STRICT;

-- One row: which process watches and tells, until when, and when it last looked.
CREATE TABLE alert_watch (
    id         INTEGER NOT NULL PRIMARY KEY,
    owner      TEXT    NOT NULL,
    until      TEXT    NOT NULL,
    checked_at TEXT    NOT NULL
) STRICT;

-- How a sweep ended, in one word: an error's text is for people. NULL for sweeps before this.
ALTER TABLE sweeps ADD COLUMN ending TEXT;
