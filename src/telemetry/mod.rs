//! What the process tells about itself: log lines and metrics.

mod log;
mod metrics;
mod plain;

pub use self::{log::log_to_stderr, metrics::*, plain::plain};
