//! Judges every open delivery from the store and plans what is asked for now.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::{Marks, Pass, Progress, Sweeper};
use crate::{
    domain::{
        delivery::Delivery,
        ids::Guid,
        plan::{BatchFacts, Candidate, Plan, Ramp, batch_facts, plan},
        policy::{Standing, Trust},
        verdict::{Fault, Verdict, Wait, judge},
    },
    store::{StoreError, types::OpenDelivery},
};

/// Deliveries judged, and verdicts stored, at a time: memory stays flat however many are open.
const BATCH: u32 = 1000;

/// What is due, before the plan says which are asked.
#[derive(Default)]
pub(super) struct Found {
    candidates: Vec<Candidate>,
    notes: HashMap<Guid, Note>,
}

impl Found {
    pub(super) fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }
}

/// What the plan does not need to know of a candidate.
struct Note {
    why: Fault,
    /// The last stored (verdict, reason).
    judged: Option<(String, String)>,
}

/// What is to be asked, with the reasons.
pub(super) struct Planned {
    pub(super) ask: Vec<(Candidate, Fault)>,
}

impl Pass<'_> {
    /// The ramp after looking at what became of the last batch.
    pub(super) async fn observe(
        &self,
        ramp: Option<Ramp>,
        standing: &Standing,
    ) -> Result<Ramp, StoreError> {
        let settings = &self.sweeper.settings;
        let policy = &settings.hook.policy;
        let ramp = ramp.unwrap_or_else(|| Ramp::new(policy));
        let asked = match ramp.last_batch_at {
            Some(since) => self.sweeper.store.asked_since(&settings.hook.name, since).await?,
            None => Vec::new(),
        };
        let since = ramp.last_batch_at.unwrap_or(self.now);
        let facts = BatchFacts {
            fresh_arrival: self.newest_arrival(&ramp).await?,
            ..batch_facts(&asked, since, policy, standing, self.now)
        };
        Ok(ramp.observe(&facts, policy, settings.sweep.period, self.now))
    }

    /// The newest arrival on the hook, by the witness that settles; looked for as far back as it can
    /// tell the ramp anything.
    async fn newest_arrival(&self, ramp: &Ramp) -> Result<Option<DateTime<Utc>>, StoreError> {
        let hook = &self.sweeper.settings.hook;
        match (hook.policy.trust, ramp.reference()) {
            (Trust::Github, _) => Ok(self.tally.newest_success.map(|at| self.clock.to_ours(at))),
            (Trust::Receipt | Trust::Both, None) => Ok(None),
            (Trust::Receipt | Trust::Both, Some(since)) => {
                self.sweeper.store.newest_arrival(&hook.name, since).await
            }
        }
    }

    /// Judges everything open, stores the verdicts that changed, and returns what is due.
    /// A dry run also judges what the sweep would have opened by [`Pass::mark`].
    pub(super) async fn judge_open(
        &mut self,
        standing: &Standing,
        marks: &Marks,
    ) -> Result<Found, StoreError> {
        let mut found = Found::default();
        let mut after: Option<Guid> = None;
        let mut judged = 0;
        loop {
            let hook = &self.sweeper.settings.hook.name;
            let page = self.sweeper.store.open_deliveries(hook, after.as_ref(), BATCH).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.delivery.guid.clone());
            judged += u32::try_from(page.len()).unwrap_or(u32::MAX);
            self.judge_page(page, standing, &mut found).await?;
            self.at(Progress::Judging { deliveries: judged });
        }
        if self.request.dry_run {
            self.judge_closed(standing, marks, &mut found).await?;
        }
        Ok(found)
    }

    /// Judges what is closed and would be opened, without opening it.
    async fn judge_closed(
        &mut self,
        standing: &Standing,
        marks: &Marks,
        found: &mut Found,
    ) -> Result<(), StoreError> {
        let Some(since) = marks.reopen.into_iter().chain(marks.ask).min() else { return Ok(()) };
        let mut after: Option<Guid> = None;
        loop {
            let Sweeper { store, settings, .. } = self.sweeper;
            let name = &settings.hook.name;
            let mut page = store.closed_deliveries(name, since, after.as_ref(), BATCH).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.delivery.guid.clone());
            page.retain(|open| marks.opens(&open.delivery));
            self.judge_page(page, standing, found).await?;
        }
    }

    async fn judge_page(
        &mut self,
        page: Vec<OpenDelivery>,
        standing: &Standing,
        found: &mut Found,
    ) -> Result<(), StoreError> {
        let mut changed = Vec::new();
        for mut open in page {
            if self.request.dry_run {
                pretend_asked(&mut open.delivery, self.since());
            }
            let policy = &self.sweeper.settings.hook.policy;
            let verdict = judge(&open.delivery, policy, standing, self.now);
            if verdict.is_missing() {
                self.tally.numbers.missing += 1;
            }
            self.count(&open, &verdict);
            let OpenDelivery { delivery, judged, .. } = open;
            if let Verdict::Due { why, attempt, nth } = verdict {
                if hidden(&delivery, policy.trust, self.tally.unread) {
                    self.tally.numbers.due += 1;
                    self.tally.numbers.deferred += 1;
                    if !same(judged.as_ref(), &verdict) {
                        changed.push((delivery.guid, verdict));
                    }
                    continue;
                }
                let expires_at = delivery.expires_at(policy.window).unwrap_or(self.now);
                let guid = delivery.guid.clone();
                found.candidates.push(Candidate { guid, attempt, nth, expires_at });
                found.notes.insert(delivery.guid, Note { why, judged });
            } else if verdict.is_closed() || !same(judged.as_ref(), &verdict) {
                // What was reopened is closed again, also when the words are the same as before.
                changed.push((delivery.guid, verdict));
            }
        }
        self.save(&changed).await
    }

    /// Decides what is asked for now, and stores who is due and who waits for the endpoint.
    pub(super) async fn plan(&mut self, found: Found, ramp: &Ramp) -> Result<Planned, StoreError> {
        let Found { candidates, mut notes } = found;
        let policy = &self.sweeper.settings.hook.policy;
        let Plan { ask, deferred, held_back } = plan(candidates, ramp, policy, self.now);
        let count = |list: &[Candidate]| u32::try_from(list.len()).unwrap_or(u32::MAX);
        self.tally.numbers.due += count(&ask).saturating_add(count(&deferred));
        self.tally.numbers.deferred += count(&deferred);
        let mut changed = Vec::new();
        let until = ramp.down.as_ref().map_or(self.now, |down| down.next_probe_at);
        for candidate in held_back {
            let verdict = Verdict::Waiting { why: Wait::EndpointDown, until };
            let note = notes.remove(&candidate.guid);
            if !same(note.and_then(|note| note.judged).as_ref(), &verdict) {
                changed.push((candidate.guid, verdict));
            }
        }
        let mut planned = Vec::with_capacity(ask.len());
        for (candidate, asked) in
            ask.into_iter().map(|c| (c, true)).chain(deferred.into_iter().map(|c| (c, false)))
        {
            let Some(Note { why, judged }) = notes.remove(&candidate.guid) else { continue };
            let Candidate { attempt, nth, .. } = candidate;
            let verdict = Verdict::Due { why, attempt, nth };
            if !same(judged.as_ref(), &verdict) {
                changed.push((candidate.guid.clone(), verdict));
            }
            if asked {
                planned.push((candidate, why));
            }
        }
        self.save(&changed).await?;
        Ok(Planned { ask: planned })
    }

    /// Stores verdicts in batches; a dry run stores none.
    async fn save(&self, verdicts: &[(Guid, Verdict)]) -> Result<(), StoreError> {
        if self.request.dry_run {
            return Ok(());
        }
        for batch in verdicts.chunks(BATCH as usize) {
            self.sweeper.store.save_verdicts(&self.held.lease, batch, self.now).await?;
        }
        Ok(())
    }

    /// Judges one delivery again after something was done about it, and stores and counts it.
    /// `None`: the store no longer knows it.
    pub(super) async fn judge_again(
        &mut self,
        guid: &Guid,
        standing: &Standing,
    ) -> Result<Option<(OpenDelivery, Verdict)>, StoreError> {
        let settings = &self.sweeper.settings;
        let Some(open) = self.sweeper.store.delivery(&settings.hook.name, guid).await? else {
            return Ok(None);
        };
        let verdict = judge(&open.delivery, &settings.hook.policy, standing, self.now);
        if !same(open.judged.as_ref(), &verdict) {
            self.count(&open, &verdict);
            if !verdict.is_missing() {
                self.tally.numbers.missing = self.tally.numbers.missing.saturating_sub(1);
            }
            self.save(&[(guid.clone(), verdict.clone())]).await?;
        }
        Ok(Some((open, verdict)))
    }
}

/// What `--since` would mark, marked for this judgement only.
fn pretend_asked(delivery: &mut Delivery, since: Option<DateTime<Utc>>) {
    if let (Some(since), Some(first)) = (since, delivery.first_attempt_at()) {
        delivery.asked_by_hand |= first >= since;
    }
}

/// Whether a part of the list that is still unread may hold the success that settles it: nothing is
/// concluded from what was not read. Our receipts are never unread.
fn hidden(delivery: &Delivery, trust: Trust, unread: Option<DateTime<Utc>>) -> bool {
    let listed_success_settles = match trust {
        Trust::Receipt => false,
        Trust::Github => true,
        Trust::Both => delivery.receipt.is_some(),
    };
    listed_success_settles && delivery.newest().map(|newest| newest.delivered_at) < unread
}

fn same(judged: Option<&(String, String)>, verdict: &Verdict) -> bool {
    judged.is_some_and(|(word, reason)| word == verdict.word() && reason == verdict.reason())
}
