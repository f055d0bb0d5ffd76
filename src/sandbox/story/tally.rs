//! The end of the story: what happened to each event, by GitHub's books and by ours.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    time::Duration,
};

use bytes::Bytes;
use serde::Serialize;

use super::{
    Options,
    application::HandedOver,
    setup::{HOOK, Scene},
};
use crate::{
    domain::{delivery::Outcome as Asked, ids::Guid},
    report::{self, Missing, Shown},
    store::{Store, types::Story},
};

/// What the world did to one event's first attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It arrived at once.
    Delivered,
    /// A gateway answered 503.
    GatewayError,
    /// GitHub could not connect.
    Unreachable,
    /// GitHub gave up waiting.
    TimedOut,
    /// A proxy answered 200 and passed nothing on.
    Swallowed,
    /// The receiver was down.
    Outage,
}

/// One event of the story.
#[derive(Debug)]
pub(super) struct Emitted {
    pub(super) guid: String,
    pub(super) event: String,
    pub(super) payload: Bytes,
    pub(super) fate: Fate,
}

/// One act of the story.
#[derive(Debug, Default, Serialize)]
pub struct PhaseReport {
    /// `calm`, `trouble`, `outage`.
    pub name: &'static str,
    /// Events so far.
    pub events: usize,
    /// Missing by reason when most was missing, in the daemon's own words.
    pub at_worst: Missing,
    /// Missing when the act ended.
    pub at_the_end: u64,
    /// How long the act was watched.
    pub took_ms: u64,
}

/// All events of one fate.
#[derive(Debug, Default, Serialize)]
pub struct FateSummary {
    /// How many.
    pub events: u32,
    /// How many have a receipt with exactly the bytes that GitHub sent.
    pub received: u32,
    /// How many the application took, with exactly those bytes.
    pub handed_over: u32,
    /// Requests of ours for them.
    pub requests: u32,
    /// The longest time from first attempt to receipt.
    pub slowest_repair_ms: i64,
}

/// How the story ended; `sandbox --json` prints it.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// Tells the same story again.
    pub seed: u64,
    /// Events in all.
    pub events: u32,
    /// Different kinds of events.
    pub event_types: usize,
    /// What was missing after each act.
    pub phases: Vec<PhaseReport>,
    /// By fate of the first attempt.
    pub fates: BTreeMap<Fate, FateSummary>,
    /// Redelivery requests by our table.
    pub requests: u32,
    /// Redelivery requests by GitHub's count; equal, unless something was sent unrecorded.
    pub requests_counted_by_github: u64,
    /// One delivery per fate, as `show` tells it.
    pub examples: BTreeMap<Fate, Shown>,
    /// Events without a receipt, or with other bytes, at the end.
    pub missing: u32,
    /// What reached the application.
    pub application: HandedOver,
    /// How long the story took.
    pub duration_ms: u64,
}

impl Outcome {
    /// Whether nothing is missing, every event reached the application under its one key and nothing
    /// else did, and nothing was sent to GitHub unrecorded.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        let handed_over = self.fates.values().map(|fate| fate.handed_over).sum::<u32>();
        self.missing == 0
            && handed_over == self.events
            && self.application.events == self.events
            && self.requests_counted_by_github == u64::from(self.requests)
    }
}

impl PhaseReport {
    pub(super) fn line(&self) -> String {
        let (name, events) = (self.name, self.events);
        let took = format!("{}.{} s", self.took_ms / 1_000, self.took_ms % 1_000 / 100);
        match (self.at_worst.total, self.at_the_end) {
            (0, 0) => format!("{name}: {events} events so far, none was ever missing"),
            (_, 0) => format!("{name}: {events} events so far, all repaired after {took}"),
            (_, left) => format!("{name}: {events} events so far, {left} missing after {took}"),
        }
    }
}

/// Whether every event has a receipt.
pub(super) async fn all_received(
    scene: &Scene,
    store: &Store,
    emitted: &[Emitted],
) -> anyhow::Result<bool> {
    for event in emitted {
        if story(scene, store, event).await?.is_none_or(|story| story.receipt.is_none()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the application took the event, with the bytes that GitHub sent.
pub(super) fn handed_over(scene: &Scene, event: &Emitted) -> bool {
    scene.application.took(&format!("{HOOK}/{}", event.guid), &event.payload)
}

async fn story(scene: &Scene, store: &Store, event: &Emitted) -> anyhow::Result<Option<Story>> {
    let Some(hook) = scene.config.hooks.first() else { return Ok(None) };
    Ok(store.story(&hook.name, &Guid::new(&event.guid)?).await?)
}

/// Compares what GitHub sent with what the store holds.
pub(super) async fn draw_up(
    scene: &Scene,
    store: &Store,
    options: &Options,
    phases: Vec<PhaseReport>,
    emitted: &[Emitted],
    took: Duration,
) -> anyhow::Result<Outcome> {
    let mut fates: BTreeMap<Fate, FateSummary> = BTreeMap::new();
    let mut examples = BTreeMap::new();
    let (mut requests, mut missing) = (0, 0);
    for event in emitted {
        let summary = fates.entry(event.fate).or_default();
        summary.events += 1;
        if let Entry::Vacant(free) = examples.entry(event.fate)
            && let Some(shown) = shown(scene, store, event).await?
        {
            free.insert(shown);
        }
        let Some(known) = story(scene, store, event).await? else {
            missing += 1;
            continue;
        };
        let delivery = &known.open.delivery;
        let asked = delivery.redeliveries.iter().filter(|r| r.outcome != Asked::Deferred).count();
        let asked = u32::try_from(asked)?;
        summary.requests += asked;
        requests += asked;
        if !same_bytes(scene, store, event).await? {
            missing += 1;
            continue;
        }
        summary.received += 1;
        summary.handed_over += u32::from(handed_over(scene, event));
        if let (Some(first), Some(receipt)) = (delivery.first_attempt_at(), &delivery.receipt) {
            let took = (receipt.received_at - first).num_milliseconds();
            summary.slowest_repair_ms = summary.slowest_repair_ms.max(took);
        }
    }
    let mut types: Vec<&str> = emitted.iter().map(|event| event.event.as_str()).collect();
    types.sort_unstable();
    types.dedup();
    Ok(Outcome {
        seed: options.seed,
        events: u32::try_from(emitted.len())?,
        event_types: types.len(),
        phases,
        fates,
        requests,
        requests_counted_by_github: scene.github.world.counters().redelivery_posts,
        examples,
        missing,
        application: scene.application.handed_over(),
        duration_ms: u64::try_from(took.as_millis())?,
    })
}

async fn shown(scene: &Scene, store: &Store, event: &Emitted) -> anyhow::Result<Option<Shown>> {
    let Some(hook) = scene.config.hooks.first() else { return Ok(None) };
    Ok(report::show(store, hook, &Guid::new(&event.guid)?, scene.clock.now()).await?)
}

async fn same_bytes(scene: &Scene, store: &Store, event: &Emitted) -> anyhow::Result<bool> {
    let Some(hook) = scene.config.hooks.first() else { return Ok(false) };
    let stored = store.receipt(&hook.name, &Guid::new(&event.guid)?).await?;
    Ok(stored.is_some_and(|receipt| receipt.arrival.body == event.payload))
}
