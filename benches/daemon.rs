//! The shipped binary: its size, the time from start to ready, and the memory it takes when idle.
#![expect(
    clippy::cast_precision_loss,
    clippy::unwrap_used,
    reason = "a bench that cannot go on fails"
)]

#[path = "support/mod.rs"]
mod support;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use redeliverd::{
    clock::SystemClock,
    sandbox::{
        github::{Settings, SimulatedGithub, World},
        story::write_app,
    },
};
use support::{Daemon, Server, line, median};
use tokio::net::TcpListener;

/// Starts; the median counts.
const ROUNDS: usize = 10;

#[tokio::main]
async fn main() {
    let bytes = std::fs::metadata(support::binary()).unwrap().len();
    line("daemon, binary", &format!("{:.1} MB", bytes as f64 / 1e6));

    let world = World::new(Arc::new(SystemClock), Settings::cloud()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let github = SimulatedGithub::start(world.clone(), listener).unwrap();
    let daemon = Daemon::configure(&github.base_url);
    let app = write_app(daemon.dir.path(), format!("http://{}/webhook", daemon.receiver)).unwrap();
    world.add_hook(app.setup);

    let measured = tokio::task::spawn_blocking(move || {
        let (mut listening, mut ready, mut idle) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let started = Instant::now();
            let server = Server::start(&mut daemon.command(), daemon.receiver);
            listening.push(started.elapsed().as_secs_f64() * 1e3);
            while !is_ready(daemon.admin) {
                assert!(started.elapsed() < Duration::from_secs(20), "never ready");
                std::thread::sleep(Duration::from_millis(1));
            }
            // The first start also creates the database.
            ready.push(started.elapsed().as_secs_f64() * 1e3);
            if round + 1 == ROUNDS {
                std::thread::sleep(Duration::from_secs(5));
            }
            idle.push(server.usage());
        }
        (listening, ready, idle)
    });
    let (listening, ready, idle) = measured.await.unwrap();
    line(
        "daemon, start",
        &format!(
            "receiver listens after {:.0} ms, /readyz says ready after {:.0} ms (the very first \
             start, with a new database: {:.0} ms)",
            median(&listening[1..]),
            median(&ready[1..]),
            ready[0]
        ),
    );
    let last = idle[ROUNDS - 1];
    line(
        "daemon, idle memory",
        &format!(
            "{:.1} MB five seconds after the start, {:.1} MB at most",
            last.rss_kib as f64 / 1024.0,
            last.peak_kib as f64 / 1024.0
        ),
    );
}

/// Whether `/readyz` answers 200 and says ready.
fn is_ready(admin: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(admin) else { return false };
    let request = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut answer = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.starts_with("HTTP/1.1 200")
        && answer.contains("\"ready\"")
}
