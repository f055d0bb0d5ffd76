//! Requests a URL after each complete sweep, so that somebody outside notices when there are none.

use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{SetupError, count, http};
use crate::{clock::SharedClock, telemetry::Metrics};

/// Its name in metrics and logs.
const NAME: &str = "heartbeat";

/// The task that beats.
#[derive(Debug)]
pub(super) struct Heartbeat {
    client: reqwest::Client,
    url: SecretString,
    clock: SharedClock,
    metrics: Arc<Metrics>,
}

impl Heartbeat {
    pub(super) fn new(
        url: SecretString,
        clock: SharedClock,
        metrics: Arc<Metrics>,
    ) -> Result<Self, SetupError> {
        let error = |message| SetupError { channel: NAME.to_owned(), message };
        let parsed = Url::parse(url.expose_secret()).map_err(|_| error("not a URL".to_owned()))?;
        Ok(Self { client: http::client(&parsed).map_err(error)?, url, clock, metrics })
    }

    /// Beats whenever the number of complete sweeps changes; those that end while a beat is under
    /// way share one.
    pub(super) async fn run(self, mut sweeps: watch::Receiver<u64>, cancel: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                changed = sweeps.changed() => if changed.is_err() { return },
            }
            let request = self.client.get(self.url.expose_secret());
            // Whoever ends needs no dead man's switch, and the next process beats anew.
            let sent = tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                sent = http::send(request, self.clock.now()) => sent,
            };
            count(&self.metrics, NAME, &sent);
            if let Err(error) = sent {
                tracing::warn!(%error, "the heartbeat was not taken");
            }
        }
    }
}
