//! Loopback addresses for programs that are told where to listen.

use std::{
    net::SocketAddr,
    sync::{Mutex, PoisonError},
};

use tokio::net::TcpSocket;

/// Bound and never listening, so that the addresses stay ours as long as the tests run.
static RESERVED: Mutex<Vec<TcpSocket>> = Mutex::new(Vec::new());

/// A loopback address for a program to listen on, now or later or again after a restart.
///
/// A socket of ours stays bound to it. The system gives such a port to nobody who asks for any free
/// one, while whoever asks for exactly this one may have it: both sides set `SO_REUSEADDR`, and
/// ours does not listen. Until somebody listens, connections are refused.
pub fn free_address() -> SocketAddr {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = socket.local_addr().unwrap();
    RESERVED.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
    address
}

#[test]
fn an_address_is_given_to_nobody_else_and_can_be_listened_on_twice() {
    let address = free_address();
    assert!(std::net::TcpStream::connect(address).is_err());
    let others: Vec<_> =
        (0..300).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    assert!(others.iter().all(|other| other.local_addr().unwrap() != address));
    for _ in 0..2 {
        let listener = std::net::TcpListener::bind(address).unwrap();
        assert!(std::net::TcpStream::connect(address).is_ok());
        drop(listener);
    }
}
