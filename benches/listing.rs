//! Rows per second from GitHub's list into SQLite: pages of a hundred straight into the store, and
//! whole first sweeps against the simulated GitHub; and what memory a longer list costs.
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on fails")]

#[path = "support/mod.rs"]
mod support;

use std::{
    env,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{DateTime, TimeDelta, Utc};
use redeliverd::{
    clock::{Clock, ManualClock, SharedClock, SystemClock},
    config::{self, Config, Database, Env, Migrate},
    domain::{
        attempt::Attempt,
        boundary::Listing,
        ids::{AttemptId, EventName, Guid, HookName},
    },
    github::{Client, Listed},
    sandbox::{
        github::{Backfill, Settings as GithubSettings, SimulatedGithub, World, events::Generator},
        story::write_app,
    },
    store::{
        Store,
        types::{Acquired, Lease},
    },
    sweeper::{Request, Settings, Sweep, Sweeper, Trigger},
    telemetry::Metrics,
};
use support::{line, scratch, usage};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

const PAGE: usize = 100;

fn main() {
    let mut args = env::args().skip(1);
    let first = args.next().unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    match (first.as_str(), args.next()) {
        ("pages", Some(rows)) => runtime.block_on(pages(rows.parse().unwrap())),
        ("sweep", Some(rows)) => runtime.block_on(sweep(rows.parse().unwrap())),
        // Each figure from a process of its own, so that the peaks of memory are its own.
        _ => {
            for (kind, rows) in
                [("pages", 10_000), ("pages", 100_000), ("sweep", 10_000), ("sweep", 100_000)]
            {
                let mut child = Command::new(env::current_exe().unwrap());
                assert!(child.args([kind, &rows.to_string()]).status().unwrap().success());
            }
        }
    }
}

fn start() -> DateTime<Utc> {
    "2026-11-30T12:00:00Z".parse().unwrap()
}

/// Rows as GitHub lists them, newest first, a second apart, each an event of its own.
fn page(nth: usize, of: usize) -> Vec<Listed> {
    let event = EventName::new("workflow_job").unwrap();
    (0..PAGE)
        .map(|row| {
            let place = i64::try_from(of - nth * PAGE - row).unwrap();
            Listed {
                guid: Guid::new(&Uuid::new_v4().to_string()).unwrap(),
                event: event.clone(),
                action: Some("completed".to_owned()),
                installation_id: Some(8),
                repository_id: Some(80 + place % 50),
                attempt: Attempt {
                    id: AttemptId::try_from(place << 31).unwrap(),
                    delivered_at: start() - TimeDelta::days(3) + TimeDelta::seconds(place),
                    redelivery: false,
                    status: "OK".to_owned(),
                    code: Some(200),
                },
            }
        })
        .collect()
}

async fn open(dir: &tempfile::TempDir) -> Store {
    let url = format!("sqlite:{}", dir.path().join("redeliverd.db").display());
    Store::open(&Database { url: url.into(), migrate: Migrate::Auto }).await.unwrap()
}

async fn lease(store: &Store, hook: &HookName) -> Lease {
    let until = start() + TimeDelta::days(1);
    match store.acquire(hook, "bench", start(), until).await.unwrap() {
        Acquired::Held(lease) => lease,
        Acquired::Busy { .. } => unreachable!("nobody else is here"),
    }
}

/// Only the store: each page in its own transaction, as a sweep saves it.
async fn pages(rows: usize) {
    let dir = scratch();
    let store = open(&dir).await;
    let lease = lease(&store, &HookName::new("ci").unwrap()).await;
    let before = usage(std::process::id());
    let mut saving = Duration::ZERO;
    for nth in 0..rows / PAGE {
        let page = page(nth, rows);
        let started = Instant::now();
        store.save_page(&lease, &page, &Listing::default(), start(), start()).await.unwrap();
        saving += started.elapsed();
    }
    let after = usage(std::process::id());
    store.close().await;
    report("store alone", rows, saving, before.rss_kib, after.peak_kib);
    line(
        "",
        &format!("CPU {:.0} % of the time", share(after.cpu.saturating_sub(before.cpu), saving)),
    );
}

/// A first sweep: the client, JSON, paging, the store and the judge, against a GitHub in a process
/// of its own would be fairer still; here both share two cores, which the shares of CPU tell.
async fn sweep(rows: usize) {
    let dir = scratch();
    let clock: SharedClock = Arc::new(ManualClock::new(SystemClock.now()));
    let world = World::new(Arc::clone(&clock), GithubSettings::cloud()).unwrap();
    let app = write_app(dir.path(), "http://127.0.0.1:9/webhook".to_owned()).unwrap();
    let hook = world.add_hook(app.setup);
    let github =
        SimulatedGithub::start(world.clone(), TcpListener::bind("127.0.0.1:0").await.unwrap())
            .unwrap();
    let event = Arc::new(Generator::new(7).of("push", None).unwrap());
    let now = clock.now();
    let history = (0..i64::try_from(rows).unwrap())
        .rev()
        .map(|nth| Backfill::new(&event, now - TimeDelta::seconds(60 + nth), 200));
    world.backfill(hook, history);
    let text =
        format!("{}api_url = \"{}\"\n[sweep]\nmax_pages = 100000\n", app.entry, github.base_url);
    let config: Config = config::from_str(&text, dir.path(), &Env::default()).unwrap().config;
    let store = open(&dir).await;
    let configured = config.hooks[0].clone();
    let client = Client::new(&configured.api, Arc::clone(&clock)).unwrap();
    let sweeper = Sweeper::new(
        Settings::new(configured, config.sweep.clone()),
        store.clone(),
        client,
        clock,
        Arc::new(Metrics::default()),
        "bench".to_owned(),
    );
    let before = usage(std::process::id());
    let started = Instant::now();
    let request = Request::new(Trigger::Startup);
    let swept = sweeper.sweep(&request, &CancellationToken::new()).await.unwrap();
    let took = started.elapsed();
    let after = usage(std::process::id());
    let Sweep::Done(done) = swept else { unreachable!("nobody else sweeps") };
    assert_eq!((done.listed as usize, done.complete), (rows, true), "{:?}", done.error);
    store.close().await;
    report("whole sweep", rows, took, before.rss_kib, after.peak_kib);
    line(
        "",
        &format!(
            "{} calls, CPU {:.0} % of one core, the simulated GitHub's included",
            done.api_calls,
            share(after.cpu.saturating_sub(before.cpu), took)
        ),
    );
}

fn share(cpu: Duration, of: Duration) -> f64 {
    cpu.as_secs_f64() / of.as_secs_f64() * 100.0
}

fn report(what: &str, rows: usize, took: Duration, before_kib: u64, peak_kib: u64) {
    #[expect(clippy::cast_precision_loss, reason = "a count of rows")]
    let rate = rows as f64 / took.as_secs_f64();
    line(
        &format!("listing, {what}"),
        &format!(
            "{rows:>6} rows in {:.2} s: {rate:.0} rows/s; memory {} MB before, {} MB at most",
            took.as_secs_f64(),
            before_kib / 1024,
            peak_kib / 1024
        ),
    );
}
