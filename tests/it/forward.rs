//! The worker itself, with settings that no configuration allows: short leases, and a store that is
//! watched from beside.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use redeliverd::{
    clock::SystemClock,
    config::{Forward, Hook, Order},
    forward::{Forwarder, Worker},
    store::{Store, types::Arrival},
    telemetry::Metrics,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    store::world::{arrival, ci, guid},
    support::{
        app_hook,
        application::{Answer, Application},
        backends::{Backend, on_both},
    },
};

on_both! {
    a_lease_is_renewed_while_the_application_takes_its_time,
    a_worker_that_lost_its_claim_changes_nothing,
    an_application_that_is_gone_uses_up_no_attempts_but_those_of_probes,
    retries_do_not_starve_fresh_events,
    two_workers_share_the_inbox,
}

/// One worker on a store, until it is dropped.
struct Running {
    hard: CancellationToken,
    _task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.hard.cancel();
    }
}

fn settings(application: &Application) -> Forward {
    Forward {
        url: application.url().parse().unwrap(),
        timeout: Duration::from_secs(30),
        concurrency: 4,
        lease: Duration::from_millis(1_500),
        max_attempts: 5,
        backoff: vec![Duration::from_secs(1)],
        order: Order::None,
    }
}

fn start(store: &Store, settings: &Forward, owner: &str) -> Running {
    let hook = Hook { name: ci(), ..app_hook("http://127.0.0.1:9").0 };
    let forwarder = Forwarder::new(
        &hook,
        settings,
        store.clone(),
        Arc::new(SystemClock),
        Arc::new(Metrics::default()),
        owner.to_owned(),
    )
    .unwrap();
    let hard = CancellationToken::new();
    let worker = Worker::new(forwarder);
    let running = worker.run(CancellationToken::new(), CancellationToken::new(), hard.clone());
    Running { hard, _task: tokio::spawn(running) }
}

async fn record(store: &Store, text: &str) {
    let event = Arrival { forward: true, ..arrival(text, -1_000_000, b"{}") };
    store.record(event).await.unwrap();
}

async fn eventually(what: &str, is: impl AsyncFn() -> bool) {
    for _ in 0..600 {
        if is().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never: {what}");
}

async fn processed(store: &Store, count: u64) {
    eventually("all is processed", async || {
        store.inbox_counts(&ci()).await.unwrap().processed == count
    })
    .await;
}

async fn a_lease_is_renewed_while_the_application_takes_its_time(backend: Backend) {
    // S21
    let store = backend.open().await;
    let application = Application::start().await;
    application.hold();
    record(&store, "a").await;
    let _running = start(&store, &settings(&application), "one");
    eventually("it is being sent", async || application.handed().len() == 1).await;
    let row = async || store.inbox_row(&ci(), &guid("a")).await.unwrap().unwrap();
    let first = row().await.lease_until.unwrap();
    eventually("three leases have passed", async || {
        row().await.lease_until.unwrap() - first > chrono::TimeDelta::milliseconds(4_500)
    })
    .await;
    application.release();
    processed(&store, 1).await;
    assert_eq!(application.handed().len(), 1, "nobody took it over");
}

async fn a_worker_that_lost_its_claim_changes_nothing(backend: Backend) {
    // S16, S23
    let store = backend.open().await;
    let application = Application::start().await;
    application.hold();
    record(&store, "a").await;
    let long = Forward { lease: Duration::from_hours(1), ..settings(&application) };
    let _running = start(&store, &long, "one");
    eventually("it is being sent", async || application.handed().len() == 1).await;
    // As if it had been paused for longer than its lease.
    let later = chrono::DateTime::from_timestamp(4_000_000_000, 0).unwrap();
    let claim = redeliverd::store::types::Claim {
        limit: 1,
        retries: 1,
        lease_until: later,
        expired_before: later,
        max_attempts: 5,
        ordered: false,
        cursor: 0,
    };
    let taken = store.hand_over(&ci(), "two", &[], Some(&claim), later).await.unwrap();
    assert_eq!(taken.claimed.len(), 1);
    application.release();
    eventually("its result is recorded as late", async || {
        let told = store.handovers(&ci(), &guid("a")).await.unwrap();
        told.iter().any(|row| row.late && row.owner.as_deref() == Some("one"))
    })
    .await;
    let row = store.inbox_row(&ci(), &guid("a")).await.unwrap().unwrap();
    assert_eq!(row.state.as_str(), "processing");
    assert_eq!(row.owner.as_deref(), Some("two"));
}

async fn an_application_that_is_gone_uses_up_no_attempts_but_those_of_probes(backend: Backend) {
    // D11
    let store = backend.open().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let application = Application::start().await;
    let gone = Forward {
        url: format!("http://{free}/").parse().unwrap(),
        backoff: vec![Duration::from_mins(10)],
        ..settings(&application)
    };
    for n in 0..40 {
        record(&store, &format!("g-{n:02}")).await;
    }
    let running = start(&store, &gone, "one");
    eventually("some were tried", async || {
        store.handovers(&ci(), &guid("g-00")).await.unwrap().len() == 1
    })
    .await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    drop(running);
    let mut tried = 0;
    for n in 0..40 {
        tried += store.handovers(&ci(), &guid(&format!("g-{n:02}"))).await.unwrap().len();
    }
    assert!((4..=8).contains(&tried), "{tried} of 40 were tried");
    // Back again: the rest goes out in order of receipt.
    let _running = start(&store, &settings(&application), "two");
    processed(&store, 40 - tried as u64).await;
    let keys: Vec<String> = application
        .handed()
        .iter()
        .map(|handed| handed.header("idempotency-key").to_owned())
        .collect();
    assert_eq!(keys.len(), 40 - tried);
    // Sixteen are in hand and four more on their way to the application: so far may neighbours change
    // places.
    for (place, key) in keys.iter().enumerate() {
        let number: usize = key.trim_start_matches("ci/g-").parse().unwrap();
        assert!(number.abs_diff(place + tried) <= 20, "{keys:?}");
    }
}

async fn retries_do_not_starve_fresh_events(backend: Backend) {
    // R8
    let store = backend.open().await;
    let application = Application::start().await;
    application.answers(|_, handed| {
        let bad = handed.header("idempotency-key").contains("bad");
        let mut answer = Answer::status(if bad { 500 } else { 200 });
        answer.after = Duration::from_millis(20);
        answer
    });
    for n in 0..60 {
        record(&store, &format!("bad-{n}")).await;
    }
    let endless = Forward { max_attempts: 1_000_000, ..settings(&application) };
    let _running = start(&store, &endless, "one");
    eventually("all bad ones were tried", async || application.handed().len() >= 60).await;
    for n in 0..60 {
        record(&store, &format!("good-{n}")).await;
    }
    processed(&store, 60).await;
}

async fn two_workers_share_the_inbox(backend: Backend) {
    // D17
    let (one, two) = (backend.open().await, backend.open().await);
    let application = Application::start().await;
    for n in 0..100 {
        record(&one, &format!("g-{n}")).await;
    }
    let settings = Forward { lease: Duration::from_mins(1), ..settings(&application) };
    let _a = start(&one, &settings, "a");
    let _b = start(&two, &settings, "b");
    processed(&one, 100).await;
    assert_eq!(application.handed().len(), 100, "each once");
    let keys: BTreeSet<String> = application
        .handed()
        .iter()
        .map(|handed| handed.header("idempotency-key").to_owned())
        .collect();
    assert_eq!(keys.len(), 100);
}
