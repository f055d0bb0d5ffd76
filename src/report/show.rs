//! `show`: one delivery's story as a timeline, with the verdict and why.

use chrono::{DateTime, SubsecRound as _, Utc};
use serde::Serialize;

use super::{Bench, DeliveryView, HandoverView, InboxView, list};
use crate::{
    config::Hook,
    domain::{ids::Guid, verdict::Verdict},
    store::{Store, StoreError, types::Story},
};

/// `show --json`: the delivery's fields and its story.
#[derive(Debug, Serialize)]
pub struct Shown {
    /// The same object as in `list`.
    #[serde(flatten)]
    pub delivery: DeliveryView,
    /// Until when nothing changes without a new fact; `None` unless waiting.
    pub until: Option<DateTime<Utc>>,
    /// Everything that happened, oldest first.
    pub timeline: Vec<Event>,
    /// GitHub's rows, oldest first.
    pub attempt_rows: Vec<AttemptRow>,
    /// Our requests, oldest first.
    pub redelivery_rows: Vec<RedeliveryRow>,
    /// Our proof of arrival.
    pub receipt: Option<ReceiptView>,
    /// Hand-overs to the application, oldest first.
    pub handovers: Vec<HandoverView>,
    /// Where it stands on its way to the application; `None` where nothing is handed over.
    pub inbox: Option<InboxView>,
}

/// One thing that happened.
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    /// When: GitHub's clock for attempts, ours for everything else.
    pub at: DateTime<Utc>,
    /// `attempt`, `redelivery`, `receipt`, `dismissed` or `handover`.
    pub what: &'static str,
    /// One line for a person.
    pub text: String,
}

/// One row of GitHub's list.
#[derive(Debug, Serialize)]
pub struct AttemptRow {
    /// GitHub's id, as text.
    pub id: String,
    /// When GitHub sent it.
    pub delivered_at: DateTime<Utc>,
    /// GitHub's words.
    pub status: String,
    /// `None`: not known yet.
    pub status_code: Option<i32>,
    /// Whether GitHub marks it as a redelivery.
    pub redelivery: bool,
}

/// One request of ours.
#[derive(Debug, Serialize)]
pub struct RedeliveryRow {
    /// From 1.
    pub nth: u32,
    /// `redeliver` or `fetch`.
    pub means: &'static str,
    /// The attempt we asked to repeat, as text.
    pub attempt_id: String,
    /// `accepted`, `refused`, `ambiguous` or `deferred`.
    pub outcome: &'static str,
    /// When.
    pub asked_at: DateTime<Utc>,
    /// Whether it was a probe of an endpoint judged down.
    pub probe: bool,
    /// GitHub's words, if any.
    pub detail: Option<String>,
}

/// Our proof of arrival, without the body.
#[derive(Debug, Serialize)]
pub struct ReceiptView {
    /// When the first arrival was complete.
    pub received_at: DateTime<Utc>,
    /// How it came.
    pub via: &'static str,
    /// Arrivals so far.
    pub arrivals: u32,
    /// Arrivals with other bytes.
    pub conflicts: u32,
    /// Size of the body.
    pub body_bytes: u64,
    /// SHA-256 of the body, hex.
    pub sha256: String,
    /// Whether retention removed the bytes.
    pub body_pruned: bool,
}

/// One delivery of one hook; `None` when neither GitHub's list nor the receiver knows it.
pub async fn show(
    store: &Store,
    hook: &Hook,
    guid: &Guid,
    now: DateTime<Utc>,
) -> Result<Option<Shown>, StoreError> {
    let Some(known) = store.story(&hook.name, guid).await? else { return Ok(None) };
    let bench = Bench::of(store, hook).await?;
    let verdict = bench.judge(&known.open.delivery, now);
    let state = list::handovers(store, hook, &[guid.as_str()]).await?.remove(guid.as_str());
    let row = store.inbox_row(&hook.name, guid).await?;
    let handovers = store.handovers(&hook.name, guid).await?;
    let handovers: Vec<HandoverView> = handovers.iter().map(HandoverView::new).collect();
    Ok(Some(Shown {
        delivery: DeliveryView::new(&known.open, &verdict, state),
        until: match verdict {
            Verdict::Waiting { until, .. } => Some(until),
            Verdict::Settled(_)
            | Verdict::Due { .. }
            | Verdict::Abandoned(_)
            | Verdict::Excused(_) => None,
        },
        timeline: timeline(&known, &handovers),
        attempt_rows: attempt_rows(&known),
        redelivery_rows: redelivery_rows(&known),
        receipt: known.receipt.as_ref().map(|stored| ReceiptView {
            received_at: stored.arrival.received_at,
            via: stored.arrival.via.as_str(),
            arrivals: stored.arrivals,
            conflicts: stored.conflicts,
            body_bytes: stored.body_size,
            sha256: hex::encode(stored.digest),
            body_pruned: stored.body_pruned,
        }),
        handovers,
        inbox: row.map(InboxView::new),
    }))
}

fn attempt_rows(story: &Story) -> Vec<AttemptRow> {
    let mut attempts: Vec<_> = story.open.delivery.attempts.iter().collect();
    attempts.sort_by_key(|attempt| (attempt.delivered_at, attempt.id));
    attempts
        .into_iter()
        .map(|attempt| AttemptRow {
            id: attempt.id.to_string(),
            delivered_at: attempt.delivered_at,
            status: attempt.status.clone(),
            status_code: attempt.code,
            redelivery: attempt.redelivery,
        })
        .collect()
}

fn redelivery_rows(story: &Story) -> Vec<RedeliveryRow> {
    let mut asked: Vec<_> = story.open.delivery.redeliveries.iter().collect();
    asked.sort_by_key(|redelivery| redelivery.nth);
    asked
        .into_iter()
        .map(|redelivery| RedeliveryRow {
            nth: redelivery.nth,
            means: redelivery.means.as_str(),
            attempt_id: redelivery.attempt.to_string(),
            outcome: redelivery.outcome.shown(),
            asked_at: redelivery.asked_at,
            probe: redelivery.probe,
            detail: story
                .details
                .iter()
                .find(|(nth, _)| *nth == redelivery.nth)
                .and_then(|(_, detail)| detail.clone()),
        })
        .collect()
}

/// Oldest first. GitHub's times have milliseconds, so within one the order is that of cause and effect.
fn timeline(story: &Story, handovers: &[HandoverView]) -> Vec<Event> {
    let (again, first): (Vec<_>, Vec<_>) =
        attempt_rows(story).into_iter().partition(|attempt| attempt.redelivery);
    let mut events: Vec<Event> = first.iter().map(attempted).collect();
    for row in redelivery_rows(story) {
        let probe = if row.probe { ", a probe" } else { "" };
        let detail = row.detail.map(|words| format!(": {words}")).unwrap_or_default();
        events.push(Event {
            at: row.asked_at,
            what: "redelivery",
            text: format!(
                "we asked (request {}, {}{probe}) for attempt {}: {}{detail}",
                row.nth, row.means, row.attempt_id, row.outcome
            ),
        });
    }
    events.extend(again.iter().map(attempted));
    if let Some(receipt) = &story.receipt {
        let again = match receipt.arrivals {
            0 | 1 => String::new(),
            n => format!(", {n} arrivals in all"),
        };
        events.push(Event {
            at: receipt.arrival.received_at,
            what: "receipt",
            text: format!(
                "received via {}, {} bytes{again}",
                receipt.arrival.via.as_str(),
                receipt.body_size
            ),
        });
    }
    for handover in handovers {
        let at = handover.started_at.unwrap_or(handover.finished_at);
        events.push(Event { at, what: "handover", text: handover.text() });
    }
    if let Some((at, note)) = &story.dismissed {
        let note = note.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
        events.push(Event { at: *at, what: "dismissed", text: format!("dismissed{note}") });
    }
    events.sort_by_key(|event| event.at.trunc_subsecs(3));
    events
}

fn attempted(row: &AttemptRow) -> Event {
    let kind = if row.redelivery { "GitHub sent it again" } else { "GitHub sent it" };
    let code = row.status_code.map_or_else(|| "no answer yet".to_owned(), |c| c.to_string());
    let text = format!("{kind}: {code} {} (attempt {})", row.status, row.id);
    Event { at: row.delivered_at, what: "attempt", text }
}
