//! The integration tests: one binary, so that they link once and share their fakes.

mod architecture;
mod cli;
mod daemon;
mod examples;
mod inbox;
mod migrations;
mod store;
mod support;
mod sweep;
