//! The demonstration: events, failures, a lying proxy, an outage; and how each is found and repaired.
//!
//! Everything but GitHub and the application is real: the receiver, the store, the sweeper, the hand-over
//! and the configuration are those of `serve`, only with shorter times, so that the story fits into
//! half a minute.

mod application;
mod daemon;
mod setup;
mod tally;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::bail;
use rand::{Rng, SeedableRng, rngs::StdRng};

pub use self::{
    application::HandedOver,
    setup::{App, HOOK, write_app},
    tally::{Fate, FateSummary, Outcome, PhaseReport},
};
use self::{daemon::Daemon, setup::Scene, tally::Emitted};
use super::github::{Sending, events::Generator};
use crate::report::{self, Missing};

/// How long the repair may take before the story ends badly.
const PATIENCE: Duration = Duration::from_mins(5);
/// How often the state is looked at while waiting.
const LOOK: Duration = Duration::from_millis(100);

/// What the story is made of.
#[derive(Debug, Clone)]
pub struct Options {
    /// Events in all.
    pub deliveries: u32,
    /// Share of the events whose first attempt fails.
    pub fail: f64,
    /// Share of the events that a proxy answers and swallows.
    pub unseen: f64,
    /// The same seed tells the same story.
    pub seed: u64,
}

/// A story that was told, still running.
#[derive(Debug)]
pub struct Told {
    /// How it ended.
    pub outcome: Outcome,
    scene: Scene,
    daemon: Daemon,
}

impl Told {
    /// Where the running pieces can be looked at.
    #[must_use]
    pub fn places(&self) -> Vec<(&'static str, String)> {
        vec![
            ("simulated GitHub", self.scene.github.origin.clone()),
            ("receiver", format!("http://{}{}", self.daemon.receiver, "/webhook")),
            ("admin listener", format!("http://{}", self.daemon.admin)),
            ("application", format!("http://{}", self.scene.application.address)),
            ("configuration", self.configuration().display().to_string()),
        ]
    }

    /// The configuration file that commands beside the running story can use.
    #[must_use]
    pub fn configuration(&self) -> PathBuf {
        self.scene.configuration()
    }

    /// Ends everything that still runs.
    ///
    /// # Errors
    /// When a task of the daemon had died.
    pub async fn end(self) -> anyhow::Result<()> {
        self.daemon.stop().await?;
        self.scene.github.shutdown().await;
        Ok(())
    }
}

/// Tells the story; `say` gets one line per step.
///
/// # Errors
/// When a piece cannot be started, or dies. Something still missing is no error but an outcome.
pub async fn tell(options: &Options, say: &(dyn Fn(&str) + Sync)) -> anyhow::Result<Told> {
    let started = Instant::now();
    let scene = Scene::set(options.seed).await?;
    say(&format!("simulated GitHub on {}", scene.github.origin));
    let mut daemon = Daemon::start(&scene, None).await?;
    scene.point_hook_at(daemon.receiver);
    daemon.first_sweep_done().await?;
    say(&format!(
        "redeliverd receives on {}; the first sweep adopted an empty list",
        daemon.receiver
    ));

    let mut cast = Cast::new(options);
    let (calm, trouble, outage) = cast.acts(options.deliveries);
    let mut phases = Vec::new();
    let mut emitted = Vec::new();

    for _ in 0..calm {
        emitted.push(cast.emit(&scene, Fate::Delivered).await);
    }
    phases.push(watch("calm", &scene, &daemon, &emitted, say).await?);
    for fate in trouble {
        emitted.push(cast.emit(&scene, fate).await);
    }
    phases.push(watch("trouble", &scene, &daemon, &emitted, say).await?);

    let address = daemon.receiver;
    daemon.stop().await?;
    say("the receiver is down");
    for _ in 0..outage {
        emitted.push(cast.emit(&scene, Fate::Outage).await);
    }
    daemon = Daemon::start(&scene, Some(address)).await?;
    say(&format!("{outage} events later it is up again"));
    phases.push(watch("outage", &scene, &daemon, &emitted, say).await?);
    let outcome =
        tally::draw_up(&scene, &daemon.store, options, phases, &emitted, started.elapsed()).await?;
    Ok(Told { outcome, scene, daemon })
}

/// Who decides what happens to which event; deterministic from the seed.
struct Cast {
    events: Generator,
    rng: StdRng,
    fail: f64,
    unseen: f64,
}

impl Cast {
    fn new(options: &Options) -> Self {
        Self {
            events: Generator::new(options.seed),
            rng: StdRng::seed_from_u64(options.seed),
            fail: options.fail,
            unseen: options.unseen,
        }
    }

    /// Three acts: calm events, the fates of the troubled ones, and how many fall into the outage.
    fn acts(&mut self, deliveries: u32) -> (u32, Vec<Fate>, u32) {
        let share = |part: f64| {
            let wanted = (f64::from(deliveries) * part).round();
            // A share of a u32 fits; `as` saturates should the share be absurd.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "see above"
            )]
            let count = wanted as u32;
            count
        };
        let outage = deliveries / 5;
        let failed = share(self.fail).min(deliveries - outage);
        let unseen = share(self.unseen).min(deliveries - outage - failed);
        let fine = deliveries - outage - failed - unseen;
        let calm = fine / 2;
        let mut trouble = vec![Fate::Delivered; usize::try_from(fine - calm).unwrap_or(0)];
        trouble.extend((0..unseen).map(|_| Fate::Swallowed));
        trouble.extend((0..failed).map(|n| match n % 3 {
            0 => Fate::GatewayError,
            1 => Fate::Unreachable,
            _ => Fate::TimedOut,
        }));
        for last in (1..trouble.len()).rev() {
            trouble.swap(last, self.rng.random_range(0..=last));
        }
        (calm, trouble, outage)
    }

    async fn emit(&mut self, scene: &Scene, fate: Fate) -> Emitted {
        let event = self.events.any();
        let sending = match fate {
            Fate::Delivered | Fate::Outage => Sending::Deliver,
            Fate::GatewayError => Sending::Answer(503),
            Fate::Unreachable => Sending::FailToConnect,
            Fate::TimedOut => Sending::TimeOut { after_delivering: false },
            Fate::Swallowed => Sending::Swallow,
        };
        let (name, payload) = (event.name.clone(), event.payload.clone());
        let guid = scene.github.world.emit_as(scene.hook, event, sending).await;
        Emitted { guid, event: name, payload, fate }
    }
}

/// Follows one act until every event has a receipt, by the daemon's own word nothing is missing, and
/// the application has everything, or nobody has the patience.
async fn watch(
    name: &'static str,
    scene: &Scene,
    daemon: &Daemon,
    emitted: &[Emitted],
    say: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<PhaseReport> {
    let started = Instant::now();
    let mut report = PhaseReport { name, events: emitted.len(), ..PhaseReport::default() };
    daemon.sweep().await?;
    loop {
        let missing = missing(scene, daemon).await?;
        if missing.total > report.at_worst.total {
            say(&format!("{name}: {}", missing.line()));
            report.at_worst = missing.clone();
        }
        report.at_the_end = missing.total;
        let repaired = missing.total == 0
            && tally::all_received(scene, &daemon.store, emitted).await?
            && emitted.iter().all(|event| tally::handed_over(scene, event));
        if daemon.died() {
            bail!("the daemon ended during the story");
        }
        if repaired || started.elapsed() > PATIENCE {
            report.took_ms = u64::try_from(started.elapsed().as_millis())?;
            say(&report.line());
            return Ok(report);
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn missing(scene: &Scene, daemon: &Daemon) -> anyhow::Result<Missing> {
    let status = report::status(&daemon.store, &scene.config, scene.clock.now()).await?;
    Ok(status.hooks.into_iter().next().map(|hook| hook.missing).unwrap_or_default())
}
