//! What the benches share: payloads, a daemon in its own process, and what the kernel says of it.
#![allow(dead_code, reason = "each bench uses its part")]
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::{
    fs,
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use redeliverd::sandbox::{github::events::Generator, story::write_app};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The longest that a server is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// A directory on the disk that holds the build, removed at the end; `/tmp` may be memory.
pub(crate) fn scratch() -> TempDir {
    tempfile::Builder::new().prefix("bench-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A loopback address that nothing uses.
pub(crate) fn free_address() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Different payloads of exactly `size` bytes each: real-looking events, with more of their kind
/// inside and the rest filled with the text of one.
pub(crate) fn payloads(size: usize, count: usize) -> Vec<Vec<u8>> {
    let mut events = Generator::new(size as u64);
    (0..count)
        .map(|_| {
            let mut payload: Value = serde_json::from_slice(&events.any().payload).unwrap();
            if payload.to_string().len() + 64 > size {
                // Small ones keep what the receiver looks at; their text comes in `rest`.
                payload = json!({
                    "action": payload["action"],
                    "installation": payload["installation"],
                    "repository": { "id": payload["repository"]["id"] },
                });
            }
            payload["more"] = Value::Array(Vec::new());
            payload["rest"] = Value::String(String::new());
            let filling = loop {
                let left = size - payload.to_string().len();
                let next = events.any().payload;
                if next.len() + 1 > left {
                    break (left, next);
                }
                let next = serde_json::from_slice(&next).unwrap();
                payload["more"].as_array_mut().unwrap().push(next);
            };
            let (left, text) = filling;
            let plain = |byte: &u8| byte.is_ascii() && !matches!(byte, b'"' | b'\\');
            let rest = text.iter().copied().filter(plain).cycle().take(left).map(char::from);
            payload["rest"] = Value::String(rest.collect());
            payload.to_string().into_bytes()
        })
        .collect()
}

/// A server in a process of its own; killed on drop.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

/// What the kernel counted for a process.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) cpu: Duration,
    pub(crate) rss_kib: u64,
    pub(crate) peak_kib: u64,
    pub(crate) written: u64,
}

impl Server {
    /// Starts it and waits until `address` takes connections.
    pub(crate) fn start(command: &mut Command, address: SocketAddr) -> Self {
        let child = command.stdin(Stdio::null()).spawn().unwrap();
        let server = Self { child, address };
        Self::wait(address);
        server
    }

    /// Waits until `address` takes connections.
    pub(crate) fn wait(address: SocketAddr) {
        let end = Instant::now() + PATIENCE;
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < end, "nothing listens on {address}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        usage(self.child.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Of any process, this one included.
pub(crate) fn usage(pid: u32) -> Usage {
    let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let field = |text: &str, key: &str| -> u64 {
        let line = text.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
    };
    let (status, io, stat) = (read("status"), read("io"), read("stat"));
    // Fields 14 and 15 of the whole line, in ticks of 10 ms; the name before them may hold spaces.
    let times = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    let ticks: u64 = times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Usage {
        cpu: Duration::from_millis(ticks * 10),
        rss_kib: field(&status, "VmRSS:"),
        peak_kib: field(&status, "VmHWM:"),
        written: field(&io, "write_bytes:"),
    }
}

/// A configuration for a daemon that nobody but the bench talks to.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) dir: TempDir,
    pub(crate) receiver: SocketAddr,
    pub(crate) admin: SocketAddr,
}

impl Daemon {
    /// `api` is the base URL of the GitHub it sweeps.
    pub(crate) fn configure(api: &str) -> Self {
        let dir = scratch();
        let (receiver, admin) = (free_address(), free_address());
        let app = write_app(dir.path(), format!("http://{receiver}/webhook")).unwrap();
        let text = format!(
            "[receiver]\nlisten = \"{receiver}\"\n[admin]\nlisten = \"{admin}\"\n\
             {}api_url = \"{api}\"\n[sweep]\nschedule = \"0 0 0 1 1 *\"\n",
            app.entry
        );
        fs::write(dir.path().join("redeliverd.toml"), text).unwrap();
        Self { dir, receiver, admin }
    }

    pub(crate) fn secret(&self) -> Vec<u8> {
        fs::read(self.dir.path().join("webhook.secret")).unwrap()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.dir.path().join("redeliverd.db")
    }

    /// The shipped binary with this configuration.
    pub(crate) fn command(&self) -> Command {
        let log = fs::File::create(self.dir.path().join("serve.log")).unwrap();
        let mut command = Command::new(binary());
        command.arg("--config").arg(self.dir.path().join("redeliverd.toml")).arg("serve");
        command.stdout(Stdio::null()).stderr(log);
        command
    }

    pub(crate) fn serve(&self) -> Server {
        Server::start(&mut self.command(), self.receiver)
    }
}

/// The binary, built with the options of a release.
pub(crate) fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_redeliverd"))
}

/// The middle value; of an even number the lower middle one.
pub(crate) fn median(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

/// The value that a share of `at` of all values does not exceed.
pub(crate) fn percentile(values: &[f64], at: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "few values"
    )]
    let index = ((sorted.len() - 1) as f64 * at) as usize;
    sorted[index]
}

/// One line of figures.
pub(crate) fn line(what: &str, figures: &str) {
    println!("{what:<28} {figures}");
}
