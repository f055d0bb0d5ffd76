//! What the service manager is told: ready, reloading, stopping, one line of status, signs of life.
//!
//! Nothing here can fail or stop the daemon: a thread of its own sends, because a manager that does
//! not read would make whoever sends wait, and what cannot be sent is noted and forgotten.

use std::{
    ffi::OsStr,
    fmt::Write as _,
    future::Future,
    io,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixDatagram},
        },
    },
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
    time::Duration,
};

use sd_notify::NotifyState;

/// How much more time is asked for while the start takes long, and how often.
const EXTENSION: Duration = Duration::from_mins(1);
const EXTEND_EVERY: Duration = Duration::from_secs(15);

/// Messages that may wait for a manager that does not read; later ones are dropped.
const QUEUE: usize = 64;

/// How long the last messages may take to leave.
const FLUSH: Duration = Duration::from_secs(1);

/// What the sending thread is asked for.
enum Message {
    Say(String),
    /// To answer once everything before it is sent.
    Flush(SyncSender<()>),
}

/// The service manager, if one listens (`$NOTIFY_SOCKET`). By default nobody does.
#[derive(Debug, Clone, Default)]
pub struct ServiceManager {
    messages: Option<SyncSender<Message>>,
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// Whoever started this process, as its environment tells.
    #[must_use]
    pub fn of_process() -> Self {
        let name = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty());
        let messages = name.and_then(|name| match address(&name) {
            Ok(address) => sender(address),
            Err(error) => {
                tracing::warn!(%error, "$NOTIFY_SOCKET cannot be used; nobody is told");
                None
            }
        });
        let watchdog = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero());
        Self { watchdog: watchdog.filter(|_| messages.is_some()), messages }
    }

    /// Whether anybody listens.
    #[must_use]
    pub fn listens(&self) -> bool {
        self.messages.is_some()
    }

    /// How long the manager waits for a sign of life before it kills us. `None`: for ever.
    #[must_use]
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// The listeners are bound and the schema is up to date.
    pub fn ready(&self, status: &str) {
        self.tell(&[NotifyState::Ready, NotifyState::Status(&one_line(status))]);
    }

    /// A reload begins; [`ready`](Self::ready) ends it.
    pub fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => self.tell(&[
                NotifyState::Reloading,
                now,
                NotifyState::Status("reading the configuration again"),
            ]),
            Err(error) => tracing::debug!(%error, "no monotonic clock"),
        }
    }

    /// We are on our way out.
    pub fn stopping(&self, status: &str) {
        self.tell(&[NotifyState::Stopping, NotifyState::Status(&one_line(status))]);
    }

    /// One line for people.
    pub fn status(&self, line: &str) {
        self.tell(&[NotifyState::Status(&one_line(line))]);
    }

    /// A sign of life.
    pub(super) fn alive(&self) {
        self.tell(&[NotifyState::Watchdog]);
    }

    /// Runs a step of the start that may take long, asking for more time again and again, so that
    /// the start time-out is no reason to kill it.
    pub async fn patiently<T>(&self, what: &str, step: impl Future<Output = T>) -> T {
        let mut step = std::pin::pin!(step);
        let more = u32::try_from(EXTENSION.as_micros()).unwrap_or(u32::MAX);
        loop {
            self.tell(&[NotifyState::ExtendTimeoutUsec(more), NotifyState::Status(what)]);
            tokio::select! {
                done = step.as_mut() => return done,
                () = tokio::time::sleep(EXTEND_EVERY) => {}
            }
        }
    }

    /// Until what was told is sent, or the manager does not read: before the process ends.
    pub async fn flush(&self) {
        let Some(messages) = &self.messages else { return };
        let (done, sent) = sync_channel(1);
        if messages.try_send(Message::Flush(done)).is_ok() {
            let waited = tokio::task::spawn_blocking(move || sent.recv_timeout(FLUSH)).await;
            if !matches!(waited, Ok(Ok(()))) {
                tracing::debug!("the service manager does not listen");
            }
        }
    }

    fn tell(&self, states: &[NotifyState<'_>]) {
        let Some(messages) = &self.messages else { return };
        let mut message = String::new();
        for state in states {
            // Writing to a string cannot fail.
            let _ = writeln!(message, "{state}");
        }
        if messages.try_send(Message::Say(message)).is_err() {
            tracing::debug!("the service manager does not listen");
        }
    }
}

/// The address that a name means: a path, or with `@` in front one in the abstract namespace.
/// `sd-notify` takes the latter for a path, so the sending is ours.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    match name.as_bytes() {
        [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest),
        _ => SocketAddr::from_pathname(name),
    }
}

/// The thread that sends; `None`, and a warning, when there can be none.
fn sender(address: SocketAddr) -> Option<SyncSender<Message>> {
    let (messages, queue) = sync_channel(QUEUE);
    let started =
        thread::Builder::new().name("notify".to_owned()).spawn(move || send(&queue, &address));
    match started {
        Ok(_running) => Some(messages),
        Err(error) => {
            tracing::warn!(%error, "the service manager cannot be told anything");
            None
        }
    }
}

fn send(queue: &Receiver<Message>, address: &SocketAddr) {
    for message in queue {
        let text = match message {
            Message::Say(text) => text,
            Message::Flush(done) => {
                let _gone = done.try_send(());
                continue;
            }
        };
        let told = UnixDatagram::unbound()
            .and_then(|socket| socket.send_to_addr(text.trim_end().as_bytes(), address));
        if let Err(error) = told {
            tracing::debug!(%error, "the service manager could not be told");
        }
    }
}

/// Line breaks would begin another assignment of the protocol.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
