//! From the first signal to the last task: soft and hard tokens, signals, the grace period.

use std::{future::Future, time::Duration};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

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

/// Why a task ended although nobody asked it to.
#[derive(Debug, thiserror::Error)]
#[error("the {task} stopped unexpectedly: {reason}")]
pub struct Crashed {
    /// Which task.
    pub task: &'static str,
    /// Its panic, or that it ended by itself.
    pub reason: String,
}

impl Shutdown {
    /// Cancels `soft` on the first SIGTERM or SIGINT and `hard` on the second.
    ///
    /// # Errors
    /// When the signal handlers cannot be installed.
    pub fn on_signals(&self) -> std::io::Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut hangup = signal(SignalKind::hangup())?;
        tokio::spawn(async move {
            // Left alone it would end the process, which is not what somebody who reloads expects.
            while hangup.recv().await.is_some() {
                tracing::warn!("SIGHUP changes nothing; restart to read the configuration anew");
            }
        });
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

/// The tasks of one daemon. A task that fails or panics takes the daemon down with it, because a
/// daemon without its sweeper only looks healthy.
#[derive(Debug)]
pub struct Tasks {
    tracker: TaskTracker,
    shutdown: Shutdown,
    crashes: tokio::sync::mpsc::UnboundedSender<Crashed>,
    died: tokio::sync::mpsc::UnboundedReceiver<Crashed>,
}

impl Tasks {
    /// No tasks yet.
    #[must_use]
    pub fn new(shutdown: Shutdown) -> Self {
        let (crashes, died) = tokio::sync::mpsc::unbounded_channel();
        Self { tracker: TaskTracker::new(), shutdown, crashes, died }
    }

    /// Runs a task that is expected to last until `soft` is cancelled.
    pub fn spawn(&self, task: &'static str, future: impl Future<Output = ()> + Send + 'static) {
        let running = tokio::spawn(future);
        let (crashes, shutdown) = (self.crashes.clone(), self.shutdown.clone());
        self.tracker.spawn(async move {
            let reason = match running.await {
                Ok(()) if shutdown.soft.is_cancelled() => return,
                Ok(()) => "it ended by itself".to_owned(),
                Err(panic) => panic.to_string(),
            };
            let _ = crashes.send(Crashed { task, reason });
            shutdown.soft.cancel();
        });
    }

    /// Waits until somebody asks to stop or a task dies, then for the rest of the tasks within the
    /// grace period.
    ///
    /// # Errors
    /// [`Crashed`] when a task's death was the reason.
    pub async fn finish(mut self) -> Result<(), Crashed> {
        self.shutdown.soft.cancelled().await;
        self.tracker.close();
        tokio::select! {
            () = self.tracker.wait() => {}
            () = self.shutdown.hard.cancelled() => {}
            () = tokio::time::sleep(GRACE) => tracing::warn!("the grace period is over"),
        }
        self.shutdown.hard.cancel();
        self.died.try_recv().map_or(Ok(()), Err)
    }
}
