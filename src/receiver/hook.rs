//! The configured hooks as the receiver needs them: keys made, counters at hand, found by path.

use std::{collections::HashMap, sync::Arc, time::Duration};

use prometheus_client::metrics::{counter::Counter, histogram::Histogram};

use super::{answer::Answer, index::Index, signature::Secrets, throttle::Throttle};
use crate::{
    config,
    domain::{
        filter::{Filter, Interest},
        ids::{EventName, HookName},
    },
    telemetry::{HookLabel, Metrics, ResultLabel, SlotLabel},
};

/// The label `hook` of requests to a path that no hook has.
const UNKNOWN: &str = "unknown";

/// All hooks, by path.
pub(super) struct Hooks {
    by_path: HashMap<String, Arc<Hook>>,
    unknown_path: Counter,
}

/// One hook.
pub(super) struct Hook {
    pub(super) name: HookName,
    pub(super) secrets: Secrets,
    filter: Filter,
    /// Whether wanted events go on to the application.
    pub(super) forwards: bool,
    counters: Counters,
    /// For lines about wrong signatures.
    pub(super) unverified: Throttle,
    /// For lines about a store that does not commit.
    pub(super) unrecorded: Throttle,
}

/// The hook's metrics, looked up once instead of per request.
struct Counters {
    /// In the order of [`Answer::ALL`].
    received: Vec<Counter>,
    ack: Histogram,
    signature_failures: Counter,
    secret_matches: Vec<Counter>,
}

impl Hooks {
    pub(super) fn new(hooks: &[config::Hook], metrics: &Metrics) -> Self {
        let by_path = hooks
            .iter()
            .map(|hook| (hook.path.clone(), Arc::new(Hook::new(hook, metrics))))
            .collect();
        let unknown_path = received(metrics, UNKNOWN, Answer::UnknownPath);
        Self { by_path, unknown_path }
    }

    /// The hook that takes requests to exactly this path; counts those that no hook takes.
    pub(super) fn at(&self, path: &str) -> Option<&Arc<Hook>> {
        let hook = self.by_path.get(path);
        if hook.is_none() {
            self.unknown_path.inc();
        }
        hook
    }
}

impl Hook {
    fn new(hook: &config::Hook, metrics: &Metrics) -> Self {
        Self {
            name: hook.name.clone(),
            secrets: Secrets::new(&hook.secrets, hook.allow_sha1),
            filter: hook.policy.filter.clone(),
            forwards: hook.forward.is_some(),
            counters: Counters::new(hook.name.as_str(), hook.secrets.len(), metrics),
            unverified: Throttle::default(),
            unrecorded: Throttle::default(),
        }
    }

    /// Whether the event is to be handed over. A payload that cannot be read is, because nothing
    /// may be lost by our not understanding it. Pings are not.
    pub(super) fn wants(&self, event: &EventName, index: Option<&Index>) -> bool {
        if event.is_ping() {
            return false;
        }
        index.is_none_or(|index| {
            let Index { action, installation_id, repository_id } = index;
            let interest =
                self.filter.wants(event, action.as_deref(), *installation_id, *repository_id);
            interest == Interest::Wanted
        })
    }

    /// Counts a verified request by the secret that matched.
    pub(super) fn count_match(&self, position: usize) {
        if let Some(counter) = self.counters.secret_matches.get(position) {
            counter.inc();
        }
    }

    /// Counts how a request ended and, where we acknowledged or failed to, how long that took.
    pub(super) fn count(&self, answer: Answer, took: Duration) {
        if let Some(counter) = self.counters.received.get(answer as usize) {
            counter.inc();
        }
        if answer == Answer::BadSignature {
            self.counters.signature_failures.inc();
        }
        if answer.is_verified() {
            self.counters.ack.observe(took.as_secs_f64());
        }
    }
}

impl Counters {
    fn new(hook: &str, secrets: usize, metrics: &Metrics) -> Self {
        let label = HookLabel { hook: hook.to_owned() };
        let slot = |position: usize| {
            let label = SlotLabel { hook: hook.to_owned(), slot: position.to_string() };
            metrics.secret_matches.get_or_create_owned(&label)
        };
        Self {
            received: Answer::ALL.iter().map(|answer| received(metrics, hook, *answer)).collect(),
            ack: metrics.ack_seconds.get_or_create_owned(&label),
            signature_failures: metrics.signature_failures.get_or_create_owned(&label),
            secret_matches: (0..secrets).map(slot).collect(),
        }
    }
}

fn received(metrics: &Metrics, hook: &str, answer: Answer) -> Counter {
    let label = ResultLabel { hook: hook.to_owned(), result: answer.word().to_owned() };
    metrics.received.get_or_create_owned(&label)
}
