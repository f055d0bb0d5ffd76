//! `prune` and `backup FILE`: looking after the database by hand.

use std::path::{Path, PathBuf};

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{
    context::Context,
    exit::Exit,
    table::{self, Style},
};
use crate::{retention, store::reserve};

/// Arguments of `backup`.
#[derive(Debug, clap::Args)]
pub(super) struct Backup {
    /// The new file
    #[arg(value_name = "FILE")]
    target: PathBuf,
}

#[derive(Debug, Serialize)]
struct Copied {
    file: String,
    bytes: u64,
}

pub(super) async fn prune(file: Option<&Path>, style: Style) -> anyhow::Result<Exit> {
    let context = Context::open(file).await?;
    let settings = &context.config.retention;
    let never = CancellationToken::new();
    let pruned = retention::prune(&context.store, settings, context.now(), &never).await;
    let pruned = pruned.map_err(|error| match context.store.file() {
        Some(file) if error.is_disk_full() => anyhow::Error::from(error).context(format!(
            "there is no room to remove anything in: free {} MiB on the file system of {}, then \
             prune again",
            reserve::BYTES >> 20,
            file.display()
        )),
        Some(_) | None => error.into(),
    })?;
    if style.json {
        table::json(&pruned)?;
    } else {
        table::out(&format!(
            "removed {} payloads, {} received and {} other deliveries, {} traces",
            pruned.payloads, pruned.receipts, pruned.deliveries, pruned.traces
        ))?;
    }
    Ok(Exit::Fine)
}

pub(super) async fn backup(
    file: Option<&Path>,
    args: &Backup,
    style: Style,
) -> anyhow::Result<Exit> {
    let context = Context::open(file).await?;
    context.store.backup(&args.target).await?;
    let bytes = std::fs::metadata(&args.target)?.len();
    if style.json {
        table::json(&Copied { file: args.target.display().to_string(), bytes })?;
    } else {
        table::out(&format!("{}  {bytes} bytes", args.target.display()))?;
    }
    Ok(Exit::Fine)
}
