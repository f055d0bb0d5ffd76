//! A progress bar on long work, when standard error is a terminal.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};
use tokio::{sync::watch, task::JoinHandle};

use crate::sweeper::Progress;

/// Follows a sweep until [`Bar::finish`].
pub(super) struct Bar {
    bar: ProgressBar,
    follower: Option<JoinHandle<()>>,
}

impl Bar {
    /// Shows where the sweep is; nothing where nobody looks.
    pub(super) fn follow(mut progress: watch::Receiver<Progress>) -> Self {
        if !stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden(), follower: None };
        }
        let bar = ProgressBar::new_spinner();
        let moving = bar.clone();
        let follower = tokio::spawn(async move {
            while progress.changed().await.is_ok() {
                let seen = *progress.borrow_and_update();
                draw(&moving, seen);
            }
        });
        Self { bar, follower: Some(follower) }
    }

    /// Removes the bar.
    pub(super) fn finish(self) {
        if let Some(follower) = self.follower {
            follower.abort();
        }
        self.bar.finish_and_clear();
    }
}

fn draw(bar: &ProgressBar, progress: Progress) {
    match progress {
        Progress::Idle => {}
        Progress::Listing { rows } => bar.set_message(format!("reading the list: {rows} rows")),
        Progress::Judging { deliveries } => bar.set_message(format!("judging: {deliveries}")),
        Progress::Asking { made, of } => {
            if bar.length() != Some(u64::from(of)) {
                bar.set_length(u64::from(of));
                if let Ok(style) = ProgressStyle::with_template("asking {bar:30} {pos}/{len} {eta}")
                {
                    bar.set_style(style);
                }
            }
            bar.set_position(u64::from(made));
        }
    }
    bar.tick();
}
