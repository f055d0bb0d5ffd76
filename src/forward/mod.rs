//! Hands received events to the application: claim, send, conclude.
//!
//! At least once, and marked so that the application can make it exactly once: every request of one
//! event carries the same idempotency key. What was claimed and not concluded, because the process
//! died, is taken over when its lease ends.

mod breaker;
mod echo;
mod request;
mod send;
mod sign;
mod turn;
mod worker;

use std::sync::Arc;

use secrecy::SecretString;

use crate::{
    clock::SharedClock,
    config::{Forward, Hook, is_loopback},
    domain::{ids::HookName, retry::RetryPolicy},
    store::Store,
    telemetry::Metrics,
};

pub use self::worker::Worker;

/// What handing over one hook's events takes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Forwarder {
    hook: HookName,
    settings: Forward,
    policy: RetryPolicy,
    /// Signs what was read through the API; the newest one.
    secret: Option<SecretString>,
    store: Store,
    client: reqwest::Client,
    clock: SharedClock,
    metrics: Arc<Metrics>,
    owner: String,
}

impl Forwarder {
    /// The forwarder of a hook with `settings`. `owner` names this process in claims.
    ///
    /// # Errors
    /// When the HTTP client cannot be set up.
    pub fn new(
        hook: &Hook,
        settings: &Forward,
        store: Store,
        clock: SharedClock,
        metrics: Arc<Metrics>,
        owner: String,
    ) -> Result<Self, reqwest::Error> {
        Ok(Self {
            hook: hook.name.clone(),
            settings: settings.clone(),
            policy: RetryPolicy {
                max_attempts: settings.max_attempts,
                backoff: settings.backoff.clone(),
            },
            secret: hook.secrets.first().cloned(),
            store,
            client: client(settings)?,
            clock,
            metrics,
            owner,
        })
    }
}

/// Keeps connections, follows no redirect: a redirect is an answer, and not 2xx.
fn client(settings: &Forward) -> Result<reqwest::Client, reqwest::Error> {
    let concurrency = usize::try_from(settings.concurrency).unwrap_or(usize::MAX);
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .timeout(settings.timeout)
        .pool_max_idle_per_host(concurrency)
        .tcp_nodelay(true);
    // A proxy for the way out must not stand between us and a neighbour on this machine.
    if is_loopback(&settings.url) { builder.no_proxy() } else { builder }.build()
}
