//! Reads a request body within its limits: size, time, and the memory all bodies share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::answer::Answer;

/// The smallest buffer for a body that comes in more than one piece.
const FIRST_BUFFER: usize = 64 * 1024;

/// How many bytes of bodies may be in memory. Bytes count as they arrive, not when they are
/// announced: otherwise a few clients that announce much and send nothing would lock out the rest.
/// Nobody ever waits for room, so that no body can hold what another one waits for.
#[derive(Debug)]
pub(super) struct Budget {
    limit: u64,
    used: AtomicU64,
}

/// The share of one body; given back on drop.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Budget {
    pub(super) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self { limit, used: AtomicU64::new(0) })
    }

    fn has_room(&self, bytes: u64) -> bool {
        bytes <= self.limit.saturating_sub(self.used.load(Ordering::Relaxed))
    }
}

impl Share {
    fn grow(&mut self, bytes: u64) -> Result<(), Answer> {
        let budget = &self.budget;
        budget
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|sum| *sum <= budget.limit)
            })
            .map_err(|_| Answer::OverCapacity)?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The limits of one body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Bytes, declared or counted.
    pub(super) max: u64,
    /// From the first look at it to its end.
    pub(super) within: Duration,
}

/// Reads the whole body. The share must live as long as the bytes do. On an error the rest of the
/// body is unread.
pub(super) async fn collect<B>(
    body: &mut B,
    limits: Limits,
    budget: &Arc<Budget>,
) -> Result<(Bytes, Share), Answer>
where
    B: Body<Data = Bytes> + Unpin,
{
    let declared = body.size_hint().exact();
    if declared.is_some_and(|bytes| bytes > limits.max) {
        return Err(Answer::TooLarge);
    }
    if !budget.has_room(declared.unwrap_or(0)) {
        return Err(Answer::OverCapacity);
    }
    let ceiling = usize::try_from(declared.unwrap_or(limits.max)).unwrap_or(usize::MAX);
    match timeout(limits.within, read(body, limits.max, ceiling, budget)).await {
        Ok(result) => result,
        Err(_) => Err(Answer::TooSlow),
    }
}

async fn read<B>(
    body: &mut B,
    max: u64,
    ceiling: usize,
    budget: &Arc<Budget>,
) -> Result<(Bytes, Share), Answer>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut share = Share { budget: Arc::clone(budget), bytes: 0 };
    // Most bodies come in one piece, which needs no copy.
    let mut first = Bytes::new();
    let mut buffer = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return Err(Answer::Broken) };
        let Ok(data) = frame.into_data() else { continue };
        let size = data.len() as u64;
        if share.bytes + size > max {
            return Err(Answer::TooLarge);
        }
        share.grow(size)?;
        if first.is_empty() && buffer.is_empty() {
            first = data;
            continue;
        }
        make_room(&mut buffer, first.len() + data.len(), ceiling);
        buffer.extend_from_slice(&first);
        buffer.extend_from_slice(&data);
        first.clear();
    }
    let bytes = if buffer.is_empty() { first } else { Bytes::from(buffer) };
    Ok((bytes, share))
}

/// Doubles, but never beyond what the body can become.
fn make_room(buffer: &mut Vec<u8>, more: usize, ceiling: usize) {
    let needed = buffer.len() + more;
    if needed > buffer.capacity() {
        let target = needed.max(2 * buffer.capacity()).max(FIRST_BUFFER).min(ceiling.max(needed));
        buffer.reserve_exact(target - buffer.len());
    }
}

#[cfg(test)]
mod tests;
