//! What operators are told: the requests of each channel, and stories through the daemon.

mod hanging;
mod mail;
mod real;
mod requests;
mod stories;
