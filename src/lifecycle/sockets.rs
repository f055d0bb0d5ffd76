//! Listening sockets that the service manager bound for us (`$LISTEN_FDS`).
//!
//! They outlive a restart, so that no connection is refused while no process is there to accept it.

use std::net::TcpListener;

use listenfd::ListenFd;

/// The names that a socket unit gives (`FileDescriptorName=`).
const RECEIVER: &str = "receiver";
const ADMIN: &str = "admin";

/// The sockets that came with the process.
#[derive(Debug, Default)]
pub struct Inherited {
    /// For GitHub's requests.
    pub receiver: Option<TcpListener>,
    /// For the admin listener.
    pub admin: Option<TcpListener>,
}

/// What came cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// A file descriptor is no listening TCP socket.
    #[error("the socket {name:?} of the service manager cannot be used: {source}")]
    Unusable {
        /// Its name.
        name: String,
        /// Why not.
        source: std::io::Error,
    },
    /// Two for the same purpose.
    #[error("the service manager passes two sockets for the {0}; list one address in its unit")]
    Twice(&'static str),
    /// A name that means nothing.
    #[error(
        "the service manager passes a socket named {0:?}; FileDescriptorName must be receiver or \
         admin"
    )]
    Unknown(String),
}

impl Inherited {
    /// Takes what this process was given; a second call finds nothing. A sole socket without one
    /// of the known names is the receiver's, since a socket unit names its socket after itself.
    ///
    /// # Errors
    /// When a socket cannot be used, so that a mistake in a unit does not show as a second,
    /// unreachable listener.
    pub fn take() -> Result<Self, SocketError> {
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        let mut passed = ListenFd::from_env();
        let mut names = names.split(':');
        let mut inherited = Self::default();
        let sole = passed.len() == 1;
        for index in 0..passed.len() {
            let name = names.next().unwrap_or_default().to_owned();
            let (slot, purpose) = match name.as_str() {
                RECEIVER => (&mut inherited.receiver, RECEIVER),
                ADMIN => (&mut inherited.admin, ADMIN),
                _ if sole => (&mut inherited.receiver, RECEIVER),
                _ => return Err(SocketError::Unknown(name)),
            };
            if slot.is_some() {
                return Err(SocketError::Twice(purpose));
            }
            let taken = passed.take_tcp_listener(index).and_then(|listener| {
                if let Some(listener) = &listener {
                    listener.set_nonblocking(true)?;
                }
                Ok(listener)
            });
            *slot = taken.map_err(|source| SocketError::Unusable { name, source })?;
        }
        Ok(inherited)
    }
}
