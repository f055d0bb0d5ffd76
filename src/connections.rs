//! How many connections may be open, and which one has to go for a new one.
//!
//! A slow client must not keep others out. So a full house does not turn the newcomer away: the
//! connection that has been waiting for its client the longest is dropped instead.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tokio_util::sync::CancellationToken;

/// The open connections.
#[derive(Debug)]
pub struct Connections {
    limit: usize,
    /// Counts admissions and answers: the order of what happened, without a clock.
    turn: AtomicU64,
    open: Mutex<HashMap<u64, Arc<Place>>>,
}

/// One connection's place.
#[derive(Debug)]
pub struct Place {
    id: u64,
    /// The turn of the admission or of the last answer.
    last: AtomicU64,
    /// Whether a complete request is in our hands, so that we owe an answer.
    ours: AtomicBool,
    /// Cancelled when the connection has to go.
    pub evicted: CancellationToken,
}

/// A place that is given back on drop.
#[derive(Debug)]
pub struct Admitted {
    connections: Arc<Connections>,
    /// The place.
    pub place: Arc<Place>,
}

impl Place {
    /// Whether no request came over this connection yet.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        !self.ours.load(Ordering::Relaxed) && self.last.load(Ordering::Relaxed) == self.id
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.connections.lock().remove(&self.place.id);
    }
}

impl Connections {
    /// None open, at most `limit` at once.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        let open = Mutex::new(HashMap::new());
        Arc::new(Self { limit, turn: AtomicU64::new(0), open })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Place>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new connection, at the cost of another one if necessary. `None`: every open
    /// connection is owed an answer.
    #[must_use]
    pub fn admit(self: &Arc<Self>) -> Option<Admitted> {
        let mut open = self.lock();
        if open.len() >= self.limit && !evict(&mut open) {
            return None;
        }
        let id = self.turn.fetch_add(1, Ordering::Relaxed);
        let place = Arc::new(Place {
            id,
            last: AtomicU64::new(id),
            ours: AtomicBool::new(false),
            evicted: CancellationToken::new(),
        });
        open.insert(id, Arc::clone(&place));
        Some(Admitted { connections: Arc::clone(self), place })
    }

    /// Drops the connection that waits for its client the longest, e.g. when the process has no
    /// more file descriptors.
    pub fn make_room(&self) {
        evict(&mut self.lock());
    }

    /// Notes that the connection's request is complete and now ours to answer.
    pub fn take(place: &Place) {
        place.ours.store(true, Ordering::Relaxed);
    }

    /// Notes that the request is answered.
    pub fn answered(&self, place: &Place) {
        place.last.store(self.turn.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        place.ours.store(false, Ordering::Relaxed);
    }
}

/// Whether somebody could be dropped.
fn evict(open: &mut HashMap<u64, Arc<Place>>) -> bool {
    let longest = open
        .values()
        .filter(|place| !place.ours.load(Ordering::Relaxed))
        .min_by_key(|place| place.last.load(Ordering::Relaxed))
        .map(|place| place.id);
    let gone = longest.and_then(|id| open.remove(&id));
    gone.inspect(|place| place.evicted.cancel()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_house_drops_the_connection_that_waits_longest() {
        let connections = Connections::new(2);
        let first = connections.admit().unwrap();
        let second = connections.admit().unwrap();
        connections.answered(&first.place);
        let third = connections.admit().unwrap();
        assert!(second.place.is_fresh() && !first.place.is_fresh());
        assert!(second.place.evicted.is_cancelled());
        assert!(!first.place.evicted.is_cancelled());
        assert!(!third.place.evicted.is_cancelled());
    }

    #[test]
    fn a_connection_that_is_owed_an_answer_is_never_dropped() {
        let connections = Connections::new(1);
        let busy = connections.admit().unwrap();
        Connections::take(&busy.place);
        assert!(connections.admit().is_none());
        assert!(!busy.place.evicted.is_cancelled());
        connections.answered(&busy.place);
        assert!(connections.admit().is_some());
        assert!(busy.place.evicted.is_cancelled());
    }

    #[test]
    fn a_closed_connection_gives_its_place_back() {
        let connections = Connections::new(1);
        drop(connections.admit().unwrap());
        let second = connections.admit().unwrap();
        connections.make_room();
        assert!(second.place.evicted.is_cancelled());
        drop(second);
        assert!(connections.lock().is_empty());
    }
}
