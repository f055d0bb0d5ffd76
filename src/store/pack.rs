//! An arrival as it is stored: bytes compressed when that helps, digest taken, headers as JSON.

use std::cell::RefCell;

use aws_lc_rs::digest::{SHA256, digest};
use chrono::{DateTime, Utc};
use zstd::bulk::{Compressor, decompress};

use super::{Result, dialect::text, error::inconsistent, types::Arrival};

/// Column `encoding`: the bytes as sent.
const RAW: i64 = 0;
/// Column `encoding`: one zstd frame.
const ZSTD: i64 = 1;

/// The fast end of zstd: fewer bytes to sync, next to no time.
const LEVEL: i32 = 1;

/// Bodies from this size on are packed on a blocking thread.
pub(super) const LARGE: usize = 256 * 1024;

/// One row of `receipts`, ready to be bound.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) hook: String,
    pub(super) guid: String,
    pub(super) event: String,
    pub(super) action: Option<String>,
    pub(super) installation_id: Option<i64>,
    pub(super) repository_id: Option<i64>,
    pub(super) via: &'static str,
    pub(super) received_at: DateTime<Utc>,
    pub(super) wanted: bool,
    pub(super) forward: bool,
    pub(super) headers: String,
    pub(super) encoding: i64,
    pub(super) body: Vec<u8>,
    pub(super) body_size: i64,
    pub(super) digest: [u8; 32],
}

thread_local! {
    /// A compressor's tables cost more to set up than a small body takes to compress.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> =
        RefCell::new(Compressor::new(LEVEL).ok());
}

impl Packed {
    pub(super) fn new(arrival: &Arrival) -> Self {
        let (encoding, body) = encode(&arrival.body);
        let mut sha256 = [0; 32];
        sha256.copy_from_slice(digest(&SHA256, &arrival.body).as_ref());
        Self {
            hook: arrival.hook.as_str().to_owned(),
            guid: arrival.guid.as_str().to_owned(),
            event: arrival.event.as_str().to_owned(),
            action: arrival.action.as_deref().map(text),
            installation_id: arrival.installation_id,
            repository_id: arrival.repository_id,
            via: arrival.via.as_str(),
            received_at: arrival.received_at,
            wanted: arrival.wanted,
            forward: arrival.forward,
            // JSON as text, not JSONB, which refuses an escaped NUL. Strings always serialise.
            headers: serde_json::to_string(&arrival.headers).unwrap_or_else(|_| "[]".to_owned()),
            encoding,
            body,
            body_size: i64::try_from(arrival.body.len()).unwrap_or(i64::MAX),
            digest: sha256,
        }
    }
}

fn encode(body: &[u8]) -> (i64, Vec<u8>) {
    let compressed = COMPRESSOR.with_borrow_mut(|compressor| {
        compressor.as_mut().and_then(|compressor| compressor.compress(body).ok())
    });
    match compressed {
        Some(bytes) if bytes.len() < body.len() => (ZSTD, bytes),
        _ => (RAW, body.to_vec()),
    }
}

/// The bytes as sent.
///
/// # Errors
/// [`super::StoreError::Inconsistent`] when they are not what was stored.
pub(super) fn decode(encoding: i64, stored: Vec<u8>, size: u64) -> Result<Vec<u8>> {
    let wrong = |message: &str| inconsistent("receipts", message);
    let body = match encoding {
        RAW => stored,
        ZSTD => {
            let capacity = usize::try_from(size).map_err(|_| wrong("body_size is too large"))?;
            decompress(&stored, capacity).map_err(|_| wrong("the body cannot be decompressed"))?
        }
        _ => return Err(wrong("unknown encoding")),
    };
    if body.len() as u64 == size { Ok(body) } else { Err(wrong("body and body_size differ")) }
}
