//! Takes a new configuration over while everything runs: all of what it can, or nothing.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    generation::{Generation, Parts},
    status,
};
use crate::{
    admin::Admin,
    config::{Config, Problems},
    lifecycle::{Asks, Reloaded, ServiceManager, Watched},
    receiver::Receiver,
};

/// How long the files of a configuration may take to read. A pipe, or a file server that is gone, would
/// otherwise stop this and every later reload for good.
const READING: Duration = Duration::from_secs(10);

/// Reads the configuration again, from where it came.
pub type Loader = Arc<dyn Fn() -> anyhow::Result<Config> + Send + Sync>;

/// Everything a reload touches.
pub(super) struct Reloading {
    pub(super) loader: Option<Loader>,
    pub(super) manager: ServiceManager,
    pub(super) parts: Parts,
    pub(super) receiver: Arc<Receiver>,
    pub(super) admin: watch::Sender<Admin>,
    pub(super) loops: watch::Sender<Vec<Watched>>,
    /// Whether the last reload was refused.
    pub(super) refused: watch::Sender<bool>,
    pub(super) generation: Generation,
}

impl Reloading {
    /// Reloads whenever it is asked to, until `stop`.
    pub(super) async fn run(mut self, mut asks: Asks, stop: CancellationToken) {
        loop {
            let reply = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                reply = asks.next() => reply,
            };
            self.manager.reloading();
            let result = self.reload().await;
            self.refused.send_replace(result.is_err());
            let result = match result {
                Ok((next, reloaded)) => {
                    self.take_over(next, &stop).await;
                    if stop.is_cancelled() {
                        break;
                    }
                    tell(&reloaded);
                    self.manager.ready(&status::started(reloaded.hooks));
                    Ok(reloaded)
                }
                Err(error) => {
                    tell_refusal(&error);
                    self.manager.ready(status::REFUSED);
                    Err(format!("{error:#}"))
                }
            };
            if let Some(reply) = reply {
                // Whoever asked may have gone away.
                let _gone = reply.send(result);
            }
        }
        self.generation.end().await;
    }

    /// The old workers end before the new ones begin, so that no two sweep or tell at once.
    async fn take_over(&mut self, next: Generation, stop: &CancellationToken) {
        let old = std::mem::replace(&mut self.generation, next);
        old.end().await;
        if !stop.is_cancelled() {
            self.parts.metrics.forget_states();
            self.generation.start(&self.parts);
        }
    }

    /// Everything but the change of the workers.
    async fn reload(&mut self) -> anyhow::Result<(Generation, Reloaded)> {
        let loader = self.loader.clone().context("this configuration came from no file")?;
        let read = timeout(READING, tokio::task::spawn_blocking(move || loader())).await;
        let mut config =
            read.context("a file of it cannot be read to its end within 10 s")???;
        let needs_restart = keep_fixed(&mut config, &self.admin.borrow().config);
        let config = Arc::new(config);
        let Parts { store, clock, .. } = &self.parts;
        let next = Generation::prepare(&config, &self.parts, self.generation.group()).await?;
        let names: Vec<_> = config.hooks.iter().map(|hook| hook.name.clone()).collect();
        if let Err(error) = store.begin_recording(&names, clock.now()).await {
            next.end().await;
            return Err(anyhow::Error::from(error).context("cannot write to the database"));
        }
        // From here on nothing can fail.
        self.receiver.reload(&config.hooks);
        self.loops.send_replace(next.loops.clone());
        self.admin.send_modify(|admin| {
            admin.config = config;
            admin.sweepers = Arc::clone(&next.sweepers);
        });
        Ok((next, Reloaded { hooks: names.len(), needs_restart }))
    }
}

fn tell(reloaded: &Reloaded) {
    tracing::info!(hooks = reloaded.hooks, "the configuration is reloaded");
    if !reloaded.needs_restart.is_empty() {
        tracing::warn!(
            keys = reloaded.needs_restart.join(", "),
            "these have changed and take effect at the next start only"
        );
    }
}

/// Every problem on a line of its own.
fn tell_refusal(error: &anyhow::Error) {
    const REFUSED: &str = "the new configuration is refused; the old one stays";
    if let Some(problems) = error.downcast_ref::<Problems>() {
        for problem in &problems.all {
            tracing::error!("in the new configuration: {problem}");
        }
        tracing::error!(problems = problems.all.len(), "{REFUSED}");
    } else {
        tracing::error!(error = format!("{error:#}"), "{REFUSED}");
    }
}

/// Puts what cannot change while we run back to what runs, and names what was different.
fn keep_fixed(config: &mut Config, running: &Config) -> Vec<&'static str> {
    use secrecy::ExposeSecret as _;

    let mut kept = Vec::new();
    let mut keep = |same: bool, key: &'static str| {
        if !same {
            kept.push(key);
        }
    };
    let (new, old) = (&config.receiver, &running.receiver);
    keep(new.listen == old.listen, "receiver.listen");
    keep(new.max_body == old.max_body, "receiver.max_body");
    keep(new.max_bodies_in_flight == old.max_bodies_in_flight, "receiver.max_bodies_in_flight");
    keep(new.head_timeout == old.head_timeout, "receiver.head_timeout");
    keep(new.body_timeout == old.body_timeout, "receiver.body_timeout");
    keep(config.admin.listen == running.admin.listen, "admin.listen");
    let (new, old) = (&config.database, &running.database);
    keep(new.url.expose_secret() == old.url.expose_secret(), "database.url");
    keep(new.migrate == old.migrate, "database.migrate");
    keep(config.log.level == running.log.level, "log.level");
    keep(config.log.format == running.log.format, "log.format");
    config.receiver = running.receiver.clone();
    config.admin.listen = running.admin.listen;
    config.database = running.database.clone();
    config.log = running.log.clone();
    kept
}
