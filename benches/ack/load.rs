//! The load: signed requests over kept connections, one after the other on each, a new GUID each.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use aws_lc_rs::hmac::{self, HMAC_SHA256, Key};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use uuid::Uuid;

use crate::support::{Server, percentile};

/// Not measured: connections are made, caches fill.
const WARM_UP: Duration = Duration::from_millis(500);

/// Signed bodies, and how they are sent.
pub(crate) struct Load {
    requests: Arc<[Prepared]>,
    connections: usize,
    lasts: Duration,
}

/// A request but for its GUID.
struct Prepared {
    head: String,
    body: Vec<u8>,
}

/// What one run showed.
pub(crate) struct Measured {
    pub(crate) rate: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) cpu_us: f64,
    pub(crate) disk_kb: f64,
    pub(crate) peak_mb: f64,
}

impl Load {
    pub(crate) fn new(
        bodies: Vec<Vec<u8>>,
        secret: &[u8],
        connections: usize,
        lasts: Duration,
    ) -> Self {
        let key = Key::new(HMAC_SHA256, secret);
        let requests = bodies
            .into_iter()
            .map(|body| {
                let signature = hex::encode(hmac::sign(&key, &body));
                let head = format!(
                    "POST /webhook HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\
                     User-Agent: GitHub-Hookshot/0a1b2c3\r\nContent-Type: application/json\r\n\
                     X-GitHub-Event: workflow_job\r\nX-GitHub-Hook-ID: 55\r\n\
                     X-GitHub-Hook-Installation-Target-ID: 4242\r\n\
                     X-GitHub-Hook-Installation-Target-Type: integration\r\n\
                     X-Hub-Signature-256: sha256={signature}\r\nContent-Length: {}\r\n\
                     X-GitHub-Delivery: ",
                    body.len()
                );
                Prepared { head, body }
            })
            .collect();
        Self { requests, connections, lasts }
    }

    /// Loads one server for a while, from one thread.
    pub(crate) fn run(&self, server: &Server) -> Measured {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let begin = Instant::now() + WARM_UP;
            let end = begin + self.lasts;
            let clients: Vec<_> = (0..self.connections)
                .map(|nth| {
                    let requests = Arc::clone(&self.requests);
                    tokio::spawn(client(server.address, requests, nth, begin, end))
                })
                .collect();
            tokio::time::sleep_until(begin.into()).await;
            let before = server.usage();
            tokio::time::sleep_until(end.into()).await;
            let after = server.usage();
            let mut took = Vec::new();
            for client in clients {
                took.extend(client.await.unwrap().unwrap());
            }
            #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
            let (count, written) =
                (took.len() as f64, after.written.saturating_sub(before.written) as f64);
            #[expect(clippy::cast_precision_loss, reason = "a size in KiB")]
            let peak_mb = after.peak_kib as f64 / 1024.0;
            Measured {
                rate: count / self.lasts.as_secs_f64(),
                p50: percentile(&took, 0.5),
                p99: percentile(&took, 0.99),
                cpu_us: after.cpu.saturating_sub(before.cpu).as_secs_f64() * 1e6 / count,
                disk_kb: written / 1024.0 / count,
                peak_mb,
            }
        })
    }
}

/// Milliseconds per request answered after `begin` and before `end`.
async fn client(
    address: std::net::SocketAddr,
    requests: Arc<[Prepared]>,
    nth: usize,
    begin: Instant,
    end: Instant,
) -> io::Result<Vec<f64>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut took, mut out, mut buffer) = (Vec::new(), Vec::new(), vec![0; 4096]);
    for request in requests.iter().cycle().skip(nth) {
        out.clear();
        out.extend_from_slice(request.head.as_bytes());
        out.extend_from_slice(Uuid::new_v4().to_string().as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(&request.body);
        let started = Instant::now();
        stream.write_all(&out).await?;
        let code = answer(&mut stream, &mut buffer).await?;
        assert_eq!(code, "202");
        let ended = Instant::now();
        if ended >= end {
            break;
        }
        if ended >= begin {
            took.push((ended - started).as_secs_f64() * 1e3);
        }
    }
    Ok(took)
}

/// Reads one whole response; its code.
async fn answer(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<String> {
    let mut filled = 0;
    loop {
        let more = stream.read(&mut buffer[filled..]).await?;
        assert!(more > 0, "the server hung up");
        filled += more;
        let text = std::str::from_utf8(&buffer[..filled]).unwrap_or_default();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        if body.len() >= length {
            return Ok(head.split(' ').nth(1).unwrap_or_default().to_owned());
        }
    }
}
