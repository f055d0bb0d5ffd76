//! Wires everything from the configuration; the only file that sees all modules.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::Context;
use tokio::net::TcpListener;

use crate::{
    admin::{self, Admin},
    clock::SharedClock,
    config::{Config, Hook},
    domain::ids::HookName,
    forward::{self, Forwarder},
    github::Client,
    lifecycle::{GRACE, Shutdown, Tasks},
    notify::Watch,
    receiver::Receiver,
    retention,
    schedule::Schedule,
    store::Store,
    sweeper::{Settings, Sweeper, worker},
    telemetry::{HookLabel, Metrics},
};

/// How long requests to the application may take after a stop was asked for: short of [`GRACE`], so
/// that what is not done by then can still be given back.
const HAND_OVER_GRACE: Duration = Duration::from_secs(GRACE.as_secs() - 4);

/// How long the store may take to write what is queued when everything else has ended.
const CLOSE: Duration = Duration::from_secs(5);

/// The bound sockets of one daemon.
#[derive(Debug)]
pub struct Listeners {
    /// GitHub's requests.
    pub receiver: TcpListener,
    /// Health, metrics, API.
    pub admin: TcpListener,
}

impl Listeners {
    /// Binds what the configuration says.
    ///
    /// # Errors
    /// Names the key and the address that cannot be bound.
    pub async fn bind(config: &Config) -> anyhow::Result<Self> {
        let bind = async |key: &str, address: std::net::SocketAddr| {
            TcpListener::bind(address)
                .await
                .with_context(|| format!("cannot listen on {address} ({key})"))
        };
        Ok(Self {
            receiver: bind("receiver.listen", config.receiver.listen).await?,
            admin: bind("admin.listen", config.admin.listen).await?,
        })
    }
}

/// A sweeper for one hook, as the daemon and the commands use it.
///
/// # Errors
/// When the hook's key cannot sign.
pub fn sweeper(
    config: &Config,
    hook: &Hook,
    store: &Store,
    clock: &SharedClock,
    metrics: &Arc<Metrics>,
) -> anyhow::Result<Sweeper> {
    let client = Client::new(&hook.api, Arc::clone(clock))
        .with_context(|| format!("hooks[{}]", hook.name))?;
    let settings = Settings::new(hook.clone(), config.sweep.clone());
    Ok(Sweeper::new(
        settings,
        store.clone(),
        client,
        Arc::clone(clock),
        Arc::clone(metrics),
        owner(),
    ))
}

/// Who we are in a lease: the host, the process, and a random part, since both can recur.
fn owner() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "localhost" } else { host.trim() };
    format!("{host}/{}/{:08x}", std::process::id(), rand::random::<u32>())
}

/// Takes the daemon down when nothing can be recorded any more. Every answer would be a 503 for
/// ever, while a restart helps.
fn watch_recording(tasks: &Tasks, store: &Store, shutdown: &Shutdown) {
    let (store, soft) = (store.clone(), shutdown.soft.clone());
    tasks.spawn("recording of arrivals", async move {
        tokio::select! {
            () = soft.cancelled() => {}
            () = store.recording_ended() => {}
        }
    });
}

/// Runs the daemon until `shutdown` is asked for or one of its tasks dies.
///
/// # Errors
/// When something needed at the start is missing, or a task died.
pub async fn run(
    config: Config,
    listeners: Listeners,
    clock: SharedClock,
    shutdown: Shutdown,
) -> anyhow::Result<()> {
    let config = Arc::new(config);
    let store = Store::open(&config.database).await?;
    let names: Vec<HookName> = config.hooks.iter().map(|hook| hook.name.clone()).collect();
    store.begin_recording(&names, clock.now()).await.context("cannot write to the database")?;

    let metrics = Arc::new(Metrics::default());
    let tasks = Tasks::new(shutdown.clone());
    watch_recording(&tasks, &store, &shutdown);
    let watch = Watch::new(&config, &store, &clock, &metrics, owner())?;
    let mut sweepers = BTreeMap::new();
    let mut schedules = Vec::new();
    for hook in &config.hooks {
        let sweeper = Arc::new(sweeper(&config, hook, &store, &clock, &metrics)?);
        let (handle, worker) = worker::worker(sweeper);
        let label = HookLabel { hook: hook.name.to_string() };
        let skipped = metrics.sweep_ticks_skipped.get_or_create(&label).clone();
        let on_skip = Arc::new(move || {
            skipped.inc();
        });
        schedules.push(Schedule::start(&config.sweep.schedule, handle.ticks(), on_skip).await?);
        sweepers.insert(hook.name.clone(), handle);
        let soft = shutdown.soft.clone();
        tasks.spawn("sweeper", worker.telling(watch.swept()).run(soft));
    }

    for hook in &config.hooks {
        let Some(forward) = &hook.forward else { continue };
        let forwarder = Forwarder::new(
            hook,
            forward,
            store.clone(),
            Arc::clone(&clock),
            Arc::clone(&metrics),
            owner(),
        )
        .with_context(|| format!("hooks[{}].forward", hook.name))?;
        let (soft, hard) = (shutdown.soft.clone(), shutdown.hard.clone());
        tasks.spawn("hand-over", forward::Worker::new(forwarder).run(soft, hard, HAND_OVER_GRACE));
    }
    let soft = shutdown.soft.clone();
    let (kept, timekeeper) = (config.retention, Arc::clone(&clock));
    tasks.spawn("retention", retention::run(store.clone(), kept, timekeeper, soft));

    tracing::info!(
        receiver = %listeners.receiver.local_addr()?,
        admin = %listeners.admin.local_addr()?,
        hooks = names.len(),
        database = store.kind(),
        version = env!("CARGO_PKG_VERSION"),
        "redeliverd serves"
    );
    let receiver = Arc::new(Receiver::new(
        &config.receiver,
        &config.hooks,
        store.clone(),
        Arc::clone(&metrics),
        Arc::clone(&clock),
    ));
    let stop = shutdown.clone();
    tasks.spawn("receiver", receiver.serve(listeners.receiver, stop.soft, stop.hard));
    let admin = Admin {
        config: Arc::clone(&config),
        store: store.clone(),
        metrics,
        clock,
        sweepers: Arc::new(sweepers),
    };
    let soft = shutdown.soft.clone();
    tasks.spawn("admin listener", async move {
        if let Err(error) = admin::run(listeners.admin, admin, soft).await {
            tracing::error!(%error, "the admin listener failed");
        }
    });

    for (name, task) in watch.into_tasks(&shutdown.soft) {
        tasks.spawn(name, task);
    }

    let ended = tasks.finish().await;
    for schedule in schedules {
        if let Err(error) = schedule.stop().await {
            tracing::debug!(%error, "the schedule was stopped before");
        }
    }
    // A disk that hangs must not keep a second signal, or systemd, waiting.
    if tokio::time::timeout(CLOSE, store.close()).await.is_err() {
        tracing::warn!("the store could not be closed in time");
    }
    ended?;
    tracing::info!("redeliverd stopped");
    Ok(())
}
