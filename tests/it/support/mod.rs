//! What the tests share: a bench with a simulated GitHub, a receiver, a store and a sweeper.

mod bench;
mod receiver;

pub use self::bench::{Bench, PERIOD, app_hook, memory_of, minutes, start};
pub mod daemon;
