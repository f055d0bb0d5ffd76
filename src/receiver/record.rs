//! Hands an arrival to the store. Only the waiting for the commit has a limit.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use tokio::time::timeout;

use super::{answer::Answer, body::Share, hook::Hook};
use crate::store::{
    Store, StoreError,
    types::{Arrival, Recorded},
};

/// How long the store may take. GitHub stops waiting after 10 s (GITHUB.md section 5); an answer
/// before that says at least that the delivery failed.
const WITHIN: Duration = Duration::from_secs(8);

/// Waits for the commit. It may still come after the answer that the time is over, or when the
/// client is gone.
pub(super) async fn record(
    store: &Store,
    hook: &Hook,
    arrival: Arrival,
    share: Share,
) -> Result<Recorded, Answer> {
    let store = store.clone();
    let recording = async move { store.record(arrival).await };
    let why = match outcome(recording, share, WITHIN).await {
        Ok(recorded) => return Ok(recorded),
        Err(why) => why,
    };
    if let Some(count) = hook.unrecorded.count(Instant::now()) {
        tracing::error!(hook = %hook.name, count, error = why, "deliveries could not be recorded");
    }
    Err(Answer::StoreDown)
}

/// Runs the recording in a task of its own that keeps the body's share of the memory until the
/// bytes are gone: behind a disk that hangs they wait in the store's queue long after the answer.
async fn outcome<T: Send + 'static>(
    recording: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    share: Share,
    within: Duration,
) -> Result<T, String> {
    let task = tokio::spawn(async move {
        let recorded = recording.await;
        drop(share);
        recorded
    });
    match timeout(within, task).await {
        Ok(Ok(Ok(recorded))) => Ok(recorded),
        Ok(Ok(Err(error))) => Err(error.to_string()),
        Ok(Err(died)) => Err(died.to_string()),
        Err(_) => Err(format!("no commit within {} s", within.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::Full;
    use tokio::sync::oneshot;

    use super::*;
    use crate::receiver::body::{Budget, Limits, collect};

    const LIMITS: Limits = Limits { max: 10, within: Duration::from_mins(1) };

    fn body() -> Full<Bytes> {
        Full::new(Bytes::from_static(b"12345678"))
    }

    #[tokio::test]
    async fn a_body_that_still_waits_for_its_commit_keeps_its_share_after_the_answer() {
        let budget = Budget::new(10);
        let (_, share) = collect(&mut body(), LIMITS, &budget).await.unwrap();
        let (commit, committed) = oneshot::channel::<()>();
        let recording = async move {
            committed.await.unwrap();
            Ok(())
        };
        let answer = outcome(recording, share, Duration::ZERO).await;
        assert_eq!(answer.unwrap_err(), "no commit within 0 s");
        let second = collect(&mut body(), LIMITS, &budget).await;
        assert_eq!(second.unwrap_err(), Answer::OverCapacity);

        commit.send(()).unwrap();
        tokio::task::yield_now().await;
        assert!(collect(&mut body(), LIMITS, &budget).await.is_ok());
    }

    #[tokio::test]
    async fn a_recording_that_panics_is_a_failure_and_gives_its_share_back() {
        let budget = Budget::new(10);
        let (_, share) = collect(&mut body(), LIMITS, &budget).await.unwrap();
        let recording = async { panic!("on purpose") };
        let answer = outcome::<()>(recording, share, Duration::from_mins(1)).await;
        assert!(answer.unwrap_err().contains("panicked"));
        assert!(collect(&mut body(), LIMITS, &budget).await.is_ok());
    }
}
