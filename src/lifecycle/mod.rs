//! From the first signal to the last task: soft and hard tokens, signals, the grace period.

mod manager;
mod reload;
mod sockets;
mod tasks;
mod watchdog;

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

pub use self::{
    manager::ServiceManager,
    reload::{Ask, Asks, Reloaded, asks},
    sockets::{Inherited, SocketError},
    tasks::{Crashed, Group, Tasks},
    watchdog::{Overdue, Watched, feed},
};

/// How long requests in hand may take after a stop was asked for.
pub const GRACE: Duration = Duration::from_secs(20);

/// How long the hard stop may take before the process is ended without it.
const INSIST: Duration = Duration::from_secs(1);

/// The two stages of stopping, shared by every task.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// Take nothing new; finish what is in hand.
    pub soft: CancellationToken,
    /// Drop everything now. Cancelled after [`GRACE`] or by a second signal.
    pub hard: CancellationToken,
}

impl Shutdown {
    /// Cancels `soft` on the first SIGTERM or SIGINT and `hard` on the second.
    ///
    /// # Errors
    /// When the signal handlers cannot be installed.
    pub fn on_signals(&self) -> std::io::Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let stages = [self.soft.clone(), self.hard.clone()];
        tokio::spawn(async move {
            for stage in stages {
                tokio::select! {
                    _ = terminate.recv() => tracing::info!("stopping: SIGTERM"),
                    _ = interrupt.recv() => tracing::info!("stopping: SIGINT"),
                }
                stage.cancel();
            }
            // Whatever still hangs does not keep the person who insists waiting.
            tokio::time::sleep(INSIST).await;
            tracing::warn!("not everything ended; leaving now");
            std::process::exit(1);
        });
        Ok(())
    }
}
