//! The integration tests: one binary, so that they link once and share their fakes.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]
#![expect(unreachable_pub, reason = "nothing here is a library")]

mod architecture;
mod cli;
mod daemon;
mod drill;
mod examples;
mod migrations;
mod store;
mod support;
mod sweep;
