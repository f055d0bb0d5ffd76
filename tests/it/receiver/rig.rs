//! A running receiver with two hooks on a store of its own.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use redeliverd::{
    clock::ManualClock,
    config::{self, Credential, Migrate},
    domain::{
        filter::Filter,
        ids::{Guid, HookName},
        policy::{Policy, Repair, Trust},
    },
    receiver::Receiver,
    store::{Store, types::StoredReceipt},
    telemetry::Metrics,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::support::backends::{self, Backend};

/// The secret of both hooks.
pub const SECRET: &str = "It's a Secret to Everybody";

/// GitHub's limit, and the default.
pub const MAX_BODY: u64 = 26_214_400;

pub struct Rig {
    pub address: SocketAddr,
    pub store: Store,
    pub receiver: Arc<Receiver>,
    pub soft: CancellationToken,
    pub hard: CancellationToken,
    pub served: JoinHandle<()>,
    metrics: Arc<Metrics>,
    _backend: Backend,
}

/// The documented defaults, on a free port.
pub fn settings() -> config::Receiver {
    config::Receiver {
        listen: ([127, 0, 0, 1], 0).into(),
        max_body: MAX_BODY,
        max_bodies_in_flight: 256 << 20,
        head_timeout: Duration::from_secs(10),
        body_timeout: Duration::from_secs(10),
    }
}

/// `ci` at `/webhook`, `org` at `/org`.
pub fn hooks() -> Vec<config::Hook> {
    vec![hook("ci", "/webhook"), hook("org", "/org")]
}

fn hook(name: &str, path: &str) -> config::Hook {
    let policy = Policy {
        trust: Trust::Receipt,
        repair: Repair::Redeliver,
        filter: Filter::default(),
        window: TimeDelta::days(3),
        settle: TimeDelta::seconds(30),
        confirm_within: TimeDelta::minutes(10),
        backoff: vec![TimeDelta::minutes(1)],
        max_redeliveries: 8,
        probes: 3,
        max_requests: 500,
    };
    config::Hook {
        name: HookName::new(name).unwrap(),
        api: config::Api {
            base: "https://api.github.com/".parse().unwrap(),
            credential: Credential::App {
                issuer: "4242".to_owned(),
                private_key: String::new().into(),
            },
        },
        path: path.to_owned(),
        secrets: vec![SECRET.into()],
        allow_sha1: false,
        first_run: TimeDelta::zero(),
        forward: None,
        policy,
    }
}

/// What the receiver's clock says.
pub fn now() -> DateTime<Utc> {
    "2026-11-30T12:00:00.123456Z".parse().unwrap()
}

impl Rig {
    pub async fn new() -> Self {
        Self::with(settings(), &hooks()).await
    }

    pub async fn with(settings: config::Receiver, hooks: &[config::Hook]) -> Self {
        let backend = backends::sqlite();
        let store = Store::open(&backend.settings(Migrate::Auto)).await.unwrap();
        let metrics = Arc::new(Metrics::default());
        let clock = Arc::new(ManualClock::new(now()));
        let receiver =
            Arc::new(Receiver::new(&settings, hooks, store.clone(), Arc::clone(&metrics), clock));
        let listener = TcpListener::bind(settings.listen).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (soft, hard) = (CancellationToken::new(), CancellationToken::new());
        let served =
            tokio::spawn(Arc::clone(&receiver).serve(listener, soft.clone(), hard.clone()));
        Self { address, store, receiver, soft, hard, served, metrics, _backend: backend }
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    pub async fn receipt(&self, hook: &str, guid: &str) -> Option<StoredReceipt> {
        let (hook, guid) = (HookName::new(hook).unwrap(), Guid::new(guid).unwrap());
        self.store.receipt(&hook, &guid).await.unwrap()
    }

    /// The value of one counter, by its whole line up to the value.
    pub fn count(&self, series: &str) -> Option<u64> {
        let text = self.metrics.render().unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(series))?;
        line.trim().parse().ok()
    }
}
