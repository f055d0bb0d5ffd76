//! The tasks of one daemon: what they are expected to outlast, and what happens when one dies.

use std::future::Future;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{GRACE, Shutdown};

/// Why a task ended although nobody asked it to.
#[derive(Debug, thiserror::Error)]
#[error("the {task} stopped unexpectedly: {reason}")]
pub struct Crashed {
    /// Which task.
    pub task: &'static str,
    /// Its panic, or that it ended by itself.
    pub reason: String,
}

/// The tasks of one daemon. A task that fails or panics takes the daemon down with it, because a
/// daemon without its sweeper only looks healthy.
#[derive(Debug)]
pub struct Tasks {
    tracker: TaskTracker,
    shutdown: Shutdown,
    crashes: UnboundedSender<Crashed>,
    died: UnboundedReceiver<Crashed>,
}

/// Starts tasks that a reload may end; see [`Tasks::group`].
#[derive(Debug, Clone)]
pub struct Group {
    all: TaskTracker,
    own: TaskTracker,
    shutdown: Shutdown,
    crashes: UnboundedSender<Crashed>,
    until: CancellationToken,
}

impl Tasks {
    /// No tasks yet.
    #[must_use]
    pub fn new(shutdown: Shutdown) -> Self {
        let (crashes, died) = unbounded_channel();
        Self { tracker: TaskTracker::new(), shutdown, crashes, died }
    }

    /// Runs a task that is expected to last until `soft` is cancelled.
    pub fn spawn(&self, task: &'static str, future: impl Future<Output = ()> + Send + 'static) {
        self.group_until(self.shutdown.soft.clone()).spawn(task, future);
    }

    /// A group of tasks that end together: at the stop of the daemon, or before.
    #[must_use]
    pub fn group(&self) -> Group {
        self.group_until(self.shutdown.soft.child_token())
    }

    fn group_until(&self, until: CancellationToken) -> Group {
        Group {
            all: self.tracker.clone(),
            own: TaskTracker::new(),
            shutdown: self.shutdown.clone(),
            crashes: self.crashes.clone(),
            until,
        }
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

impl Group {
    /// Another group of the same daemon, whose tasks end apart from these.
    #[must_use]
    pub fn sibling(&self) -> Self {
        Self { own: TaskTracker::new(), until: self.shutdown.soft.child_token(), ..self.clone() }
    }

    /// What the tasks of this group watch in order to end.
    #[must_use]
    pub fn until(&self) -> &CancellationToken {
        &self.until
    }

    /// Runs a task that is expected to last until the group is ended or the daemon stops.
    pub fn spawn(&self, task: &'static str, future: impl Future<Output = ()> + Send + 'static) {
        let running = tokio::spawn(future);
        let (crashes, until) = (self.crashes.clone(), self.until.clone());
        let soft = self.shutdown.soft.clone();
        let watched = async move {
            let reason = match running.await {
                Ok(()) if until.is_cancelled() => return,
                Ok(()) => "it ended by itself".to_owned(),
                Err(panic) => panic.to_string(),
            };
            let _ = crashes.send(Crashed { task, reason });
            soft.cancel();
        };
        self.all.spawn(self.own.track_future(watched));
    }

    /// Asks the tasks to end, and waits for them within the grace period. Whether all did.
    pub async fn end(&self) -> bool {
        self.until.cancel();
        self.own.close();
        tokio::time::timeout(GRACE, self.own.wait()).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_group_ends_without_stopping_the_daemon() {
        let shutdown = Shutdown::default();
        let tasks = Tasks::new(shutdown.clone());
        let group = tasks.group();
        let until = group.until().clone();
        group.spawn("worker", async move { until.cancelled().await });
        assert!(group.end().await);
        assert!(!shutdown.soft.is_cancelled());
        shutdown.soft.cancel();
        tasks.finish().await.unwrap();
    }

    #[tokio::test]
    async fn a_task_that_ends_by_itself_stops_the_daemon_and_is_named() {
        let shutdown = Shutdown::default();
        let tasks = Tasks::new(shutdown.clone());
        let group = tasks.group();
        group.spawn("worker", async {});
        shutdown.soft.cancelled().await;
        let crash = tasks.finish().await.unwrap_err();
        assert_eq!(crash.to_string(), "the worker stopped unexpectedly: it ended by itself");
    }

    #[tokio::test]
    async fn the_stop_of_the_daemon_reaches_every_group() {
        let shutdown = Shutdown::default();
        let group = Tasks::new(shutdown.clone()).group();
        let sibling = group.sibling();
        shutdown.soft.cancel();
        assert!(group.until().is_cancelled() && sibling.until().is_cancelled());
    }
}
