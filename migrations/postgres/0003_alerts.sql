-- What the daemon last found out about itself, so that commands can show it, and what each channel
-- was told, so that a restart does not say it twice. hook is empty where a condition is about the
-- whole daemon, since a key takes no NULL.

CREATE TABLE conditions (
    condition TEXT COLLATE "C" NOT NULL,
    hook      TEXT COLLATE "C" NOT NULL,
    state     TEXT NOT NULL,
    since     TIMESTAMPTZ NOT NULL,
    summary   TEXT NOT NULL,
    PRIMARY KEY (condition, hook)
);

-- One row per condition that a channel takes to hold.
CREATE TABLE said (
    channel   TEXT COLLATE "C" NOT NULL,
    condition TEXT COLLATE "C" NOT NULL,
    hook      TEXT COLLATE "C" NOT NULL,
    since     TIMESTAMPTZ NOT NULL,
    said_at   TIMESTAMPTZ NOT NULL,
    count     BIGINT NOT NULL,
    PRIMARY KEY (channel, condition, hook)
);

-- One row: which process watches and tells, until when, and when it last looked.
CREATE TABLE alert_watch (
    id         BIGINT NOT NULL PRIMARY KEY,
    owner      TEXT NOT NULL,
    until      TIMESTAMPTZ NOT NULL,
    checked_at TIMESTAMPTZ NOT NULL
);

-- How a sweep ended, in one word: an error's text is for people. NULL for sweeps before this.
ALTER TABLE sweeps ADD COLUMN ending TEXT;
