use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use http_body::{Frame, SizeHint};

use super::*;

const TIME: Duration = Duration::from_mins(1);

/// A body in pieces, like a chunked one, or with a declared length.
struct Pieces {
    queue: VecDeque<Bytes>,
    declared: Option<u64>,
    stalls: bool,
}

fn pieces(pieces: &[&'static [u8]]) -> Pieces {
    let queue = pieces.iter().map(|piece| Bytes::from_static(piece)).collect();
    Pieces { queue, declared: None, stalls: false }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.queue.pop_front() {
            None if self.stalls => Poll::Pending,
            next => Poll::Ready(next.map(|data| Ok(Frame::data(data)))),
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.declared.map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}

async fn collected(mut body: Pieces, max: u64, budget: &Arc<Budget>) -> Result<Bytes, Answer> {
    collect(&mut body, Limits { max, within: TIME }, budget).await.map(|(bytes, _)| bytes)
}

#[tokio::test]
async fn pieces_are_joined_in_order() {
    let budget = Budget::new(100);
    let whole = collected(pieces(&[b"ab", b"", b"c", b"\0de"]), 6, &budget).await;
    assert_eq!(whole, Ok(Bytes::from_static(b"abc\0de")));
    assert_eq!(collected(pieces(&[]), 6, &budget).await, Ok(Bytes::new()));
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_passes_and_one_byte_more_does_not() {
    // R9
    let budget = Budget::new(100);
    assert!(collected(pieces(&[b"abc", b"def"]), 6, &budget).await.is_ok());
    assert_eq!(collected(pieces(&[b"abc", b"defg"]), 6, &budget).await, Err(Answer::TooLarge));
}

#[tokio::test]
async fn a_declared_length_over_the_limit_is_refused_unread() {
    let budget = Budget::new(100);
    let mut body = Pieces { declared: Some(7), ..pieces(&[b"abcdefg"]) };
    let result = collect(&mut body, Limits { max: 6, within: TIME }, &budget).await;
    assert_eq!(result.unwrap_err(), Answer::TooLarge);
    assert_eq!(body.queue.len(), 1);
}

#[tokio::test]
async fn a_body_is_refused_at_once_when_the_budget_is_used_up() {
    let budget = Budget::new(10);
    let mut held = pieces(&[b"1234567"]);
    let limits = Limits { max: 100, within: TIME };
    let (_, share) = collect(&mut held, limits, &budget).await.unwrap();

    let declared = Pieces { declared: Some(4), ..pieces(&[b"abcd"]) };
    assert_eq!(collected(declared, 100, &budget).await, Err(Answer::OverCapacity));
    let chunked = pieces(&[b"abc", b"d"]);
    assert_eq!(collected(chunked, 100, &budget).await, Err(Answer::OverCapacity));
    assert!(collected(pieces(&[b"abc"]), 100, &budget).await.is_ok());

    drop(share);
    assert!(collected(pieces(&[b"abc", b"defghij"]), 100, &budget).await.is_ok());
    assert_eq!(budget.used.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn announcing_a_body_takes_no_room_from_others() {
    let budget = Budget::new(10);
    let mut slow = Pieces { declared: Some(10), stalls: true, ..pieces(&[b"1"]) };
    let limits = Limits { max: 10, within: TIME };
    let waiting = collect(&mut slow, limits, &budget);
    tokio::pin!(waiting);
    assert!(timeout(Duration::ZERO, waiting.as_mut()).await.is_err());
    assert!(collected(pieces(&[b"123456789"]), 10, &budget).await.is_ok());
}

#[tokio::test]
async fn a_body_that_stalls_is_too_slow() {
    let budget = Budget::new(10);
    let mut body = Pieces { stalls: true, ..pieces(&[b"ab"]) };
    let limits = Limits { max: 10, within: Duration::ZERO };
    assert_eq!(collect(&mut body, limits, &budget).await.unwrap_err(), Answer::TooSlow);
    assert_eq!(budget.used.load(Ordering::Relaxed), 0);
}

#[test]
fn buffers_double_up_to_the_ceiling() {
    let mut buffer = Vec::new();
    make_room(&mut buffer, 10, 1_000_000);
    assert_eq!(buffer.capacity(), FIRST_BUFFER);
    buffer.resize(FIRST_BUFFER, 0);
    make_room(&mut buffer, 1, 1_000_000);
    assert_eq!(buffer.capacity(), 2 * FIRST_BUFFER);
    buffer.resize(2 * FIRST_BUFFER, 0);
    make_room(&mut buffer, 1, 150_000);
    assert_eq!(buffer.capacity(), 150_000);
}
