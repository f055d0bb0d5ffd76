//! Turns a cron expression into ticks on channels, and nothing else.
//!
//! `tokio-cron-scheduler` is used as a metronome in UTC only: it prevents no overlap, waits for no
//! job at shutdown, and freezes the offset of a time zone. So its job does nothing but `try_send`;
//! whoever owns the receiving end does one thing at a time.

use std::sync::Arc;

use thiserror::Error;
use tokio::sync::mpsc::{Sender, error::TrySendError};
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};

/// What is called when a tick finds its channel full: the last one is not taken yet.
pub type OnSkip = Arc<dyn Fn() + Send + Sync>;

/// The schedule could not be set up.
#[derive(Debug, Error)]
#[error("cannot schedule {expression:?}: {source}")]
pub struct ScheduleError {
    expression: String,
    source: JobSchedulerError,
}

/// A running schedule. Dropping it does not stop it; [`Schedule::stop`] does.
pub struct Schedule {
    scheduler: JobScheduler,
}

impl Schedule {
    /// Sends one tick into `ticks` at every run of `expression`: six fields, seconds first, UTC.
    /// A full channel calls `on_skip` instead.
    ///
    /// # Errors
    /// When the expression is not understood.
    pub async fn start(
        expression: &str,
        ticks: Sender<()>,
        on_skip: OnSkip,
    ) -> Result<Self, ScheduleError> {
        let error = |source| ScheduleError { expression: expression.to_owned(), source };
        let scheduler = JobScheduler::new().await.map_err(error)?;
        let job = Job::new_async(expression, move |_, _| {
            if let Err(TrySendError::Full(())) = ticks.try_send(()) {
                on_skip();
            }
            Box::pin(std::future::ready(()))
        })
        .map_err(error)?;
        scheduler.add(job).await.map_err(error)?;
        scheduler.start().await.map_err(error)?;
        Ok(Self { scheduler })
    }

    /// Stops ticking. Nothing is to be waited for.
    ///
    /// # Errors
    /// When it was stopped before.
    pub async fn stop(mut self) -> Result<(), JobSchedulerError> {
        self.scheduler.shutdown().await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn it_ticks_and_counts_the_ticks_that_nobody_takes() {
        let (ticks, mut taken) = mpsc::channel(1);
        let (skips, mut skipped) = mpsc::channel(8);
        let count = Arc::new(AtomicU32::new(0));
        let counting = Arc::clone(&count);
        let on_skip: OnSkip = Arc::new(move || {
            counting.fetch_add(1, Ordering::Relaxed);
            let _full = skips.try_send(());
        });
        let schedule = Schedule::start("* * * * * *", ticks, on_skip).await.unwrap();
        // The first tick stays in the channel, so the second finds it full.
        skipped.recv().await.unwrap();
        assert!(taken.recv().await.is_some());
        assert!(count.load(Ordering::Relaxed) >= 1);
        schedule.stop().await.unwrap();
    }

    #[tokio::test]
    async fn five_fields_are_refused_by_name() {
        let (ticks, _taken) = mpsc::channel(1);
        let Err(error) = Schedule::start("*/2 * * * *", ticks, Arc::new(|| {})).await else {
            panic!("accepted")
        };
        assert!(error.to_string().contains("*/2 * * * *"), "{error}");
    }
}
