//! What `status` and `list --missing` take when the history is long and little is open.
//! `STATUS_DELIVERIES` sets the length of the history.
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on fails")]

#[path = "support/mod.rs"]
mod support;

use std::{env, process::Command, time::Instant};

use redeliverd::{
    clock::{Clock, SystemClock},
    config::{self, Env},
    report::{self, ListQuery},
    store::Store,
};
use sqlx::{
    Connection, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use support::{Daemon, line, median, usage};

/// Deliveries that are open: failed, never arrived, due.
const OPEN: u32 = 300;

/// Calls of each kind; the median counts.
const ROUNDS: usize = 30;

#[tokio::main]
async fn main() {
    let history = env::var("STATUS_DELIVERIES").map_or(1_000_000, |text| text.parse().unwrap());
    let daemon = Daemon::configure("http://127.0.0.1:9");
    let file = daemon.dir.path().join("redeliverd.toml");
    let loaded = config::load(Some(&file), &Env::default()).unwrap();
    let config = loaded.config;
    Store::open(&config.database).await.unwrap().close().await;
    let built = Instant::now();
    fill(&daemon, history).await;
    let bytes = std::fs::metadata(daemon.database()).unwrap().len();
    line(
        "status, the history",
        &format!(
            "{history} deliveries, {OPEN} of them open; {} MB of SQLite, built in {:.0} s",
            bytes / 1_000_000,
            built.elapsed().as_secs_f64()
        ),
    );

    let store = Store::open(&config.database).await.unwrap();
    let now = SystemClock.now();
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let status = report::status(&store, &config, now).await.unwrap();
        times.push(started.elapsed().as_secs_f64() * 1e3);
        assert_eq!(status.hooks[0].missing.failed, u64::from(OPEN));
    }
    tell("status, in the daemon", &times);
    for limit in [50, OPEN as usize] {
        let query = ListQuery { missing: true, limit, ..ListQuery::default() };
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let started = Instant::now();
            let list = report::list(&store, &config, &query, now).await.unwrap();
            times.push(started.elapsed().as_secs_f64() * 1e3);
            assert_eq!(list.deliveries.len(), limit);
        }
        tell(&format!("list --missing, {limit} of them"), &times);
    }
    let query = ListQuery { limit: 50, ..ListQuery::default() };
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        report::list(&store, &config, &query, now).await.unwrap();
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    tell("list, the newest 50", &times);
    store.close().await;

    for command in [&["status", "--json"][..], &["list", "--missing", "--json"]] {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let started = Instant::now();
            let run =
                Command::new(support::binary()).arg("--config").arg(&file).args(command).output();
            times.push(started.elapsed().as_secs_f64() * 1e3);
            assert!(!run.unwrap().stdout.is_empty());
        }
        tell(&format!("`{}`, whole process", command.join(" ")), &times);
    }
    line(
        "",
        &format!("memory of the bench: {} MB at most", usage(std::process::id()).peak_kib / 1024),
    );
}

fn tell(what: &str, times: &[f64]) {
    let worst = times.iter().copied().fold(0.0, f64::max);
    line(
        what,
        &format!("first {:.1} ms, median {:.1} ms, worst {worst:.1} ms", times[0], median(times)),
    );
}

/// Straight into the tables: one event a second back from now, each with one attempt and, unless it
/// is open, a receipt. The open ones are spread over the last day and over all GUIDs.
async fn fill(daemon: &Daemon, history: u32) {
    let options = SqliteConnectOptions::new()
        .filename(daemon.database())
        .journal_mode(SqliteJournalMode::Off)
        .synchronous(SqliteSynchronous::Off)
        .pragma("cache_size", "-1000000");
    let mut db = SqliteConnection::connect_with(&options).await.unwrap();
    let indexes: Vec<(String, String)> = sqlx::query_as(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL \
         AND tbl_name IN ('deliveries', 'attempts', 'receipts')",
    )
    .fetch_all(&mut db)
    .await
    .unwrap();
    let mut statements = vec![
        "BEGIN".to_owned(),
        // In the order of the GUIDs, so that the keys are built by appending.
        "CREATE TEMP TABLE events (guid TEXT PRIMARY KEY, at TEXT, nth INTEGER) WITHOUT ROWID"
            .to_owned(),
        format!(
            "WITH RECURSIVE counted (nth) AS (SELECT 0 UNION ALL SELECT nth + 1 FROM counted \
             WHERE nth + 1 < {history}) INSERT INTO events SELECT \
             lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-' || hex(randomblob(2)) \
             || '-' || hex(randomblob(2)) || '-' || hex(randomblob(6))), \
             strftime('%Y-%m-%dT%H:%M:%S.000000+00:00', 'now', '-' || (3600 + nth) || ' seconds'), \
             nth FROM counted"
        ),
        "INSERT INTO hooks (name, lease_token, recording_since, adopted_at) VALUES \
         ('demo', 0, '2000-01-01T00:00:00.000000+00:00', '2000-01-01T00:00:00.000000+00:00')"
            .to_owned(),
    ];
    statements.extend(indexes.iter().map(|(name, _)| format!("DROP INDEX {name}")));
    let open = format!("nth % (80000 / {OPEN}) = 0 AND nth < 80000 / {OPEN} * {OPEN}");
    statements.extend([
        format!(
            "INSERT INTO deliveries SELECT 'demo', guid, 'workflow_job', 'completed', 8, nth % 500, \
             at, at, 0, NULL, NULL, iif({open}, 'due', 'settled'), iif({open}, 'failed', 'received'), \
             at, iif({open}, at, NULL), iif({open}, 1, 0) FROM events ORDER BY guid"
        ),
        format!(
            "INSERT INTO attempts SELECT 'demo', (1000000000 - nth) * 2147483648, guid, at, 0, \
             iif({open}, 'Invalid HTTP Response: 502', 'OK'), iif({open}, 502, 200), at \
             FROM events ORDER BY nth DESC"
        ),
        format!(
            "INSERT INTO receipts (hook, guid, event, action, installation_id, repository_id, via, \
             received_at, wanted, arrivals, conflicts, headers, encoding, body, body_size, digest) \
             SELECT 'demo', guid, 'workflow_job', 'completed', 8, nth % 500, 'delivery', at, 1, 1, 0, \
             '[]', 1, NULL, 8192, randomblob(32) FROM events WHERE NOT ({open}) ORDER BY guid"
        ),
    ]);
    statements.extend(indexes.into_iter().map(|(_, sql)| sql));
    statements.push("COMMIT".to_owned());
    for statement in statements {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut db).await.unwrap();
    }
    db.close().await.unwrap();
}
