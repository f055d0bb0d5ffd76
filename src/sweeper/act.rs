//! Asks for what was planned: one at a time, at a measured pace, each written down first.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::{
    Pass, Progress, Sweeper,
    ask::{Ask, Asked},
    calls::ending,
    decide::Planned,
    report::{Ending, RequestReport},
};
use crate::{
    domain::{
        delivery::{Means, Outcome},
        plan::{Candidate, Ramp},
        policy::{Repair, Standing},
        verdict::{Verdict, means},
    },
    github::GitHubError,
    store::StoreError,
};

/// Requests in a row that never left, or were forbidden, before asking stops: it is not about one
/// delivery then.
const IN_A_ROW: u32 = 3;

/// The pace of requests that change something at GitHub, measured from start to start.
struct Pace {
    interval: Duration,
    next: Instant,
}

/// Whether asking goes on after a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// One bad item never stops the rest.
    GoOn,
    /// GitHub was not reached: it goes on unless this happens too often in a row.
    Unreachable,
    /// Forbidden, and so is everything if nothing was taken in this sweep: as above.
    Forbidden,
    /// Nothing more is to be sent in this sweep.
    Stop,
}

/// What the requests of one sweep have shown so far.
#[derive(Default)]
struct Luck {
    /// Those in a row that never left, or were forbidden.
    failures: u32,
    /// GitHub took one, so the credential is good.
    taken: bool,
    /// GitHub's words to the first that was forbidden, while none was taken.
    forbidden: Option<String>,
}

impl Pass<'_> {
    /// Lists what a sweep that is no dry run would ask for.
    pub(super) fn show(&mut self, planned: Planned) {
        self.tally.requests.extend(planned.ask.into_iter().map(|(candidate, why)| {
            let Candidate { guid, attempt, nth, .. } = candidate;
            RequestReport::new(&guid, attempt, nth, why.as_str())
        }));
    }

    /// Asks for what was planned. What is not asked stays due.
    pub(super) async fn act(
        &mut self,
        planned: Planned,
        ramp: Ramp,
        stored: Option<&Ramp>,
        standing: &Standing,
    ) -> Result<(), StoreError> {
        let probe = ramp.down.is_some();
        let mut going = !planned.ask.is_empty() && self.may_ask().await;
        // Before the first request, so that a kill cannot hide that a batch is under way.
        let ramp = if going { ramp.asked(self.sweeper.clock.now()) } else { ramp };
        if stored != Some(&ramp) {
            self.sweeper.store.save_ramp(&self.held.lease, &ramp, self.now).await?;
        }
        let of = u32::try_from(planned.ask.len()).unwrap_or(u32::MAX);
        // Reading changes nothing at GitHub and needs no pace.
        let interval = match self.sweeper.settings.hook.policy.repair {
            Repair::Redeliver | Repair::RedeliverThenFetch => {
                self.sweeper.settings.sweep.min_interval
            }
            Repair::Fetch => Duration::ZERO,
        };
        let mut pace = Pace { interval, next: Instant::now() };
        let mut luck = Luck::default();
        for (made, (candidate, _why)) in (0..).zip(planned.ask) {
            self.at(Progress::Asking { made, of });
            going = going && self.turn(&mut pace).await;
            if !going {
                self.tally.numbers.deferred += 1;
                continue;
            }
            let Some(asked) = self.ask_if_still_due(&candidate, probe, standing).await? else {
                continue;
            };
            going = self.conclude(asked, &mut luck);
            self.judge_again(&candidate.guid, standing).await?;
        }
        if let Some(error) = luck.forbidden {
            self.tally.stop(Ending::Unauthorized, error);
        }
        Ok(())
    }

    /// Whether anything may be asked now. Nothing is, without having seen the newest attempts, after
    /// GitHub set a limit or refused us, or while our own store does not take what would arrive.
    async fn may_ask(&mut self) -> bool {
        if !self.tally.head_read {
            return false;
        }
        match self.tally.ending {
            Ending::RateLimited
            | Ending::Misconfigured
            | Ending::Unauthorized
            | Ending::Stopped => return false,
            Ending::Complete | Ending::Partial | Ending::Failed => {}
        }
        if self.stopped() {
            return false;
        }
        // The last arrival that failed says so until the next one comes, which may take days.
        let Sweeper { store, clock, .. } = self.sweeper;
        if !store.records() && store.check_writable(clock.now()).await.is_err() {
            let error = "our own store takes no receipts now, so nothing is asked for".to_owned();
            self.tally.stop(Ending::Failed, error);
            return false;
        }
        true
    }

    /// Waits for the next request's turn; `false` when nothing may be asked any more.
    async fn turn(&mut self, pace: &mut Pace) -> bool {
        let stop = self.held.stop.clone();
        tokio::select! {
            () = sleep_until(pace.next) => {}
            () = stop.cancelled() => {}
        }
        pace.next = Instant::now() + pace.interval;
        self.may_ask().await
    }

    /// Looks once more before asking: a sweep of many requests takes minutes, and what arrived in
    /// the meantime must not be asked for.
    async fn ask_if_still_due(
        &mut self,
        candidate: &Candidate,
        probe: bool,
        standing: &Standing,
    ) -> Result<Option<Asked>, StoreError> {
        let Some((open, verdict)) = self.judge_again(&candidate.guid, standing).await? else {
            return Ok(None);
        };
        let Verdict::Due { why, attempt, .. } = verdict else { return Ok(None) };
        let ask = Ask {
            delivery: &open.delivery,
            attempt,
            means: means(&open.delivery, &self.sweeper.settings.hook.policy),
            probe,
            clock: self.clock,
            reason: why.as_str(),
            sweep: Some((self.id, &self.held.lease)),
        };
        self.sweeper.ask(&ask).await.map(Some)
    }

    /// Whether a shutdown, or the loss of the lease, ends the sweep here.
    pub(super) fn stopped(&mut self) -> bool {
        let stopped = self.held.stop.is_cancelled();
        if stopped {
            self.tally.stop(Ending::Stopped, "stopped before the end".to_owned());
        }
        stopped
    }

    /// Counts a request and draws the conclusion for the rest of the sweep: whether asking goes on.
    fn conclude(&mut self, asked: Asked, luck: &mut Luck) -> bool {
        let numbers = &mut self.tally.numbers;
        numbers.api_calls += asked.calls;
        match (asked.outcome, asked.means) {
            (Outcome::Deferred, _) => numbers.deferred += 1,
            (Outcome::Accepted, Means::Fetch) => numbers.fetched += 1,
            (_, Means::Fetch) => {}
            (_, Means::Redeliver) => numbers.requested += 1,
        }
        self.tally.requests.push(asked.report);
        let Some(error) = asked.error else {
            *luck = Luck { taken: true, ..Luck::default() };
            return true;
        };
        let next = next(&error);
        luck.failures = if next == Next::GoOn { 0 } else { luck.failures + 1 };
        match next {
            Next::GoOn => return true,
            Next::Forbidden if luck.taken => return true,
            Next::Forbidden => _ = luck.forbidden.get_or_insert_with(|| error.to_string()),
            Next::Unreachable | Next::Stop => self.tally.stop(ending(&error), error.to_string()),
        }
        next != Next::Stop && luck.failures < IN_A_ROW
    }
}

fn next(error: &GitHubError) -> Next {
    match error {
        GitHubError::Unauthorized { status: 403, .. } => Next::Forbidden,
        GitHubError::RateLimited { .. } | GitHubError::Unauthorized { .. } => Next::Stop,
        GitHubError::Unavailable { .. } => Next::Unreachable,
        GitHubError::Gone { .. }
        | GitHubError::Refused { .. }
        | GitHubError::Ambiguous { .. }
        | GitHubError::Failing { .. }
        | GitHubError::BadCursor { .. }
        | GitHubError::ForeignLink { .. } => Next::GoOn,
    }
}
