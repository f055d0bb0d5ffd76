//! Sends one request through octocrab and brings its answer back, bounded in time and size.

use std::{error::Error, time::Duration};

use bytes::{Bytes, BytesMut};
use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use octocrab::{AuthState, OctoBody, Octocrab, OctocrabBuilder};
use serde::{Deserialize, de::IgnoredAny};
use tokio::runtime::Handle;
use tower::service_fn;
use url::Url;

use super::{error::SetupError, headers, scrub::scrub};
use crate::clock::SharedClock;

/// Bytes of an answer that is no success, at most; the rest is not read.
const MAX_ERROR_BODY: usize = 64 << 10;
const USER_AGENT: &str = concat!("redeliverd/", env!("CARGO_PKG_VERSION"));

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timing {
    /// Name look-up, TCP and TLS.
    pub(super) connect: Duration,
    /// Between two signs of life of the answer.
    pub(super) read: Duration,
    /// One request with its answer.
    pub(super) total: Duration,
    /// Before the second and the third try of a read.
    pub(super) waits: [Duration; 2],
}

impl Timing {
    /// What the daemon uses.
    pub(super) const DEFAULT: Self = Self {
        connect: Duration::from_secs(10),
        read: Duration::from_secs(30),
        total: Duration::from_mins(1),
        waits: [Duration::from_millis(200), Duration::from_secs(1)],
    };
}

/// An answer, whatever its status.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// What was read of the body.
    pub(super) body: Bytes,
    /// Why `body` is not the whole body. `None` when it is.
    pub(super) cut: Option<Cut>,
    /// When the head arrived, on our clock.
    pub(super) received_at: DateTime<Utc>,
}

/// Why a body was not read to its end.
pub(super) enum Cut {
    /// It is larger than allowed.
    TooLarge,
    /// The connection broke or went silent.
    Broken(String),
}

/// Why there is no answer.
pub(super) enum SendFault {
    /// No connection came about: the server has seen nothing of the request.
    NeverLeft(String),
    /// The request may have arrived.
    Lost(String),
}

impl SendFault {
    /// What happened.
    pub(super) fn message(self) -> String {
        match self {
            Self::NeverLeft(message) | Self::Lost(message) => message,
        }
    }
}

/// octocrab's generic request path over our own leaf. The leaf is ours because octocrab's default one adds a
/// second `User-Agent`, and lets the idle time of a pooled connection count towards the read
/// time-out of the next request.
#[derive(Clone)]
pub(super) struct Transport {
    octocrab: Octocrab,
}

impl Transport {
    /// A transport that follows no redirect and sends nothing twice. `plain` (http, so loopback) uses
    /// no proxy. octocrab needs a running tokio runtime.
    pub(super) fn new(timing: &Timing, plain: bool) -> Result<Self, SetupError> {
        Handle::try_current().map_err(|e| SetupError::Transport(e.to_string()))?;
        let builder = reqwest::Client::builder()
            .connect_timeout(timing.connect)
            .read_timeout(timing.read)
            .timeout(timing.total)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            // Well below the idle limits of servers: a request on a connection that was just closed is an
            // ambiguous one.
            .pool_idle_timeout(Duration::from_secs(20));
        let builder = if plain { builder.no_proxy() } else { builder };
        let leaf = builder.build().map_err(|e| SetupError::Transport(chain(&e)))?;
        let service = service_fn(move |request: Request<OctoBody>| {
            // None of our requests has a body.
            let request = reqwest::Request::try_from(request.map(|_| ""));
            let leaf = leaf.clone();
            async move { leaf.execute(request?).await.map(http::Response::from) }
        });
        let Ok(octocrab) =
            OctocrabBuilder::new_empty().with_service(service).with_auth(AuthState::None).build();
        Ok(Self { octocrab })
    }

    /// Sends one request, once. A success is read up to `max_body` bytes.
    pub(super) async fn send(
        &self,
        method: &Method,
        url: &Url,
        authorization: HeaderValue,
        max_body: usize,
        clock: &SharedClock,
    ) -> Result<Answer, SendFault> {
        let head = Request::builder()
            .method(method)
            .uri(url.as_str())
            .header(header::ACCEPT, "application/vnd.github+json")
            .header(header::USER_AGENT, USER_AGENT)
            .header(header::AUTHORIZATION, authorization);
        // Adds `X-GitHub-Api-Version: 2022-11-28` and, as there is no body, `Content-Length: 0`.
        let request = self
            .octocrab
            .build_request(head, None::<&()>)
            .map_err(|e| SendFault::NeverLeft(chain(&e)))?;
        let response = self.octocrab.execute(request).await.map_err(|e| send_fault(&e))?;
        let received_at = clock.now();
        let (head, mut stream) = response.into_parts();
        let limit = if head.status.is_success() { max_body } else { MAX_ERROR_BODY };
        let mut body = BytesMut::new();
        let cut = loop {
            match stream.frame().await {
                None => break None,
                Some(Err(e)) => break Some(Cut::Broken(chain(&e))),
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else { continue };
                    let room = limit.saturating_sub(body.len());
                    body.extend_from_slice(data.get(..room).unwrap_or(&data));
                    if data.len() > room {
                        break Some(Cut::TooLarge);
                    }
                }
            }
        };
        let body = body.freeze();
        Ok(Answer { status: head.status, headers: head.headers, body, cut, received_at })
    }
}

impl Answer {
    /// GitHub's words: the `message` of an error body, else the body if it is short text.
    pub(super) fn message(&self) -> String {
        #[derive(Deserialize)]
        struct Body {
            message: String,
        }
        if let Ok(body) = serde_json::from_slice::<Body>(&self.body) {
            return scrub(&body.message);
        }
        if self.is_html() {
            return "an HTML page".to_owned();
        }
        let text = String::from_utf8_lossy(&self.body);
        match text.trim() {
            "" => self.status.canonical_reason().unwrap_or("no message").to_owned(),
            text => scrub(text),
        }
    }

    /// Whether a web page came instead of an API answer.
    pub(super) fn is_html(&self) -> bool {
        let declared = self.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        declared.is_some_and(|value| value.to_ascii_lowercase().starts_with(b"text/html"))
            || self.body.trim_ascii_start().starts_with(b"<")
    }

    /// Whether JSON was begun, or promised by the status, and is not whole: something on the way cut it,
    /// so it can be better next time.
    pub(super) fn is_garbled(&self) -> bool {
        let json = match self.body.trim_ascii_start().first() {
            Some(first) => matches!(first, b'[' | b'{'),
            None => self.status == StatusCode::OK,
        };
        json && serde_json::from_slice::<IgnoredAny>(&self.body).is_err()
    }

    /// GitHub's clock minus ours. `None` without a readable `Date`.
    pub(super) fn clock_offset(&self) -> Option<TimeDelta> {
        headers::date(&self.headers).map(|date| date - self.received_at)
    }

    /// The time of the answer on GitHub's clock, or on ours where it does not tell.
    pub(super) fn github_now(&self) -> DateTime<Utc> {
        headers::date(&self.headers).unwrap_or(self.received_at)
    }
}

fn send_fault(error: &octocrab::Error) -> SendFault {
    let mut at: Option<&(dyn Error + 'static)> = Some(error);
    let mut never_left = false;
    while let Some(e) = at {
        if let Some(e) = e.downcast_ref::<reqwest::Error>() {
            never_left |= e.is_connect() || e.is_builder();
        }
        at = e.source();
    }
    if never_left { SendFault::NeverLeft(chain(error)) } else { SendFault::Lost(chain(error)) }
}

/// An error with its causes, without the layers that only wrap them (and show the URL).
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut causes: Vec<String> = Vec::new();
    let mut at = Some(error);
    while let Some(e) = at {
        let wraps = e.source().is_some() && (e.is::<octocrab::Error>() || e.is::<reqwest::Error>());
        let text = e.to_string();
        if !wraps && causes.last() != Some(&text) {
            causes.push(text);
        }
        at = e.source();
    }
    scrub(&causes.join(": "))
}
