//! `serve`: the daemon.

use std::{path::Path, sync::Arc};

use super::{context::configuration_of_daemon, exit::Exit};
use crate::{
    app::{self, Listeners},
    clock::SystemClock,
    lifecycle::Shutdown,
};

/// Arguments of `serve`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) async fn run(file: Option<&Path>, _args: &Args) -> anyhow::Result<Exit> {
    let config = configuration_of_daemon(file)?;
    config.require_hooks()?;
    let shutdown = Shutdown::default();
    shutdown.on_signals()?;
    let listeners = Listeners::bind(&config).await?;
    app::run(config, listeners, Arc::new(SystemClock), shutdown).await?;
    Ok(Exit::Fine)
}
