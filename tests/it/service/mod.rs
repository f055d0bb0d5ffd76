//! At home under a service manager: notify socket, watchdog, reload, inherited sockets, listener.

mod listener;
mod manager;
mod notify;
mod reload;
mod sockets;
mod stop;
