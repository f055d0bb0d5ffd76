//! What the process tells about itself: log lines and metrics.

mod log;
mod metrics;

pub use self::{log::log_to_stderr, metrics::*};
