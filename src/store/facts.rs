//! Putting deliveries together from their tables, a fixed number of statements per batch.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::{
    Result, Store,
    backend::{fetch_guids, on},
    error::inconsistent,
    rows::{attempt_id, count, event, guid, word},
    types::OpenDelivery,
};
use crate::domain::{
    attempt::Attempt,
    delivery::{Delivery, Means, Outcome, Receipt, Redelivery, Via},
    ids::{Guid, HookName},
};

/// GUIDs in one statement, at most; a power of two.
const BATCH: usize = 256;

#[derive(sqlx::FromRow)]
struct DeliveryRow {
    guid: String,
    event: String,
    action: Option<String>,
    installation_id: Option<i64>,
    repository_id: Option<i64>,
    asked_by_hand: bool,
    dismissed_at: Option<DateTime<Utc>>,
    verdict: Option<String>,
    reason: Option<String>,
    missing_since: Option<DateTime<Utc>>,
}

const DELIVERIES: &str = "SELECT guid, event, action, installation_id, repository_id, \
     asked_by_hand, dismissed_at, verdict, reason, missing_since FROM deliveries WHERE hook = ";

#[derive(sqlx::FromRow)]
struct AttemptRow {
    guid: String,
    id: i64,
    delivered_at: DateTime<Utc>,
    redelivery: bool,
    status: String,
    code: Option<i64>,
}

const ATTEMPTS: &str =
    "SELECT guid, id, delivered_at, redelivery, status, code FROM attempts WHERE hook = ";

#[derive(sqlx::FromRow)]
struct RedeliveryRow {
    guid: String,
    nth: i64,
    means: String,
    attempt_id: i64,
    asked_at: DateTime<Utc>,
    probe: bool,
    outcome: String,
}

const REDELIVERIES: &str = "SELECT guid, nth, means, attempt_id, asked_at, probe, outcome \
     FROM redeliveries WHERE hook = ";

#[derive(sqlx::FromRow)]
struct ReceiptRow {
    guid: String,
    event: String,
    action: Option<String>,
    installation_id: Option<i64>,
    repository_id: Option<i64>,
    via: String,
    received_at: DateTime<Utc>,
}

const RECEIPTS: &str = "SELECT guid, event, action, installation_id, repository_id, via, \
     received_at FROM receipts WHERE hook = ";

impl Store {
    /// The deliveries with these GUIDs, in this order, with all their facts. What neither list nor
    /// receiver knows is left out.
    pub(super) async fn facts(&self, hook: &HookName, guids: &[Guid]) -> Result<Vec<OpenDelivery>> {
        let mut all = Vec::with_capacity(guids.len());
        for batch in guids.chunks(BATCH) {
            // Padded with copies of the last, so that few different statements are prepared.
            let mut keys: Vec<&str> = batch.iter().map(Guid::as_str).collect();
            let padded = keys.len().next_power_of_two();
            keys.extend(
                batch.last().map(Guid::as_str).into_iter().cycle().take(padded - keys.len()),
            );
            let tables: (Vec<DeliveryRow>, Vec<AttemptRow>, Vec<RedeliveryRow>, Vec<ReceiptRow>) =
                on!(self.backend(), |db| (
                    fetch_guids!(db, DELIVERIES, hook, &keys),
                    fetch_guids!(db, ATTEMPTS, hook, &keys),
                    fetch_guids!(db, REDELIVERIES, hook, &keys),
                    fetch_guids!(db, RECEIPTS, hook, &keys),
                ));
            let mut found = assemble(hook, tables)?;
            all.extend(batch.iter().filter_map(|guid| found.remove(guid.as_str())));
        }
        Ok(all)
    }
}

type Tables = (Vec<DeliveryRow>, Vec<AttemptRow>, Vec<RedeliveryRow>, Vec<ReceiptRow>);

fn assemble(hook: &HookName, tables: Tables) -> Result<HashMap<String, OpenDelivery>> {
    let (deliveries, attempts, redeliveries, receipts) = tables;
    let mut found = HashMap::with_capacity(deliveries.len());
    for row in deliveries {
        found.insert(row.guid.clone(), listed(hook, row)?);
    }
    for row in attempts {
        if let Some(open) = found.get_mut(&row.guid) {
            open.delivery.attempts.push(attempt(row)?);
        }
    }
    for row in redeliveries {
        if let Some(open) = found.get_mut(&row.guid) {
            open.delivery.redeliveries.push(redelivery(&row)?);
        }
    }
    for row in receipts {
        if !found.contains_key(&row.guid) {
            found.insert(row.guid.clone(), only_received(hook, &row)?);
        }
        if let Some(open) = found.get_mut(&row.guid) {
            let stored = word("receipts", "via", &row.via, Via::from_word)?;
            let via = via(stored, row.received_at, &open.delivery);
            open.delivery.receipt = Some(Receipt { received_at: row.received_at, via });
        }
    }
    Ok(found)
}

fn listed(hook: &HookName, row: DeliveryRow) -> Result<OpenDelivery> {
    const TABLE: &str = "deliveries";
    Ok(OpenDelivery {
        hook: hook.clone(),
        delivery: Delivery {
            guid: guid(TABLE, &row.guid)?,
            event: event(TABLE, &row.event)?,
            action: row.action,
            installation_id: row.installation_id,
            repository_id: row.repository_id,
            attempts: Vec::new(),
            redeliveries: Vec::new(),
            receipt: None,
            dismissed: row.dismissed_at.is_some(),
            asked_by_hand: row.asked_by_hand,
        },
        judged: row.verdict.zip(row.reason),
        missing_since: row.missing_since,
    })
}

/// What arrived before GitHub listed it.
fn only_received(hook: &HookName, row: &ReceiptRow) -> Result<OpenDelivery> {
    const TABLE: &str = "receipts";
    Ok(OpenDelivery {
        hook: hook.clone(),
        delivery: Delivery {
            guid: guid(TABLE, &row.guid)?,
            event: event(TABLE, &row.event)?,
            action: row.action.clone(),
            installation_id: row.installation_id,
            repository_id: row.repository_id,
            attempts: Vec::new(),
            redeliveries: Vec::new(),
            receipt: None,
            dismissed: false,
            asked_by_hand: false,
        },
        judged: None,
        missing_since: None,
    })
}

fn attempt(row: AttemptRow) -> Result<Attempt> {
    const TABLE: &str = "attempts";
    let code = row
        .code
        .map(i32::try_from)
        .transpose()
        .map_err(|_| inconsistent(TABLE, "code has more than 32 bits"))?;
    Ok(Attempt {
        id: attempt_id(TABLE, row.id)?,
        delivered_at: row.delivered_at,
        redelivery: row.redelivery,
        status: row.status,
        code,
    })
}

fn redelivery(row: &RedeliveryRow) -> Result<Redelivery> {
    const TABLE: &str = "redeliveries";
    Ok(Redelivery {
        nth: count(TABLE, "nth", row.nth)?,
        means: word(TABLE, "means", &row.means, Means::from_word)?,
        attempt: attempt_id(TABLE, row.attempt_id)?,
        asked_at: row.asked_at,
        outcome: word(TABLE, "outcome", &row.outcome, Outcome::from_word)?,
        probe: row.probe,
    })
}

/// How a receipt came, by all that is known now; the receiver itself cannot tell a redelivery, whose
/// request looks like the first. What came after we asked was asked for; else the attempt nearest
/// to the arrival says whether somebody else did.
fn via(stored: Via, received_at: DateTime<Utc>, delivery: &Delivery) -> Via {
    if stored == Via::Api {
        return Via::Api;
    }
    let asked = delivery.redeliveries.iter().any(|redelivery| {
        redelivery.means == Means::Redeliver
            && redelivery.asked_at <= received_at
            && matches!(
                redelivery.outcome,
                Outcome::Intended | Outcome::Accepted | Outcome::Ambiguous
            )
    });
    let nearest = delivery
        .attempts
        .iter()
        .min_by_key(|attempt| ((attempt.delivered_at - received_at).abs(), attempt.id));
    if asked || nearest.is_some_and(|attempt| attempt.redelivery) {
        Via::Redelivery
    } else {
        stored
    }
}
