//! Acknowledgements per second of the daemon, against a bare floor: a server that checks the same
//! signature over the same bodies and appends them to a file, many requests per `fdatasync`.
//!
//! Server and load are processes of their own; floor and daemon take turns, and the ratio is formed
//! within a round. `ACK_SECONDS` and `ACK_ROUNDS` change how long it takes, `ACK_SIZES` (bytes,
//! with commas) which bodies.
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on fails")]

mod floor;
mod load;
#[path = "../support/mod.rs"]
mod support;

use std::{
    env,
    process::{Command, Stdio},
    time::Duration,
};

use load::{Load, Measured};
use support::{Daemon, Server, line, median, payloads, scratch};

/// Connections at the same time.
const CONNECTIONS: usize = 64;

/// Different bodies per size.
const BODIES: usize = 64;

fn main() {
    let mut args = env::args().skip(1);
    if args.next().as_deref() == Some("floor") {
        let mut next = || args.next().unwrap();
        floor::serve(next().parse().unwrap(), next().as_ref(), next().as_bytes());
        return;
    }
    let seconds = Duration::from_secs(number("ACK_SECONDS", 4));
    let rounds = number("ACK_ROUNDS", 3);
    let sizes = env::var("ACK_SIZES").unwrap_or_else(|_| "2048,8192,25600".to_owned());
    let sizes: Vec<usize> = sizes.split(',').map(|size| size.parse().unwrap()).collect();
    for size in &sizes {
        compare(&format!("{} KB", size / 1024), payloads(*size, BODIES), rounds, seconds);
    }
    if sizes.len() > 1 {
        let mixed = sizes.iter().flat_map(|size| payloads(*size, BODIES)).collect();
        compare("mixed", mixed, rounds, seconds);
    }
}

fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn compare(name: &str, bodies: Vec<Vec<u8>>, rounds: u64, lasts: Duration) {
    let daemon = Daemon::configure("http://127.0.0.1:9");
    let load = Load::new(bodies, &daemon.secret(), CONNECTIONS, lasts);
    let floor_dir = scratch();
    let address = support::free_address();
    let mut floor = Command::new(env::current_exe().unwrap());
    floor.arg("floor").arg(address.to_string()).arg(floor_dir.path().join("log"));
    floor.arg(String::from_utf8(daemon.secret()).unwrap()).stderr(Stdio::inherit());
    let floor = Server::start(&mut floor, address);
    let server = daemon.serve();

    let (mut ratios, mut floors, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let bare = load.run(&floor);
        let full = load.run(&server);
        ratios.push(full.rate / bare.rate);
        floors.push(bare);
        ours.push(full);
    }
    line(&format!("ack, {name}: floor"), &figures(&floors));
    line(&format!("ack, {name}: redeliverd"), &figures(&ours));
    line(
        &format!("ack, {name}: ratio"),
        &format!(
            "{:.0} % of the floor (rounds: {})",
            median(&ratios) * 100.0,
            ratios.iter().map(|r| format!("{:.0}", r * 100.0)).collect::<Vec<_>>().join(", ")
        ),
    );
}

fn figures(rounds: &[Measured]) -> String {
    let of = |pick: fn(&Measured) -> f64| median(&rounds.iter().map(pick).collect::<Vec<_>>());
    format!(
        "{:>6.0}/s  p50 {:.2} ms  p99 {:.2} ms ({:.1} x)  CPU {:.0} us  disk {:.1} KB per request  peak RSS {:.0} MB",
        of(|m| m.rate),
        of(|m| m.p50),
        of(|m| m.p99),
        of(|m| m.p99 / m.p50),
        of(|m| m.cpu_us),
        of(|m| m.disk_kb),
        of(|m| m.peak_mb),
    )
}
