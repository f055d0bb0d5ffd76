//! The sockets of one daemon: passed in by the service manager, or bound.

use std::net::SocketAddr;

use anyhow::Context as _;
use tokio::net::TcpListener;

use crate::{config::Config, lifecycle::Inherited};

/// The bound sockets of one daemon.
#[derive(Debug)]
pub struct Listeners {
    /// GitHub's requests.
    pub receiver: TcpListener,
    /// Health, metrics, API.
    pub admin: TcpListener,
}

impl Listeners {
    /// Takes the sockets that came with the process, and binds what the configuration says where
    /// none came.
    ///
    /// # Errors
    /// Names the key and the address that cannot be bound.
    pub async fn bind(config: &Config, inherited: Inherited) -> anyhow::Result<Self> {
        let Inherited { receiver, admin } = inherited;
        Ok(Self {
            receiver: listener("receiver.listen", config.receiver.listen, receiver).await?,
            admin: listener("admin.listen", config.admin.listen, admin).await?,
        })
    }
}

async fn listener(
    key: &str,
    address: SocketAddr,
    inherited: Option<std::net::TcpListener>,
) -> anyhow::Result<TcpListener> {
    let Some(inherited) = inherited else {
        let bound = TcpListener::bind(address).await;
        return bound.with_context(|| format!("cannot listen on {address} ({key})"));
    };
    let listener = TcpListener::from_std(inherited)
        .with_context(|| format!("cannot use the service manager's socket ({key})"))?;
    let given = listener.local_addr()?;
    if given != address {
        tracing::warn!(%given, configured = %address, "{key} is not used: the socket was passed in");
    }
    Ok(listener)
}
