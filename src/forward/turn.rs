//! One turn of a worker: what ended is written, what is next is claimed, and both are told.

use chrono::TimeDelta;

use super::{Forwarder, worker::Worker};
use crate::{
    config::Order,
    domain::retry::{HandoverResult, Next, share_of_retries},
    store::types::{Claim, Claimed, Conclusion, Turn},
    telemetry::{HookLabel, ResultLabel},
};

/// Events claimed ahead of the application at most, as a multiple of `concurrency`.
const AHEAD: usize = 3;

/// How much another process's clock may be behind ours before we take over what it holds.
const MARGIN: TimeDelta = TimeDelta::seconds(2);

impl Worker {
    /// Writes what ended and claims what is next, unless stopping. `None`: the store failed, and
    /// everything is still to be written.
    pub(super) async fn turn(&mut self, stopping: bool) -> Option<Vec<Claimed>> {
        let forwarder = std::sync::Arc::clone(&self.forwarder);
        let now = forwarder.clock.now();
        let limit = u32::try_from(self.free()).unwrap_or(u32::MAX);
        let claim = (!stopping && limit > 0).then(|| Claim {
            limit,
            retries: share_of_retries(limit, self.turns),
            lease_until: now + forwarder.lease(),
            expired_before: now - MARGIN,
            max_attempts: forwarder.settings.max_attempts,
            ordered: forwarder.settings.order == Order::Repository,
            cursor: self.cursor,
        });
        let written = async {
            if !self.unsent.is_empty() {
                forwarder.store.release_claims(&self.unsent).await?;
                self.unsent.clear();
            }
            let store = &forwarder.store;
            store
                .hand_over(&forwarder.hook, &forwarder.owner, &self.concluded, claim.as_ref(), now)
                .await
        }
        .await;
        let turn = match written {
            Ok(turn) => turn,
            Err(error) => {
                if !self.failing {
                    let hook = &forwarder.hook;
                    tracing::warn!(%hook, %error, "hand-overs wait for the store");
                }
                self.failing = true;
                return None;
            }
        };
        self.failing = false;
        self.turns = self.turns.wrapping_add(1);
        self.cursor = turn.cursor;
        let concluded = std::mem::take(&mut self.concluded);
        self.ahead = concluded.len().min(AHEAD * self.concurrency);
        // A full claim may have left something. So may a conclusion, which frees a repository's
        // turn or makes room for a replay.
        let full = turn.claimed.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
        self.hungry = claim.is_none() || full || !concluded.is_empty();
        self.held.extend(turn.claimed.iter().map(|claimed| (claimed.seq, *claimed)));
        forwarder.tell(&concluded, &turn);
        Some(turn.claimed)
    }

    /// Prolongs every claim. One that was taken over is told; its result will be refused.
    pub(super) async fn renew(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let claims: Vec<Claimed> = self.held.values().copied().collect();
        let forwarder = &self.forwarder;
        let hook = &forwarder.hook;
        let until = forwarder.clock.now() + forwarder.lease();
        match forwarder.store.renew_claims(&claims, until).await {
            Ok(ours) => {
                let lost = claims.iter().filter(|claimed| !ours.contains(&claimed.seq)).count();
                if lost > 0 {
                    tracing::warn!(%hook, lost, "claims were taken over; their results will not count");
                }
            }
            Err(error) => tracing::warn!(%hook, %error, "claims could not be renewed"),
        }
    }
}

impl Forwarder {
    fn lease(&self) -> TimeDelta {
        TimeDelta::from_std(self.settings.lease).unwrap_or(TimeDelta::days(1))
    }

    pub(super) fn label(&self) -> HookLabel {
        HookLabel { hook: self.hook.to_string() }
    }

    /// Counts and logs what a turn wrote.
    fn tell(&self, concluded: &[Conclusion], turn: &Turn) {
        for conclusion in concluded {
            if turn.refused.contains(&conclusion.claimed.seq) {
                self.count("late", 1);
                tracing::warn!(
                    hook = %self.hook,
                    seq = conclusion.claimed.seq,
                    result = conclusion.result.as_str(),
                    "a result came after its claim had been taken over; recorded, not counted"
                );
                continue;
            }
            self.count(conclusion.result.as_str(), 1);
            self.log(conclusion);
        }
        let lost = turn.expired + turn.expired_dead;
        if lost > 0 {
            self.count(HandoverResult::Expired.as_str(), u64::from(lost));
            tracing::warn!(
                hook = %self.hook,
                expired = lost,
                dead = turn.expired_dead,
                "leases ended without a result; their events wait again, or are dead"
            );
        }
    }

    fn log(&self, conclusion: &Conclusion) {
        let result = conclusion.result.as_str();
        let (attempt, status) = (conclusion.claimed.attempt, conclusion.status_code);
        let (hook, seq) = (&self.hook, conclusion.claimed.seq);
        match conclusion.next {
            Next::Done => tracing::debug!(%hook, seq, attempt, status, "handed over"),
            Next::Again { due_at } => {
                tracing::info!(%hook, seq, attempt, status, result, %due_at, "to be handed over again");
            }
            Next::Dead => {
                tracing::warn!(
                    %hook, seq, attempt, status, result,
                    "dead: see `redeliverd dead list`"
                );
            }
        }
    }

    fn count(&self, result: &str, by: u64) {
        let label = ResultLabel { hook: self.hook.to_string(), result: result.to_owned() };
        self.metrics.handovers.get_or_create(&label).inc_by(by);
    }
}
