//! The three verbs of the delivery API and what `doctor` asks, and how each survives what GitHub may answer.

use std::{fmt, sync::Arc};

use http::{Method, StatusCode};
use url::Url;

use super::{
    AppInfo, Detail, HookConfig, Meta, PAGE_ROWS, Page, PageRef,
    auth::{self, Signer},
    error::{Failure, GitHubError, SetupError},
    headers, pages,
    pages::Scope,
    refusal::{Call, Parties},
    transport::{Answer, Cut, SendFault, Timing, Transport},
    wire::{self, DetailBody},
};
use crate::{
    clock::SharedClock,
    config::{Api, Credential},
    domain::ids::AttemptId,
};

/// Bytes of a list page or a detail, at most. A payload has at most 25 MiB (GITHUB.md section 5).
const MAX_BODY: usize = 32 << 20;
/// Bytes of an answer whose content does not matter.
const MAX_IGNORED_BODY: usize = 64 << 10;
/// The deliveries of an App's own webhook.
const APP_DELIVERIES: &str = "/app/hook/deliveries";
/// The App itself, and the settings of its webhook.
const APP: &str = "/app";
const APP_HOOK_CONFIG: &str = "/app/hook/config";

/// A client for one hook's delivery log. Cheap to clone; clones share connections and the JWT. Its
/// `Debug` shows no key and no token.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    transport: Transport,
    signer: Signer,
    scope: Scope,
    parties: Parties,
    clock: SharedClock,
    timing: Timing,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("api", &self.0.parties.api)
            .field("issuer", &self.0.parties.issuer)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Builds the client; nothing is sent. To be called inside a tokio runtime.
    ///
    /// # Errors
    /// When the key cannot sign, or TLS cannot be set up.
    pub fn new(api: &Api, clock: SharedClock) -> Result<Self, SetupError> {
        Self::with_timing(api, clock, Timing::DEFAULT)
    }

    pub(super) fn with_timing(
        api: &Api,
        clock: SharedClock,
        timing: Timing,
    ) -> Result<Self, SetupError> {
        let Credential::App { issuer, private_key } = &api.credential;
        let scope = Scope::new(&api.base);
        let parties = Parties { issuer: issuer.clone(), api: scope.shown().to_owned() };
        Ok(Self(Arc::new(Inner {
            transport: Transport::new(&timing, api.base.scheme() == "http")?,
            signer: Signer::new(issuer, private_key, Arc::clone(&clock))?,
            scope,
            parties,
            clock,
            timing,
        })))
    }

    /// One page of at most 100 attempts. Retried on 5xx and transport errors, since it only reads.
    ///
    /// # Errors
    /// See [`GitHubError`], which comes with its cost; [`GitHubError::BadCursor`] when GitHub refused a link,
    /// [`GitHubError::ForeignLink`] when the link is not the API's own (then nothing was sent).
    pub async fn list_attempts(&self, page: &PageRef) -> Result<Page, Failure> {
        let (call, url) = match page {
            PageRef::Head => {
                let mut url = self.0.scope.endpoint(APP_DELIVERIES);
                url.set_query(Some(&format!("per_page={PAGE_ROWS}")));
                (Call::Head, url)
            }
            PageRef::Link(link) => {
                (Call::Link, self.0.scope.admit(link).map_err(|error| error.after(0))?)
            }
        };
        let (answer, meta) = self.0.read(call, &url).await?;
        let rows = wire::rows(&answer.body).ok_or_else(|| {
            self.0.parties.unexpected(&answer, "no list of deliveries").after(meta.calls)
        })?;
        Ok(Page {
            rows: rows.rows,
            unreadable: rows.unreadable,
            next: pages::next(&answer.headers, &url),
            meta,
        })
    }

    /// Asks for one more attempt. Sent exactly once, whatever happens; only a 401 about the times in
    /// the token, which GitHub did not act upon, is followed by a second request with a new token.
    ///
    /// # Errors
    /// [`GitHubError::Ambiguous`] when it may have been taken although no answer came,
    /// [`GitHubError::Unavailable`] when it never left.
    pub async fn redeliver(&self, attempt: AttemptId) -> Result<Meta, Failure> {
        let url = self.0.scope.endpoint(&format!("{APP_DELIVERIES}/{attempt}/attempts"));
        let mut calls = 0;
        let answer = match self.0.ask(&Method::POST, &url, MAX_IGNORED_BODY, &mut calls).await {
            Ok(answer) => answer,
            Err(SendFault::NeverLeft(message)) => {
                return Err(GitHubError::Unavailable { message }.after(calls));
            }
            Err(SendFault::Lost(message)) => {
                return Err(GitHubError::Ambiguous { message }.after(calls));
            }
        };
        match answer.status {
            // Documented is 202 with an object; the body has been `{}`, null and empty.
            StatusCode::OK | StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                Ok(self.0.meta(&answer, calls))
            }
            status if status.is_success() || status.is_server_error() => {
                Err(GitHubError::Ambiguous { message: answered(&answer) }.after(calls))
            }
            _ => Err(self.0.parties.refusal(Call::Attempt, &answer).after(calls)),
        }
    }

    /// Headers and payload of one attempt. Retried like a list.
    ///
    /// # Errors
    /// [`GitHubError::Gone`] for an unknown id (a fresh id may answer so for some seconds), and with
    /// status 200 where GitHub keeps no payload.
    pub async fn detail(&self, attempt: AttemptId) -> Result<(Detail, Meta), Failure> {
        let url = self.0.scope.endpoint(&format!("{APP_DELIVERIES}/{attempt}"));
        let (answer, meta) = self.0.read(Call::Attempt, &url).await?;
        match wire::detail(&answer.body) {
            Ok(DetailBody::Whole(detail)) => Ok((detail, meta)),
            Ok(DetailBody::NoPayload) => Err(GitHubError::Gone {
                status: answer.status.as_u16(),
                message: "GitHub has no payload for it".to_owned(),
            }
            .after(meta.calls)),
            Err(reason) => {
                let what = format!("no delivery: {reason}");
                Err(self.0.parties.unexpected(&answer, &what).after(meta.calls))
            }
        }
    }

    /// The App that our key belongs to. Retried like a list.
    ///
    /// # Errors
    /// See [`GitHubError`].
    pub async fn app(&self) -> Result<(AppInfo, Meta), Failure> {
        let (answer, meta) = self.0.read(Call::Head, &self.0.scope.endpoint(APP)).await?;
        let app = wire::app(&answer.body)
            .ok_or_else(|| self.0.parties.unexpected(&answer, "no App").after(meta.calls))?;
        Ok((app, meta))
    }

    /// The App's webhook as GitHub has it. Retried like a list.
    ///
    /// # Errors
    /// See [`GitHubError`].
    pub async fn hook_config(&self) -> Result<(HookConfig, Meta), Failure> {
        let url = self.0.scope.endpoint(APP_HOOK_CONFIG);
        let (answer, meta) = self.0.read(Call::Head, &url).await?;
        let config = wire::hook_config(&answer.body).ok_or_else(|| {
            self.0.parties.unexpected(&answer, "no webhook configuration").after(meta.calls)
        })?;
        Ok((config, meta))
    }
}

impl Inner {
    /// Reads with up to three tries; every answer returned is a whole success.
    async fn read(&self, call: Call, url: &Url) -> Result<(Answer, Meta), Failure> {
        let mut calls = 0;
        let mut waits = self.timing.waits.iter();
        loop {
            let (failing, trouble) = match self.ask(&Method::GET, url, MAX_BODY, &mut calls).await {
                Err(fault) => (false, fault.message()),
                Ok(answer) if answer.status.is_server_error() => (true, answered(&answer)),
                Ok(answer) if !answer.status.is_success() => {
                    let failure = self.parties.refusal(call, &answer).after(calls);
                    return Err(Failure { clock_offset: answer.clock_offset(), ..failure });
                }
                Ok(answer) => match &answer.cut {
                    None if answer.is_garbled() => (true, "an answer is no whole JSON".to_owned()),
                    None => {
                        let meta = self.meta(&answer, calls);
                        return Ok((answer, meta));
                    }
                    Some(Cut::TooLarge) => {
                        return Err(self
                            .parties
                            .unexpected(&answer, "more than 32 MiB")
                            .after(calls));
                    }
                    Some(Cut::Broken(message)) => (true, message.clone()),
                },
            };
            let Some(wait) = waits.next() else {
                let message = format!("{trouble} (after {calls} requests)");
                let error = if failing {
                    GitHubError::Failing { message }
                } else {
                    GitHubError::Unavailable { message }
                };
                return Err(error.after(calls));
            };
            tokio::time::sleep(*wait).await;
        }
    }

    /// What the headers of a success tell besides.
    fn meta(&self, answer: &Answer, calls: u32) -> Meta {
        let remaining = headers::number(&answer.headers, "x-ratelimit-remaining");
        let told = answer.clock_offset();
        let clock_offset = told.map(|told| {
            let proven = self.signer.proven(told, answer.received_at);
            if proven != told {
                tracing::warn!(
                    told.seconds = told.num_seconds(),
                    proven.seconds = proven.num_seconds(),
                    "the Date of an answer cannot be GitHub's, which has accepted our token; \
                     look for a proxy with a wrong clock"
                );
            }
            proven
        });
        Meta { calls, remaining, clock_offset }
    }

    /// One request with the JWT. A refusal of the token's times is cured with GitHub's clock, once.
    async fn ask(
        &self,
        method: &Method,
        url: &Url,
        max_body: usize,
        calls: &mut u32,
    ) -> Result<Answer, SendFault> {
        let answer = self.send(method, url, max_body, calls).await?;
        if answer.status != StatusCode::UNAUTHORIZED || !auth::is_about_time(&answer.message()) {
            return Ok(answer);
        }
        let Some(github_now) = headers::date(&answer.headers) else { return Ok(answer) };
        let offset = self.signer.follow_clock(github_now);
        tracing::warn!(
            github.clock_offset_seconds = offset.num_seconds(),
            "GitHub refused the token's times; signing by GitHub's clock, set this machine's"
        );
        self.send(method, url, max_body, calls).await
    }

    async fn send(
        &self,
        method: &Method,
        url: &Url,
        max_body: usize,
        calls: &mut u32,
    ) -> Result<Answer, SendFault> {
        let authorization =
            self.signer.authorization().map_err(|e| SendFault::NeverLeft(e.to_string()))?;
        *calls += 1;
        self.transport.send(method, url, authorization, max_body, &self.clock).await
    }
}

fn answered(answer: &Answer) -> String {
    format!("GitHub answered {}: {}", answer.status.as_u16(), answer.message())
}
