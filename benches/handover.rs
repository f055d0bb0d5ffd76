//! Handing over to a local application that answers at once: alone, beside intake, out of a deep
//! backlog, and with an application that is slow. Ratios within one run, never a timed test.
//!
//! `cargo bench --bench handover`; `EVENTS=100000` for the deep backlog of the requirements.

#![expect(clippy::expect_used, reason = "a benchmark that cannot run says why and stops")]

use std::{
    io::Write,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{Router, extract::State, http::StatusCode};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use redeliverd::{
    clock::{Clock, SystemClock},
    config::{self, Config, Database, Env, Forward, Hook, Migrate},
    domain::{
        delivery::Via,
        ids::{EventName, Guid},
    },
    forward::{Forwarder, Worker},
    store::{Store, types::Arrival},
    telemetry::Metrics,
};
use tokio_util::sync::CancellationToken;

/// What 64 GitHub connections are to us: arrivals waiting for their commit at the same time.
const CONNECTIONS: usize = 64;

#[derive(Clone, Default)]
struct Application {
    taken: Arc<AtomicU64>,
    delay: Duration,
}

async fn take(State(application): State<Application>, _body: Bytes) -> StatusCode {
    if !application.delay.is_zero() {
        tokio::time::sleep(application.delay).await;
    }
    application.taken.fetch_add(1, Ordering::Relaxed);
    StatusCode::OK
}

impl Application {
    async fn start(delay: Duration) -> (Self, SocketAddr) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let application = Self { delay, ..Self::default() };
        let router = Router::new().fallback(take).with_state(application.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (application, address)
    }

    fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }
}

/// A store in a new directory, and the configured hook.
struct Bench {
    store: Store,
    hook: Hook,
    forward: Forward,
    _directory: tempfile::TempDir,
}

impl Bench {
    async fn new(application: SocketAddr) -> Self {
        let directory = tempfile::tempdir_in("target").expect("a directory on a real disk");
        let url = format!("sqlite:{}", directory.path().join("bench.db").display());
        let settings = Database { url: url.into(), migrate: Migrate::Auto };
        let store = Store::open(&settings).await.expect("the store opens");
        let config = configuration(directory.path(), application);
        let hook = config.hooks.into_iter().next().expect("one hook");
        let forward = hook.forward.clone().expect("it hands over");
        Self { store, hook, forward, _directory: directory }
    }

    fn work(&self) -> CancellationToken {
        let forwarder = Forwarder::new(
            &self.hook,
            &self.forward,
            self.store.clone(),
            Arc::new(SystemClock),
            Arc::new(Metrics::default()),
            "bench".to_owned(),
        )
        .expect("a client");
        let stop = CancellationToken::new();
        let worker = Worker::new(forwarder);
        tokio::spawn(worker.run(CancellationToken::new(), CancellationToken::new(), stop.clone()));
        stop
    }

    fn arrival(&self, number: usize, now: DateTime<Utc>) -> Arrival {
        let mut body = format!("{{\"number\": {number}, \"text\": \"");
        while body.len() < 4_000 {
            body.push_str("what a payload says, and says again in other words; ");
        }
        body.push_str("\"}");
        Arrival {
            hook: self.hook.name.clone(),
            guid: Guid::new(&format!("bench-{number}")).expect("a GUID"),
            event: EventName::new("push").expect("an event"),
            action: None,
            installation_id: None,
            repository_id: Some(i64::try_from(number % 50).unwrap_or(0)),
            via: Via::Delivery,
            received_at: now,
            wanted: true,
            forward: true,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: body.into(),
        }
    }

    /// Records `numbers` over all connections at `per_second` (0: as fast as it goes); returns how
    /// long each took, sorted.
    async fn record(
        self: &Arc<Self>,
        numbers: std::ops::Range<usize>,
        per_second: u32,
    ) -> Vec<Duration> {
        let begin = tokio::time::Instant::now();
        let first = numbers.start;
        let mut tasks = Vec::new();
        for connection in 0..CONNECTIONS {
            let (bench, numbers) = (Arc::clone(self), numbers.clone());
            tasks.push(tokio::spawn(async move {
                let mut took = Vec::new();
                for number in numbers.skip(connection).step_by(CONNECTIONS) {
                    if per_second > 0 {
                        let at = f64::from(u32::try_from(number - first).unwrap_or(u32::MAX));
                        let due = begin + Duration::from_secs_f64(at / f64::from(per_second));
                        tokio::time::sleep_until(due).await;
                    }
                    let arrival = bench.arrival(number, SystemClock.now());
                    let sent = Instant::now();
                    bench.store.record(arrival).await.expect("recorded");
                    took.push(sent.elapsed());
                }
                took
            }));
        }
        let mut all = Vec::new();
        for task in tasks {
            all.extend(task.await.expect("no panic"));
        }
        all.sort();
        all
    }
}

fn configuration(directory: &std::path::Path, application: SocketAddr) -> Config {
    let app = redeliverd::sandbox::story::write_app(directory, "http://127.0.0.1:9/".to_owned())
        .expect("a key");
    let text = format!(
        "{}api_url = \"http://127.0.0.1:9\"\n[hooks.forward]\nurl = \"http://{application}/\"\n",
        app.entry
    );
    config::from_str(&text, directory, &Env::default()).expect("a configuration").config
}

async fn until(what: impl Fn() -> bool) {
    while !what() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn p99(sorted: &[Duration]) -> Duration {
    sorted.get(sorted.len() * 99 / 100).copied().unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "counts of a benchmark")]
fn rate(count: u64, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// Resident memory in MiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = kib.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() / 1024
}

async fn measure(events: usize) {
    let (quick, address) = Application::start(Duration::ZERO).await;
    let bench = Arc::new(Bench::new(address).await);
    bench.record(0..events, 0).await;
    let before = resident();
    let begin = Instant::now();
    let stop = bench.work();
    let total = events as u64;
    until(|| quick.taken() >= total / 10).await;
    let tenth = begin.elapsed();
    until(|| quick.taken() >= total * 9 / 10).await;
    let late = Instant::now();
    until(|| quick.taken() >= total).await;
    say(&format!(
        "backlog of {events}: {:.0} events/s (first tenth {:.0}/s, last {:.0}/s), memory {before} to {} MiB",
        rate(total, begin.elapsed()),
        rate(total / 10, tenth),
        rate(total / 10, late.elapsed()),
        resident(),
    ));
    stop.cancel();

    let beside = events.min(20_000);
    let (_, address) = Application::start(Duration::ZERO).await;
    let alone = Arc::new(Bench::new(address).await);
    let floor = p99(&alone.record(0..beside, 2_000).await);
    let (busy, address) = Application::start(Duration::ZERO).await;
    let bench = Arc::new(Bench::new(address).await);
    let stop = bench.work();
    let begin = Instant::now();
    let with = p99(&bench.record(0..beside, 2_000).await);
    until(|| busy.taken() >= beside as u64).await;
    say(&format!(
        "beside an intake of 2,000/s: {:.0} events/s; intake p99 {with:?}, without hand-over {floor:?} ({:.2} x)",
        rate(beside as u64, begin.elapsed()),
        with.as_secs_f64() / floor.as_secs_f64(),
    ));
    stop.cancel();

    let (_, address) = Application::start(Duration::from_secs(30)).await;
    let bench = Arc::new(Bench::new(address).await);
    let stop = bench.work();
    let slow = p99(&bench.record(0..beside, 2_000).await);
    say(&format!(
        "application that takes 30 s: intake p99 {slow:?} ({:.2} x)",
        slow.as_secs_f64() / floor.as_secs_f64(),
    ));
    stop.cancel();
}

fn main() {
    let events =
        std::env::var("EVENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000_usize);
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(measure(events));
}
