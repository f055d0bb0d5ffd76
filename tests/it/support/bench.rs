//! One hook from end to end on a manual clock: simulated GitHub, receiver, store, sweeper.

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU16, Ordering},
    },
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use redeliverd::{
    clock::{Clock, ManualClock, SharedClock},
    config::{self, Credential, Database, Migrate},
    domain::{
        delivery::Redelivery,
        filter::Filter,
        ids::{Guid, HookName},
        policy::{Policy, Repair, Trust},
    },
    github::Client,
    sandbox::github::{
        AppKey, Backfill, Event, HookConfig, HookRef, HookSetup, Sending,
        Settings as GithubSettings, SimulatedGithub, World, events::Generator,
    },
    store::{
        Store,
        types::{HookMemory, OpenDelivery},
    },
    sweeper::{Request, Settings, Sweep, SweepReport, Sweeper, Trigger},
    telemetry::Metrics,
};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::receiver::Receiver;

/// Time between two sweeps of the schedule.
pub const PERIOD: TimeDelta = TimeDelta::minutes(2);

const SECRET: &str = "a secret of the tests";

static KEY: LazyLock<AppKey> = LazyLock::new(|| AppKey::generate().unwrap());

/// When every bench begins.
pub fn start() -> DateTime<Utc> {
    "2026-11-30T12:00:00Z".parse().unwrap()
}

pub fn minutes(n: i64) -> TimeDelta {
    TimeDelta::minutes(n)
}

pub struct Bench {
    pub clock: Arc<ManualClock>,
    pub world: World,
    pub hook: HookRef,
    pub store: Store,
    pub sweeper: Arc<Sweeper>,
    pub name: HookName,
    pub metrics: Arc<Metrics>,
    pub settings: Settings,
    refuse_with: Arc<AtomicU16>,
    events: Generator,
    _github: SimulatedGithub,
    dir: TempDir,
}

/// The defaults of `config/redeliverd.toml`, but no pause between requests.
pub fn app_hook(api: &str) -> (config::Hook, config::Sweep) {
    let policy = Policy {
        trust: Trust::Receipt,
        repair: Repair::Redeliver,
        filter: Filter::default(),
        window: TimeDelta::days(3),
        settle: TimeDelta::seconds(30),
        confirm_within: minutes(10),
        backoff: [1, 5, 30, 120, 360, 720].map(minutes).to_vec(),
        max_redeliveries: 8,
        probes: 3,
        max_requests: 500,
    };
    let hook = config::Hook {
        name: HookName::new("ci").unwrap(),
        api: config::Api {
            base: api.parse().unwrap(),
            credential: Credential::App {
                issuer: "4242".to_owned(),
                private_key: KEY.private_pem().clone(),
            },
        },
        path: "/webhook".to_owned(),
        secrets: vec![SECRET.into()],
        allow_sha1: false,
        first_run: TimeDelta::zero(),
        forward: None,
        policy,
    };
    let sweep = config::Sweep {
        schedule: "0 */2 * * * *".to_owned(),
        period: PERIOD,
        overlap: minutes(2),
        recheck_every: minutes(30),
        recheck_back: minutes(15),
        lease: Duration::from_mins(1),
        min_interval: Duration::ZERO,
        max_pages: 200,
    };
    (hook, sweep)
}

impl Bench {
    /// A hook that has just been adopted: whatever is emitted from now on is repaired.
    pub async fn new() -> Self {
        Self::with(|_, _| {}).await
    }

    /// The same with other settings. A whole batch may be asked at once when `probes` says so.
    pub async fn with(change: impl FnOnce(&mut config::Hook, &mut config::Sweep)) -> Self {
        let bench = Self::unadopted(change).await;
        bench.sweep().await;
        bench.advance(PERIOD);
        bench
    }

    /// A hook that was never swept.
    pub async fn unadopted(change: impl FnOnce(&mut config::Hook, &mut config::Sweep)) -> Self {
        let clock = Arc::new(ManualClock::new(start()));
        let shared: SharedClock = clock.clone();
        let dir = tempfile::tempdir().unwrap();
        let store = open(&dir).await;
        let world =
            World::new(shared.clone(), GithubSettings { seed: 7, ..GithubSettings::cloud() })
                .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let github = SimulatedGithub::start(world.clone(), listener).unwrap();
        let (mut hook, mut sweep) = app_hook(&github.base_url);
        change(&mut hook, &mut sweep);
        let refuse_with = Arc::new(AtomicU16::new(0));
        let receiver = Receiver {
            store: store.clone(),
            clock: shared.clone(),
            hook: hook.name.clone(),
            refuse_with: Arc::clone(&refuse_with),
        };
        let hook_ref = world.add_hook(HookSetup {
            name: hook.name.to_string(),
            app_id: 4242,
            client_id: "Iv23li-tests".to_owned(),
            key: KEY.clone(),
            config: HookConfig {
                url: receiver.start().await,
                secret: SECRET.into(),
                content_type: redeliverd::sandbox::github::ContentType::Json,
                insecure_ssl: false,
            },
        });
        if hook.policy.trust != Trust::Github {
            store.begin_recording(std::slice::from_ref(&hook.name), clock.now()).await.unwrap();
        }
        let name = hook.name.clone();
        let metrics = Arc::new(Metrics::default());
        let settings = Settings::new(hook, sweep);
        let sweeper = Arc::new(sweeper(&settings, &store, &shared, &metrics, "bench"));
        Self {
            clock,
            world,
            hook: hook_ref,
            store,
            sweeper,
            name,
            metrics,
            settings,
            refuse_with,
            events: Generator::new(7),
            _github: github,
            dir,
        }
    }

    /// Another process on the same store, with the same configuration or another.
    pub fn second(&self, change: impl FnOnce(&mut Settings)) -> Arc<Sweeper> {
        let mut settings = self.settings.clone();
        change(&mut settings);
        let settings = Settings::new(settings.hook, settings.sweep);
        let clock: SharedClock = self.clock.clone();
        Arc::new(sweeper(&settings, &self.store, &clock, &self.metrics, "second"))
    }

    /// A handle on the database as a new process would open it.
    pub async fn reopen(&self) -> Store {
        open(&self.dir).await
    }

    pub fn advance(&self, by: TimeDelta) {
        self.clock.advance(by);
    }

    /// From now on the receiver answers so and records nothing; 0: it works.
    pub fn refuse_with(&self, code: u16) {
        self.refuse_with.store(code, Ordering::Relaxed);
    }

    pub fn event(&mut self) -> Event {
        self.events.of("push", None).unwrap()
    }

    /// Events whose first attempts are made in the given way; their GUIDs.
    pub async fn emit(&mut self, count: usize, sending: Sending) -> Vec<String> {
        let mut guids = Vec::new();
        for _ in 0..count {
            let event = self.event();
            guids.push(self.world.emit_as(self.hook, event, sending).await);
            self.advance(TimeDelta::milliseconds(10));
        }
        guids
    }

    /// Events that never reach the receiver, as GitHub knows.
    pub async fn fail(&mut self, count: usize) -> Vec<String> {
        self.emit(count, Sending::FailToConnect).await
    }

    /// History in GitHub's log, oldest first, a second apart, the newest at `until`.
    pub fn history(&mut self, count: i32, code: u16, until: DateTime<Utc>) -> Vec<(i64, String)> {
        let event = Arc::new(self.event());
        let rows = (0..count)
            .rev()
            .map(|n| Backfill::new(&event, until - TimeDelta::seconds(i64::from(n)), code));
        self.world.backfill(self.hook, rows)
    }

    /// One sweep of the schedule; waits until GitHub has attempted what it promised.
    pub async fn sweep(&self) -> SweepReport {
        self.request(Request::new(Trigger::Scheduled)).await
    }

    pub async fn request(&self, request: Request) -> SweepReport {
        match self.sweeper.sweep(&request, &CancellationToken::new()).await.unwrap() {
            Sweep::Done(report) => {
                self.world.settled().await;
                *report
            }
            Sweep::Skipped { owner, .. } => panic!("{owner} holds the lease"),
        }
    }

    /// So many sweeps, a period before each.
    pub async fn sweeps(&self, count: u32) -> Vec<SweepReport> {
        let mut reports = Vec::new();
        for _ in 0..count {
            self.advance(PERIOD);
            reports.push(self.sweep().await);
        }
        reports
    }

    pub async fn delivery(&self, guid: &str) -> OpenDelivery {
        let guid = Guid::new(guid).unwrap();
        self.store.delivery(&self.name, &guid).await.unwrap().expect("a known delivery")
    }

    /// The stored verdict as `verdict/reason`.
    pub async fn verdict(&self, guid: &str) -> String {
        let judged = self.delivery(guid).await.judged;
        judged.map_or_else(
            || "unjudged".to_owned(),
            |(verdict, reason)| format!("{verdict}/{reason}"),
        )
    }

    pub async fn redeliveries(&self, guid: &str) -> Vec<Redelivery> {
        self.delivery(guid).await.delivery.redeliveries
    }

    pub async fn memory(&self) -> HookMemory {
        memory_of(&self.store, &self.name).await
    }
}

async fn memory_of(store: &Store, hook: &HookName) -> HookMemory {
    store.hook(hook).await.unwrap()
}

async fn open(dir: &TempDir) -> Store {
    let url = format!("sqlite:{}", dir.path().join("test.db").display());
    Store::open(&Database { url: url.into(), migrate: Migrate::Auto }).await.unwrap()
}

fn sweeper(
    settings: &Settings,
    store: &Store,
    clock: &SharedClock,
    metrics: &Arc<Metrics>,
    owner: &str,
) -> Sweeper {
    let client = Client::new(&settings.hook.api, Arc::clone(clock)).unwrap();
    Sweeper::new(
        settings.clone(),
        store.clone(),
        client,
        Arc::clone(clock),
        Arc::clone(metrics),
        owner.to_owned(),
    )
}
