//! The world: all state of the simulated GitHub, and what a test may do with it and ask of it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use rand::{Rng, SeedableRng, rngs::StdRng};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Builder;

use super::{
    counters::{Counters, Post},
    events::Event,
    faults::{Faults, Sending},
    hook::{Hook, HookConfig, HookRef, HookSetup},
    limits::Limits,
    log::{Backfill, Log, LoggedAttempt, View},
};
use crate::clock::SharedClock;

/// What kind of GitHub it is.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How far back it lists and redelivers.
    pub window: TimeDelta,
    /// How long it waits for a receiver, in real time.
    pub time_limit: Duration,
    /// GitHub Enterprise Server: the API under `/api/v3`, and its two extra headers.
    pub enterprise: bool,
    /// Where GUIDs come from; the same seed makes the same ones.
    pub seed: u64,
}

impl Settings {
    /// github.com: 3 days, 10 seconds, GUIDs of its own.
    #[must_use]
    pub fn cloud() -> Self {
        Self {
            window: TimeDelta::days(3),
            time_limit: Duration::from_secs(10),
            enterprise: false,
            seed: rand::random(),
        }
    }

    /// GitHub Enterprise Server: 7 days, 30 seconds.
    #[must_use]
    pub fn enterprise() -> Self {
        Self {
            window: TimeDelta::days(7),
            time_limit: Duration::from_secs(30),
            enterprise: true,
            ..Self::cloud()
        }
    }
}

/// A simulated GitHub. Clones are the same world.
#[derive(Debug, Clone)]
pub struct World(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) settings: Settings,
    pub(super) clock: SharedClock,
    pub(super) http: reqwest::Client,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
    /// Sends under way, those promised by a 202 included.
    pub(super) in_flight: watch::Sender<usize>,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) hooks: Vec<Hook>,
    pub(super) faults: Faults,
    pub(super) limits: Limits,
    pub(super) counters: Counters,
    pub(super) posts: HashMap<String, Vec<Post>>,
    pub(super) held: Vec<(HookRef, String, Arc<Event>)>,
    pub(super) last_id: i64,
    rng: StdRng,
}

impl World {
    /// An empty world that takes its time from `clock`.
    ///
    /// # Errors
    /// When no HTTP client can be built, e.g. without usable TLS set-up.
    pub fn new(clock: SharedClock, settings: Settings) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()?;
        let rng = StdRng::seed_from_u64(settings.seed);
        Ok(Self(Arc::new(Inner {
            settings,
            clock,
            http,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            in_flight: watch::Sender::new(0),
            state: Mutex::new(State {
                hooks: Vec::new(),
                faults: Faults::default(),
                limits: Limits::default(),
                counters: Counters::default(),
                posts: HashMap::new(),
                held: Vec::new(),
                last_id: 0,
                rng,
            }),
        })))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// GitHub's own time: the clock's, plus the skew.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.0.clock.now() + self.state().faults.clock_skew
    }

    /// Registers an App with its webhook. Nothing is sent, not even a ping.
    pub fn add_hook(&self, setup: HookSetup) -> HookRef {
        let mut state = self.state();
        state.hooks.push(Hook { setup, log: Log::default(), page: 0 });
        HookRef(state.hooks.len() - 1)
    }

    /// The hook of this name; `None` when there is none.
    #[must_use]
    pub fn hook(&self, name: &str) -> Option<HookRef> {
        self.state().hooks.iter().position(|h| h.setup.name == name).map(HookRef)
    }

    /// Every hook, in the order they were added.
    #[must_use]
    pub fn hooks(&self) -> Vec<HookRef> {
        (0..self.state().hooks.len()).map(HookRef).collect()
    }

    /// Changes the webhook as its owner would: URL, secret, content type.
    pub fn configure(&self, hook: HookRef, change: impl FnOnce(&mut HookConfig)) {
        if let Some(hook) = self.state().hooks.get_mut(hook.0) {
            change(&mut hook.setup.config);
        }
    }

    /// Changes, or reads, what is wrong.
    pub fn faults<R>(&self, change: impl FnOnce(&mut Faults) -> R) -> R {
        change(&mut self.state().faults)
    }

    /// Changes, or reads, the rate limits.
    pub fn limits<R>(&self, change: impl FnOnce(&mut Limits) -> R) -> R {
        change(&mut self.state().limits)
    }

    /// Lets `event` happen for one hook: makes the first attempt and writes down its outcome.
    /// Returns the GUID.
    pub async fn emit(&self, hook: HookRef, event: Event) -> String {
        let guid = self.state().new_guid();
        if let Some(job) = self.begin(hook, &guid, &Arc::new(event), false, None) {
            self.carry_out(job).await;
        }
        guid
    }

    /// The same, with this first attempt made in the given way, whatever the faults say.
    pub async fn emit_as(&self, hook: HookRef, event: Event, sending: Sending) -> String {
        let guid = self.state().new_guid();
        if let Some(job) = self.begin(hook, &guid, &Arc::new(event), false, Some(sending)) {
            self.carry_out(job).await;
        }
        guid
    }

    /// Lets one event happen for several hooks: one GUID, one attempt each, at the same time.
    pub async fn emit_to_all(&self, hooks: &[HookRef], event: Event) -> String {
        let guid = self.state().new_guid();
        let event = Arc::new(event);
        let jobs = hooks.iter().filter_map(|hook| self.begin(*hook, &guid, &event, false, None));
        let sends: Vec<_> = jobs.map(|job| self.carry_out_in_background(job)).collect();
        for send in sends {
            // A send that was stopped with the world has no outcome to wait for.
            let _ = send.await;
        }
        guid
    }

    /// Lets one event happen for several hooks and returns at once; [`World::settled`] waits for the
    /// outcomes.
    pub fn emit_in_background(&self, hooks: &[HookRef], event: Event) -> String {
        let guid = self.state().new_guid();
        let event = Arc::new(event);
        for hook in hooks {
            if let Some(job) = self.begin(*hook, &guid, &event, false, None) {
                drop(self.carry_out_in_background(job));
            }
        }
        guid
    }

    /// Puts history into the log without sending anything. Returns id and GUID of each row.
    pub fn backfill(
        &self,
        hook: HookRef,
        rows: impl IntoIterator<Item = Backfill>,
    ) -> Vec<(i64, String)> {
        let mut state = self.state();
        let state = &mut *state;
        let Some(target) = state.hooks.get_mut(hook.0) else { return Vec::new() };
        let lane = i64::try_from(hook.0).unwrap_or(0) % 32;
        rows.into_iter()
            .map(|row| {
                let guid = row.guid.unwrap_or_else(|| new_guid(&mut state.rng));
                let id = row.id.unwrap_or_else(|| target.log.free_id(row.at, lane));
                target.log.insert(LoggedAttempt {
                    id,
                    guid: guid.clone(),
                    event: row.event,
                    delivered_at: row.at.trunc_subsecs(3),
                    redelivery: row.redelivery,
                    duration: 0.05,
                    status: row.status,
                    code: row.code,
                    throttled_at: None,
                    url: target.setup.config.url.clone(),
                    headers: Vec::new(),
                    answer: None,
                    listed_from: None,
                    unsettled: None,
                });
                (id, guid)
            })
            .collect()
    }

    /// The whole log of a hook, newest first, also what the API does not show.
    #[must_use]
    pub fn attempts(&self, hook: HookRef) -> Vec<LoggedAttempt> {
        let state = self.state();
        state.hooks.get(hook.0).map_or_else(Vec::new, |h| h.log.newest_first().cloned().collect())
    }

    /// Every POST of this GUID that really left, in order, to any hook.
    #[must_use]
    pub fn posts(&self, guid: &str) -> Vec<Post> {
        self.state().posts.get(guid).cloned().unwrap_or_default()
    }

    /// Whether a receiver really answered 2xx to some POST of this GUID.
    #[must_use]
    pub fn received_ok(&self, guid: &str) -> bool {
        self.posts(guid).iter().any(|p| p.answer.is_some_and(|code| (200..=299).contains(&code)))
    }

    /// How often redelivery of this GUID was asked for, by any of its attempts.
    #[must_use]
    pub fn redelivery_posts(&self, guid: &str) -> u32 {
        self.state().counters.redelivery_posts_of_guid.get(guid).copied().unwrap_or(0)
    }

    /// All counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.state().counters.clone()
    }

    /// Waits until no attempt is under way or promised. Held redeliveries do not count.
    pub async fn settled(&self) {
        let mut in_flight = self.0.in_flight.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = in_flight.wait_for(|count| *count == 0).await;
    }

    /// Attempts the redeliveries that were held; [`World::settled`] waits for their outcomes.
    pub fn release(&self) {
        let held = std::mem::take(&mut self.state().held);
        for (hook, guid, event) in held {
            if let Some(job) = self.begin(hook, &guid, &event, true, None) {
                drop(self.carry_out_in_background(job));
            }
        }
    }

    /// Stops every send and the server, and waits for them. The log stays readable.
    pub async fn stop(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    pub(super) fn view(&self, now: DateTime<Utc>) -> View {
        View { now, window: self.0.settings.window }
    }
}

impl State {
    fn new_guid(&mut self) -> String {
        new_guid(&mut self.rng)
    }

    /// A new id, larger than all before.
    pub(super) fn new_id(&mut self, base: i64) -> i64 {
        let mut id = base.max(self.last_id + 1);
        while self.hooks.iter().any(|h| h.log.contains(id)) {
            id += 1;
        }
        self.last_id = id;
        id
    }
}

fn new_guid(rng: &mut StdRng) -> String {
    Builder::from_random_bytes(rng.random()).into_uuid().to_string()
}
