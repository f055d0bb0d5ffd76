//! Asking for a reload, by SIGHUP or by request, and getting an answer.

use std::io;

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::{mpsc, oneshot},
};

/// Requests that may wait in line.
const QUEUE: usize = 4;

/// What a reload did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reloaded {
    /// How many hooks there are now.
    pub hooks: usize,
    /// Keys whose new value takes effect at the next start only.
    pub needs_restart: Vec<&'static str>,
}

type Reply = oneshot::Sender<Result<Reloaded, String>>;

/// How a reload is asked for. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Ask(mpsc::Sender<Reply>);

/// Where the asking arrives.
#[derive(Debug)]
pub struct Asks {
    requests: mpsc::Receiver<Reply>,
    hangups: Option<Signal>,
}

/// The two ends.
#[must_use]
pub fn asks() -> (Ask, Asks) {
    let (sender, requests) = mpsc::channel(QUEUE);
    (Ask(sender), Asks { requests, hangups: None })
}

impl Ask {
    /// Has the configuration read again.
    ///
    /// # Errors
    /// Says why the old configuration stays.
    pub async fn reload(&self) -> Result<Reloaded, String> {
        let ended = || "the daemon is stopping".to_owned();
        let (reply, answer) = oneshot::channel();
        self.0.send(reply).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }
}

impl Asks {
    /// SIGHUP asks too. Until this is called it kills the process.
    ///
    /// # Errors
    /// When the signal handler cannot be installed.
    pub fn on_hangup(&mut self) -> io::Result<()> {
        self.hangups = Some(signal(SignalKind::hangup())?);
        Ok(())
    }

    /// The next time somebody asks, and where the answer goes; a signal wants none.
    pub async fn next(&mut self) -> Option<Reply> {
        let hangup = async {
            match &mut self.hangups {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(reply) = self.requests.recv() => Some(reply),
            Some(()) = hangup => None,
            else => std::future::pending().await,
        }
    }
}
