//! The integration tests: one binary, so that they link once and share their fakes.

#![expect(unreachable_pub, reason = "what is shared says `pub`; nothing outside can reach it")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod alerts;
mod architecture;
mod cli;
mod daemon;
mod days;
mod dead;
mod disk;
mod doctor;
mod drill;
mod examples;
mod forward;
mod inbox;
mod migrations;
mod packaging;
mod receiver;
mod schedule;
mod secrets;
mod service;
mod store;
mod support;
mod sweep;
