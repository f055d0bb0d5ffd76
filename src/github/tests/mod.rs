//! The client against small servers on loopback, and its readers against odd text.

mod calls;
mod limits;
mod pages;
mod scrub;
mod server;
mod tokens;
mod wire;

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, Utc};

use super::{Client, transport::Timing};
use crate::{
    clock::{ManualClock, SharedClock},
    config::{Api, Credential},
    domain::ids::AttemptId,
};

const KEY: &str = include_str!("../../../tests/fixtures/app-key.pem");

/// The moment at which every test's clock stands.
fn noon() -> DateTime<Utc> {
    "2026-11-30T12:00:00Z".parse().unwrap()
}

fn api(base: &str) -> Api {
    let credential = Credential::App { issuer: "4242".to_owned(), private_key: KEY.into() };
    Api { base: base.parse().unwrap(), credential }
}

/// A client without waits between tries, at noon.
fn client(base: &str) -> Client {
    client_with(base, Arc::new(ManualClock::new(noon())), timing())
}

fn client_with(base: &str, clock: SharedClock, timing: Timing) -> Client {
    Client::with_timing(&api(base), clock, timing).unwrap()
}

fn timing() -> Timing {
    Timing { waits: [Duration::ZERO; 2], ..Timing::DEFAULT }
}

fn attempt(id: u64) -> AttemptId {
    AttemptId::new(id).unwrap()
}
