//! Wires everything from the configuration; the only file that sees all modules.

mod generation;
mod health;
mod listeners;
mod reload;
mod status;

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::{
    generation::{Generation, Parts},
    reload::Reloading,
};
pub use self::{listeners::Listeners, reload::Loader};

use crate::{
    admin::{self, Admin},
    clock::SharedClock,
    config::{Config, Hook},
    domain::ids::HookName,
    github::Client,
    lifecycle::{self, Asks, GRACE, ServiceManager, Shutdown, Tasks},
    receiver::Receiver,
    store::Store,
    sweeper::{Settings, Sweeper},
    telemetry::Metrics,
};

/// How long requests to the application may take after a stop was asked for: short of [`GRACE`], so
/// that what is not done by then can still be given back.
const HAND_OVER_GRACE: Duration = Duration::from_secs(GRACE.as_secs() - 4);

/// How long the store may take to write what is queued when everything else has ended.
const CLOSE: Duration = Duration::from_secs(5);

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

/// Everything a daemon is started with.
pub struct Daemon {
    /// The configuration.
    pub config: Config,
    /// The bound sockets.
    pub listeners: Listeners,
    /// The clock.
    pub clock: SharedClock,
    /// Who asks it to stop.
    pub shutdown: Shutdown,
    /// Who is told how it does.
    pub manager: ServiceManager,
    /// How the configuration is read again; `None`: it cannot be.
    pub loader: Option<Loader>,
    /// Who asks for that, and where the asking arrives.
    pub asks: (lifecycle::Ask, Asks),
}

/// Runs the daemon without a service manager, until `shutdown` is asked for or one of its tasks
/// dies.
///
/// # Errors
/// As [`Daemon::run`].
pub async fn run(
    config: Config,
    listeners: Listeners,
    clock: SharedClock,
    shutdown: Shutdown,
) -> anyhow::Result<()> {
    let (manager, asks) = (ServiceManager::default(), lifecycle::asks());
    Daemon { config, listeners, clock, shutdown, manager, loader: None, asks }.run().await
}

impl Daemon {
    /// Runs until a stop is asked for or a task dies.
    ///
    /// # Errors
    /// When something needed at the start is missing, or a task died.
    pub async fn run(self) -> anyhow::Result<()> {
        let Self { config, listeners, clock, shutdown, manager, loader, asks } = self;
        let (ask, asks) = asks;
        let config = Arc::new(config);
        let opening = manager.patiently("opening the database", Store::open(&config.database));
        // A migration may take long. It is one transaction each, so whoever gives up loses nothing.
        let store = tokio::select! {
            store = opening => store?,
            () = shutdown.soft.cancelled() => {
                manager.stopping("before it was ready");
                manager.flush().await;
                return Ok(());
            }
        };
        let names: Vec<HookName> = config.hooks.iter().map(|hook| hook.name.clone()).collect();
        store.begin_recording(&names, clock.now()).await.context("cannot write to the database")?;

        let metrics = Arc::new(Metrics::default());
        let tasks = Tasks::new(shutdown.clone());
        let soft = || shutdown.soft.clone();
        watch_recording(&tasks, &store, soft());
        let parts = Parts {
            store: store.clone(),
            clock: Arc::clone(&clock),
            metrics: Arc::clone(&metrics),
            give_up: give_up(&shutdown),
            hard: shutdown.hard.clone(),
        };
        let mut generation = Generation::prepare(&config, &parts, &tasks.group()).await?;

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
        let hard = shutdown.hard.clone();
        tasks.spawn("receiver", Arc::clone(&receiver).serve(listeners.receiver, soft(), hard));
        let sweepers = Arc::clone(&generation.sweepers);
        let shared = Admin { config, store: store.clone(), metrics, clock, sweepers, reload: ask };
        let (admin, live) = watch::channel(shared);
        tasks.spawn("admin listener", admin::run(listeners.admin, live.clone(), soft()));

        let (loops, watching) = watch::channel(generation.loops.clone());
        let always = health::watched(&manager, &store);
        let probe = health::probe(manager.clone(), live.clone(), always.proof.clone(), soft());
        tasks.spawn("proof of the store", probe);
        // Until the end, not until the stop: finishing what is in hand may take longer than the
        // manager waits for a sign of life.
        let ended = CancellationToken::new();
        let _until_then = ended.clone().drop_guard();
        let feed = lifecycle::feed(manager.clone(), always.loops, watching, ended);
        tokio::spawn(feed);
        let (refused, was_refused) = watch::channel(false);
        let told = status::keep(manager.clone(), live, was_refused, soft());
        tasks.spawn("status line", told);

        generation.start(&parts);
        let reloading = Reloading {
            loader,
            manager: manager.clone(),
            parts,
            receiver,
            admin,
            loops,
            refused,
            generation,
        };
        tasks.spawn("reload", reloading.run(asks, soft()));
        manager.ready(&status::started(names.len()));

        shutdown.soft.cancelled().await;
        manager.stopping("finishing what is in hand");
        let ended = tasks.finish().await;
        // A disk that hangs must not keep a second signal, or systemd, waiting.
        if tokio::time::timeout(CLOSE, store.close()).await.is_err() {
            tracing::warn!("the store could not be closed in time");
        }
        manager.flush().await;
        ended?;
        tracing::info!("redeliverd stopped");
        Ok(())
    }
}

/// Takes the daemon down when nothing can be recorded any more. Every answer would be a 503 for
/// ever, while a restart helps.
fn watch_recording(tasks: &Tasks, store: &Store, soft: CancellationToken) {
    let store = store.clone();
    tasks.spawn("recording of arrivals", async move {
        tokio::select! {
            () = soft.cancelled() => {}
            () = store.recording_ended() => {}
        }
    });
}

/// Cancelled when what is still being handed over after a stop has to be given back.
fn give_up(shutdown: &Shutdown) -> CancellationToken {
    let (token, soft) = (CancellationToken::new(), shutdown.soft.clone());
    let give_up = token.clone();
    tokio::spawn(async move {
        soft.cancelled().await;
        tokio::time::sleep(HAND_OVER_GRACE).await;
        give_up.cancel();
    });
    token
}
