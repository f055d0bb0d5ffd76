//! What the tests share: databases of their own, a bench with a simulated GitHub, a receiver, a store
//! and a sweeper, and the program that ships.

pub(crate) mod backends;
mod bench;
pub mod daemon;
pub(crate) mod postgres;
mod receiver;

pub use self::bench::{Bench, PERIOD, app_hook, memory_of, minutes, start};
