//! Sends one claimed event and says how that ended.

use std::fmt::Write as _;

use http::header::RETRY_AFTER;

use super::{Forwarder, echo, request};
use crate::{
    domain::retry::{self, HandoverResult},
    store::{
        StoreError,
        types::{Claimed, Conclusion},
    },
};

/// What is kept of an answer.
const KEPT: usize = 4 * 1024;

/// What is read of an answer beyond that, so that its connection can be used again.
const READ: usize = 64 * 1024;

/// An answer, as far as it was read.
struct Answer {
    result: HandoverResult,
    status_code: Option<u16>,
    retry_after: Option<String>,
    detail: Option<String>,
}

impl Answer {
    fn none(result: HandoverResult, detail: String) -> Self {
        Self { result, status_code: None, retry_after: None, detail: Some(detail) }
    }
}

impl Forwarder {
    /// Hands one claimed event over. How that ended is the result, whatever it is.
    ///
    /// # Errors
    /// When the event could not be read, so that nothing was sent.
    pub(super) async fn send(&self, claimed: Claimed) -> Result<Conclusion, StoreError> {
        let (event, why) = match self.store.sendable(claimed.seq).await {
            Ok(event) => (event, "the payload is not stored any more".to_owned()),
            Err(error @ StoreError::Unavailable(_)) => return Err(error),
            // Another moment would not help: what is stored cannot be read.
            Err(error) => (None, error.to_string()),
        };
        let started_at = self.clock.now();
        let begun = tokio::time::Instant::now();
        let (answer, mark) = match event {
            Some(event) if !event.receipt.body_pruned => {
                let mark = event
                    .receipt
                    .arrival
                    .repository_id
                    .map(|repository| (repository, request::happened_at(&event)));
                let headers =
                    request::headers(&self.hook, &event, claimed.nth, self.secret.as_ref());
                let body = event.receipt.arrival.body;
                let request =
                    self.client.post(self.settings.url.clone()).headers(headers).body(body.clone());
                (answer(request, &body).await, mark)
            }
            _ => (Answer::none(HandoverResult::Unsendable, why), None),
        };
        self.metrics
            .handover_seconds
            .get_or_create(&self.label())
            .observe(begun.elapsed().as_secs_f64());
        let finished_at = self.clock.now();
        let asked = answer.retry_after.and_then(|value| retry::retry_after(&value, finished_at));
        let next = retry::next(
            &self.policy,
            answer.result,
            claimed.attempt,
            asked,
            rand::random(),
            finished_at,
        );
        Ok(Conclusion {
            claimed,
            started_at,
            finished_at,
            result: answer.result,
            status_code: answer.status_code,
            detail: answer.detail,
            next,
            mark,
        })
    }
}

async fn answer(request: reqwest::RequestBuilder, body: &[u8]) -> Answer {
    let response = match request.send().await {
        Ok(response) => response,
        Err(error) => return failed(error),
    };
    let status = response.status().as_u16();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    // The status decides. A body that breaks off or comes too slowly changes nothing about it.
    Answer {
        result: retry::classify(status),
        status_code: Some(status),
        retry_after,
        detail: words(response, body).await,
    }
}

/// The beginning of the answer's body as text; `None`: empty. A payload in it is not kept a second
/// time, where logs and lists would show it.
async fn words(mut response: reqwest::Response, body: &[u8]) -> Option<String> {
    let (mut kept, mut read) = (Vec::new(), 0);
    while let Ok(Some(chunk)) = response.chunk().await {
        read += chunk.len();
        let room = KEPT.saturating_sub(kept.len()).min(chunk.len());
        kept.extend(chunk.iter().take(room));
        if read > READ {
            break;
        }
    }
    if echo::repeats(&kept, body) {
        return Some("the answer repeats the event".to_owned());
    }
    let text: String = String::from_utf8_lossy(&kept)
        .trim()
        .chars()
        .map(|c| if c.is_control() && c != '\n' { ' ' } else { c })
        .collect();
    (!text.is_empty()).then_some(text)
}

/// No answer. The URL, which may hold credentials, is not told.
fn failed(error: reqwest::Error) -> Answer {
    let result =
        if error.is_timeout() { HandoverResult::Timeout } else { HandoverResult::Unreachable };
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        // Writing to a `String` cannot fail.
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    Answer::none(result, text)
}
