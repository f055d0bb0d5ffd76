//! One task per hook that owns sweeping: at start, at ticks and on request, one sweep at a time.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{Request, Sweep, SweepError, Sweeper, Trigger};

/// Requests by hand that may wait in line.
const QUEUE: usize = 16;

type Reply = oneshot::Sender<Result<Sweep, SweepError>>;

/// How the rest of the program reaches a worker. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Handle {
    sweeper: Arc<Sweeper>,
    ticks: mpsc::Sender<()>,
    manual: mpsc::Sender<(Request, Reply)>,
}

/// The end of one sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// Nothing of the list is left unread.
    pub complete: bool,
}

/// The task; runs until it is cancelled.
#[derive(Debug)]
pub struct Worker {
    sweeper: Arc<Sweeper>,
    swept: Option<mpsc::Sender<Swept>>,
    ticks: mpsc::Receiver<()>,
    manual: mpsc::Receiver<(Request, Reply)>,
}

/// A worker for one hook and the handle to reach it.
#[must_use]
pub fn worker(sweeper: Arc<Sweeper>) -> (Handle, Worker) {
    let (tick_sender, ticks) = mpsc::channel(1);
    let (manual_sender, manual) = mpsc::channel(QUEUE);
    let handle =
        Handle { sweeper: Arc::clone(&sweeper), ticks: tick_sender, manual: manual_sender };
    (handle, Worker { sweeper, swept: None, ticks, manual })
}

impl Handle {
    /// For requests by hand, which wait for no sweep.
    #[must_use]
    pub fn sweeper(&self) -> &Sweeper {
        &self.sweeper
    }

    /// Where the schedule sends its ticks: room for one.
    #[must_use]
    pub fn ticks(&self) -> mpsc::Sender<()> {
        self.ticks.clone()
    }

    /// Has one sweep made after those before it in line.
    ///
    /// # Errors
    /// As [`Sweeper::sweep`], and [`SweepError::Ended`] after a shutdown.
    pub async fn sweep(&self, request: Request) -> Result<Sweep, SweepError> {
        let (reply, answer) = oneshot::channel();
        self.manual.send((request, reply)).await.map_err(|_| SweepError::Ended)?;
        answer.await.unwrap_or(Err(SweepError::Ended))
    }
}

impl Worker {
    /// The same, telling `swept` of the end of each sweep, as long as it keeps up.
    #[must_use]
    pub fn telling(mut self, swept: mpsc::Sender<Swept>) -> Self {
        self.swept = Some(swept);
        self
    }

    /// Sweeps once at once, then at every tick and request, until `cancel`.
    pub async fn run(mut self, cancel: CancellationToken) {
        self.by_itself(Trigger::Startup, &cancel).await;
        loop {
            self.skip_missed_ticks();
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                Some((request, reply)) = self.manual.recv() => {
                    let swept = self.sweeper.sweep(&request, &cancel).await;
                    self.tell(&swept);
                    // Whoever asked may have gone away; the sweep is recorded all the same.
                    let _gone = reply.send(swept);
                }
                Some(()) = self.ticks.recv() => self.by_itself(Trigger::Scheduled, &cancel).await,
                else => return,
            }
        }
    }

    /// Nobody waits for the result of such a sweep, so its errors are logged here.
    async fn by_itself(&self, trigger: Trigger, cancel: &CancellationToken) {
        let request = Request::new(trigger);
        let hook = &self.sweeper.settings().hook.name;
        let swept = self.sweeper.sweep(&request, cancel).await;
        self.tell(&swept);
        match swept {
            Ok(Sweep::Done(_)) => {}
            Ok(Sweep::Skipped { owner, until }) => {
                tracing::info!(%hook, owner, %until, "another sweep runs; this one is skipped");
                self.sweeper.tick_skipped();
            }
            Err(error) => tracing::error!(%hook, %error, "the sweep failed"),
        }
    }

    fn tell(&self, swept: &Result<Sweep, SweepError>) {
        if let (Some(to), Ok(Sweep::Done(report))) = (&self.swept, swept) {
            // Whoever does not keep up looks by itself in a moment.
            let _full = to.try_send(Swept { complete: report.complete && !report.dry_run });
        }
    }

    /// A tick that came while a sweep ran is not made up for.
    fn skip_missed_ticks(&mut self) {
        while self.ticks.try_recv().is_ok() {
            self.sweeper.tick_skipped();
        }
    }
}
