//! What the tests share: databases, a bench with a simulated GitHub, and the shipped program.

pub mod address;
pub mod application;
pub mod backends;
mod bench;
pub mod daemon;
pub mod leaks;
pub mod postgres;
mod receiver;
pub mod sink;
pub mod small_disk;
pub mod smtp;

pub use self::bench::{Bench, PERIOD, app_hook, minutes, start};
