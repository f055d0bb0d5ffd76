//! Tracing set-up: one subscriber, to standard error, as text or JSON.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::{EnvFilter, Layer, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use crate::config::LogFormat;

/// Libraries that speak too much at `info`; said once here, overridable by `RUST_LOG`.
const QUIET: &str = "tokio_cron_scheduler=warn,sqlx=warn,octocrab=warn,hyper=warn,tower=warn";

/// Starts logging to standard error. `RUST_LOG` overrides the given level. A second call changes
/// nothing.
pub fn log_to_stderr(level: &str, format: LogFormat) {
    let filter = std::env::var("RUST_LOG")
        .ok()
        .and_then(|directives| EnvFilter::try_new(directives).ok())
        .or_else(|| EnvFilter::try_new(format!("{QUIET},{level}")).ok())
        .unwrap_or_else(|| EnvFilter::new("info"));
    let json = match format {
        LogFormat::Json => true,
        LogFormat::Text => false,
        LogFormat::Auto => !stderr().is_terminal(),
    };
    let layer = if json {
        fmt::layer().json().flatten_event(true).with_writer(stderr).boxed()
    } else {
        fmt::layer().with_ansi(stderr().is_terminal()).with_writer(stderr).boxed()
    };
    // Fails only when a subscriber is already set, by an earlier call.
    let _ = tracing_subscriber::registry().with(layer.with_filter(filter)).try_init();
}
