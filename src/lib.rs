//! `redeliverd` records every GitHub webhook, finds the lost ones and has them redelivered.
//!
//! `domain` decides and does nothing else; `store` remembers; `github` speaks to GitHub;
//! `receiver` takes webhooks in; `sweeper` reconciles; `notify` tells operators; `admin` and `cli` show; `app` wires it all.
//! Who may import whom is drawn in ARCHITECTURE.md and enforced by `tests/it/architecture.rs`.

pub mod admin;
pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod doctor;
pub mod domain;
pub mod forward;
pub mod github;
pub mod lifecycle;
pub mod notify;
pub mod receiver;
pub mod report;
pub mod retention;
pub mod sandbox;
pub mod schedule;
pub mod store;
pub mod sweeper;
pub mod telemetry;
