//! The daemon of the story: the real one, in this process, on free ports.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context, bail};
use tokio::{net::TcpListener, task::JoinHandle};

use super::setup::Scene;
use crate::{
    app::{self, Listeners},
    lifecycle::Shutdown,
    store::Store,
};

/// How long the first sweep may take.
const START: Duration = Duration::from_secs(30);

/// A running daemon, and a second handle on its store to look with.
#[derive(Debug)]
pub(super) struct Daemon {
    pub(super) receiver: SocketAddr,
    pub(super) admin: SocketAddr,
    pub(super) store: Store,
    scene_hook: crate::domain::ids::HookName,
    shutdown: Shutdown,
    running: JoinHandle<anyhow::Result<()>>,
}

impl Daemon {
    /// Starts it; on the address it had before, if it had one.
    pub(super) async fn start(scene: &Scene, address: Option<SocketAddr>) -> anyhow::Result<Self> {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let listeners = Listeners {
            receiver: TcpListener::bind(address.unwrap_or(any)).await?,
            admin: TcpListener::bind(any).await?,
        };
        let (receiver, admin) = (listeners.receiver.local_addr()?, listeners.admin.local_addr()?);
        let shutdown = Shutdown::default();
        let running = tokio::spawn(app::run(
            scene.config.clone(),
            listeners,
            Arc::clone(&scene.clock),
            shutdown.clone(),
        ));
        let store = Store::open(&scene.config.database).await?;
        let scene_hook = scene.config.hooks.first().context("the scene has a hook")?.name.clone();
        Ok(Self { receiver, admin, store, scene_hook, shutdown, running })
    }

    /// Waits until the list was read to its end once.
    pub(super) async fn first_sweep_done(&self) -> anyhow::Result<()> {
        self.swept_since(chrono::DateTime::UNIX_EPOCH).await
    }

    /// Waits until a pass that starts from now on has read the list to its end.
    pub(super) async fn sweep(&self) -> anyhow::Result<()> {
        let last = self.store.hook(&self.scene_hook).await?.listing.complete_at;
        self.swept_since(last.unwrap_or(chrono::DateTime::UNIX_EPOCH)).await
    }

    async fn swept_since(&self, before: chrono::DateTime<chrono::Utc>) -> anyhow::Result<()> {
        let wait = async {
            loop {
                let complete = self.store.hook(&self.scene_hook).await?.listing.complete_at;
                if complete.is_some_and(|at| at > before) {
                    return Ok(());
                }
                if self.died() {
                    bail!("the daemon ended before its sweep was done");
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(START, wait).await.context("no sweep was completed in time")?
    }

    pub(super) fn died(&self) -> bool {
        self.running.is_finished()
    }

    /// Stops it as SIGTERM would.
    pub(super) async fn stop(self) -> anyhow::Result<()> {
        self.shutdown.soft.cancel();
        self.store.close().await;
        self.running.await?
    }
}
