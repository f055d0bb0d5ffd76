//! `redeliverd` records every GitHub webhook, finds the lost ones and has them redelivered.

pub mod clock;
pub mod config;
pub mod domain;
pub mod github;
pub mod sandbox;
pub mod schedule;
pub mod store;
pub mod sweeper;
pub mod telemetry;
