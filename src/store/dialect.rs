//! Every place where SQLite and PostgreSQL need different words; all other SQL is one text for both.

/// SQLite: takes the write lock at once. A deferred transaction that reads first and writes later
/// fails with "locked" at once, whatever the busy time-out says.
pub(super) const SQLITE_BEGIN: &str = "BEGIN IMMEDIATE";

/// PostgreSQL: the default begin; its row locks do what is needed.
pub(super) const POSTGRES_BEGIN: &str = "BEGIN";

/// SQLite: `BEGIN IMMEDIATE` already keeps a second migrating process out.
pub(super) const SQLITE_MIGRATION_GUARD: &[&str] = &[];

/// PostgreSQL: one migrating process at a time, and not for ever. Both settings end with the
/// transaction, so nothing is left behind when the migration fails, the process dies or a pooler
/// hands the session on. The number is arbitrary; it only has to stay the same.
pub(super) const POSTGRES_MIGRATION_GUARD: &[&str] =
    &["SET LOCAL lock_timeout = '30s'", "SELECT pg_advisory_xact_lock(7238915604417)"];

/// SQLite: whether any migration was ever applied.
pub(super) const SQLITE_HAS_MIGRATIONS: &str =
    "SELECT COUNT(*) FROM sqlite_schema WHERE name = '_sqlx_migrations'";

/// PostgreSQL: whether any migration was ever applied.
pub(super) const POSTGRES_HAS_MIGRATIONS: &str = "SELECT CAST(COUNT(*) AS BIGINT) \
     FROM (SELECT to_regclass('_sqlx_migrations') AS name) AS found WHERE name IS NOT NULL";

/// SQLite: bytes of the main file; the WAL is added by the caller, who knows its path.
pub(super) const SQLITE_SIZE: &str =
    "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";

/// SQLite: copies the write-ahead log into the main file and cuts it off.
pub(super) const SQLITE_CHECKPOINT: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// PostgreSQL: bytes of the whole database.
pub(super) const POSTGRES_SIZE: &str = "SELECT pg_database_size(current_database())";

/// PostgreSQL's `TEXT` cannot hold NUL. GitHub's texts and an operator's notes may contain it, and
/// must never fail a statement, so both databases store the replacement character.
pub(super) fn text(value: &str) -> String {
    value.replace('\0', "\u{fffd}")
}
