//! `serve`: the daemon.

use std::{path::Path, sync::Arc};

use super::{context::configuration_of_daemon, exit::Exit};
use crate::{
    app::{Daemon, Listeners, Loader},
    clock::SystemClock,
    lifecycle::{self, Inherited, ServiceManager, Shutdown},
};

/// Arguments of `serve`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) async fn run(file: Option<&Path>, _args: &Args) -> anyhow::Result<Exit> {
    let config = configuration_of_daemon(file)?;
    config.require_hooks()?;
    let shutdown = Shutdown::default();
    shutdown.on_signals()?;
    let mut asks = lifecycle::asks();
    asks.1.on_hangup()?;
    let listeners = Listeners::bind(&config, Inherited::take()?).await?;
    Daemon {
        config,
        listeners,
        clock: Arc::new(SystemClock),
        shutdown,
        manager: ServiceManager::of_process(),
        loader: Some(loader(file)),
        asks,
    }
    .run()
    .await?;
    Ok(Exit::Fine)
}

/// Reads the same file again.
fn loader(file: Option<&Path>) -> Loader {
    let file = file.map(Path::to_path_buf);
    Arc::new(move || {
        let config = configuration_of_daemon(file.as_deref())?;
        config.require_hooks()?;
        Ok(config)
    })
}
