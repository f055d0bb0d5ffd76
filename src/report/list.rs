//! `list`: deliveries with verdict and reason.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::Bench;
use crate::{
    config::{Config, Hook},
    domain::{
        ids::{Guid, HookName},
        policy::Trust,
        retry::HandoverState,
        verdict::Verdict,
    },
    store::{
        Store, StoreError,
        types::{OpenDelivery, Query},
    },
};

/// How many deliveries are read at once while looking for matching ones.
const BATCH: u32 = 1_000;

/// How many deliveries of one hook are looked at while few match: some seconds' work.
pub const DEPTH: usize = 100_000;

/// What `list` is asked for; the empty query lists the newest deliveries of every hook.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    /// Only this hook.
    pub hook: Option<HookName>,
    /// Only what is missing.
    pub missing: bool,
    /// Only this verdict word.
    pub verdict: Option<String>,
    /// Only this event, or with a dot only this action of it, as filters have it and the table shows.
    pub event: Option<String>,
    /// Only first attempted at or after this.
    pub since: Option<DateTime<Utc>>,
    /// At most this many.
    pub limit: usize,
    /// Per hook, look at about this many of all deliveries; what is open, and what GitHub listed of one
    /// event, is looked at in full.
    pub depth: usize,
}

/// `list --json`.
#[derive(Debug, Serialize)]
pub struct DeliveryList {
    /// Newest first attempt first.
    pub deliveries: Vec<DeliveryView>,
    /// `None`: every match up to the limit is here. Otherwise some older than this may be missing,
    /// because the search ended here.
    pub looked_back_to: Option<DateTime<Utc>>,
}

/// One delivery. Ids are strings, because they are larger than a JavaScript number can hold.
#[derive(Debug, Clone, Serialize)]
pub struct DeliveryView {
    /// The configured hook name.
    pub hook: String,
    /// The event's key.
    pub guid: String,
    /// The event.
    pub event: String,
    /// `None` for events without one.
    pub action: Option<String>,
    /// `None` when unknown or none.
    pub installation_id: Option<String>,
    /// `None` when unknown or none.
    pub repository_id: Option<String>,
    /// The verdict's word.
    pub verdict: &'static str,
    /// The reason's word.
    pub reason: &'static str,
    /// Attempts in GitHub's list.
    pub attempts: usize,
    /// Requests of ours.
    pub redeliveries: usize,
    /// `None` while GitHub has not listed it.
    pub first_attempt_at: Option<DateTime<Utc>>,
    /// `None` while GitHub has not listed it.
    pub last_attempt_at: Option<DateTime<Utc>>,
    /// `None`: it never arrived.
    pub received_at: Option<DateTime<Utc>>,
    /// How it arrived; `None`: it never did.
    pub via: Option<&'static str>,
    /// State of the hand-over; `None` where nothing is handed over.
    pub handover: Option<&'static str>,
}

impl DeliveryView {
    pub(super) fn new(
        open: &OpenDelivery,
        verdict: &Verdict,
        handover: Option<HandoverState>,
    ) -> Self {
        let delivery = &open.delivery;
        Self {
            hook: open.hook.to_string(),
            guid: delivery.guid.to_string(),
            event: delivery.event.to_string(),
            action: delivery.action.clone(),
            installation_id: delivery.installation_id.map(|id| id.to_string()),
            repository_id: delivery.repository_id.map(|id| id.to_string()),
            verdict: verdict.word(),
            reason: verdict.reason(),
            attempts: delivery.attempts.len(),
            redeliveries: delivery.redeliveries.len(),
            first_attempt_at: delivery.first_attempt_at(),
            last_attempt_at: delivery.newest().map(|attempt| attempt.delivered_at),
            received_at: delivery.receipt.as_ref().map(|receipt| receipt.received_at),
            via: delivery.receipt.as_ref().map(|receipt| receipt.via.as_str()),
            handover: handover.map(HandoverState::as_str),
        }
    }
}

/// Deliveries that match, judged at `now`. The cost depends on what is open, not on history, with
/// `missing` and with a verdict that only open ones have; else [`ListQuery::depth`] bounds it.
pub async fn list(
    store: &Store,
    config: &Config,
    query: &ListQuery,
    now: DateTime<Utc>,
) -> Result<DeliveryList, StoreError> {
    let (event, action) = match query.event.as_deref().map(|text| text.split_once('.')) {
        Some(Some((event, action))) => (Some(event.to_owned()), Some(action)),
        Some(None) | None => (query.event.clone(), None),
    };
    let mut found = Vec::new();
    let mut looked_back_to = None;
    for hook in &config.hooks {
        if query.hook.as_ref().is_some_and(|wanted| *wanted != hook.name) {
            continue;
        }
        let bench = Bench::of(store, hook).await?;
        let open_only = query.missing
            || match query.verdict.as_deref() {
                Some("due" | "abandoned") => true,
                // Where a receipt alone settles nothing, one that GitHub has not listed waits, too.
                Some("waiting") => hook.policy.trust != Trust::Both,
                Some(_) | None => false,
            };
        // Listed deliveries have an index by event, receipts have none: it would cost every intake.
        let unlisted_since = if query.event.is_some() && !open_only {
            let behind = store.receipt_behind(&hook.name, query.depth).await?;
            behind.filter(|at| query.since.is_none_or(|since| since < *at))
        } else {
            None
        };
        let mut page = Query {
            hook: Some(hook.name.clone()),
            event: event.clone(),
            since: query.since,
            unlisted_since,
            open_only,
            before: None,
            // Mostly what is read first is what is shown.
            limit: u32::try_from(query.limit).unwrap_or(BATCH).clamp(1, BATCH),
        };
        let (mut wanted, mut looked) = (query.limit, 0);
        // GitHub may list one between two pages: from then on it stands further back, by its attempt.
        let mut unlisted: HashSet<Guid> = HashSet::new();
        while wanted > 0 {
            let batch = store.list(&page).await?;
            let Some(last) = batch.last() else { break };
            if looked >= query.depth && !open_only {
                looked_back_to = looked_back_to.max(page.before.as_ref().map(|(at, _)| *at));
                break;
            }
            looked += batch.len();
            page.before = Some((last.known_since(), last.delivery.guid.clone()));
            let left = if open_only { usize::MAX } else { query.depth.saturating_sub(looked) };
            page.limit = page
                .limit
                .saturating_mul(2)
                .min(BATCH)
                .min(u32::try_from(left).unwrap_or(BATCH))
                .max(1);
            let mut judged = Vec::new();
            for open in &batch {
                if open.delivery.attempts.is_empty() {
                    unlisted.insert(open.delivery.guid.clone());
                } else if unlisted.contains(&open.delivery.guid) {
                    continue;
                }
                let verdict = bench.judge(&open.delivery, now);
                let matches = (!query.missing || verdict.is_missing())
                    && (action.is_none() || open.delivery.action.as_deref() == action)
                    && query.verdict.as_deref().is_none_or(|word| word == verdict.word());
                if matches && wanted > 0 {
                    judged.push((open, verdict));
                    wanted -= 1;
                }
            }
            let guids: Vec<&str> =
                judged.iter().map(|(open, _)| open.delivery.guid.as_str()).collect();
            let states = handovers(store, hook, &guids).await?;
            found.extend(judged.into_iter().map(|(open, verdict)| {
                let state = states.get(open.delivery.guid.as_str()).copied();
                (open.known_since(), DeliveryView::new(open, &verdict, state))
            }));
        }
        let went_beyond = page.before.is_some_and(|(at, _)| Some(at) < unlisted_since);
        if wanted > 0 || went_beyond {
            looked_back_to = looked_back_to.max(unlisted_since);
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.guid.cmp(&b.1.guid)));
    found.truncate(query.limit);
    Ok(DeliveryList {
        deliveries: found.into_iter().map(|(_, view)| view).collect(),
        looked_back_to,
    })
}

/// Where events stand on their way to the application. `ignored` has a meaning only where there is
/// a way.
pub(super) async fn handovers(
    store: &Store,
    hook: &Hook,
    guids: &[&str],
) -> Result<HashMap<String, HandoverState>, StoreError> {
    let mut states = store.handover_states(&hook.name, guids).await?;
    if hook.forward.is_none() {
        states.retain(|_, state| *state != HandoverState::Ignored);
    }
    Ok(states)
}
