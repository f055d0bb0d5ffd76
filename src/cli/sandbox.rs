//! `sandbox`: the whole story on a simulated GitHub, or just the simulated GitHub.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use tokio::net::TcpListener;

use super::{
    exit::Exit,
    table::{self, Style},
};
use crate::{
    clock::SystemClock,
    config::LogFormat,
    sandbox::{
        github::{Settings, SimulatedGithub, World},
        story::{self, HandedOver, Options, Outcome, Told, write_app},
    },
    telemetry,
};

/// Arguments of `sandbox`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Events in all
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    deliveries: u32,
    /// Share of events whose first attempt fails
    #[arg(long, default_value_t = 0.2, value_parser = share)]
    fail: f64,
    /// Share of events that a lying proxy swallows
    #[arg(long, default_value_t = 0.05, value_parser = share)]
    unseen: f64,
    /// The same seed tells the same story
    #[arg(long)]
    seed: Option<u64>,
    /// Leave everything running at the end, until interrupted
    #[arg(long)]
    keep: bool,
    /// Run only the simulated GitHub, to try your own configuration against
    #[arg(long, conflicts_with = "keep")]
    github_only: bool,
    /// With --github-only: where it listens
    #[arg(
        long,
        default_value = "127.0.0.1:8700",
        value_name = "ADDRESS",
        requires = "github_only"
    )]
    listen: SocketAddr,
    /// With --github-only: where key, secret and a configuration are written [default: ./sandbox]
    #[arg(long, value_name = "DIR", requires = "github_only")]
    dir: Option<PathBuf>,
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "must be a number from 0 to 1".to_owned())?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("must be from 0 to 1".to_owned()) }
}

pub(super) async fn run(args: &Args, style: Style) -> anyhow::Result<Exit> {
    telemetry::log_to_stderr("error", LogFormat::Text);
    if args.github_only {
        return github_only(args).await;
    }
    let options = Options {
        deliveries: args.deliveries,
        fail: args.fail,
        unseen: args.unseen,
        seed: args.seed.unwrap_or_else(rand::random),
    };
    let told = story::tell(&options, &|line| table::err(line)).await?;
    let fine = told.outcome.is_fine();
    if style.json {
        table::json(&told.outcome)?;
    } else {
        table::out(&text(&told.outcome, style))?;
    }
    if args.keep {
        keep(&told).await?;
    }
    told.end().await?;
    Ok(if fine { Exit::Fine } else { Exit::Missing })
}

async fn keep(told: &Told) -> anyhow::Result<()> {
    for (what, place) in told.places() {
        table::err(&format!("{what}: {place}"));
    }
    table::err("running until interrupted (Ctrl-C)");
    Ok(tokio::signal::ctrl_c().await?)
}

fn text(outcome: &Outcome, style: Style) -> String {
    let mut table = table::table(&[
        "FIRST ATTEMPT",
        "EVENTS",
        "RECEIVED",
        "HANDED OVER",
        "ASKED",
        "SLOWEST",
        "EXAMPLE",
    ]);
    for (fate, summary) in &outcome.fates {
        let example = outcome.examples.get(fate).map_or("-", |shown| &shown.delivery.guid);
        table.add_row(vec![
            said(*fate).to_owned(),
            summary.events.to_string(),
            summary.received.to_string(),
            summary.handed_over.to_string(),
            summary.requests.to_string(),
            format!("{} ms", summary.slowest_repair_ms),
            example.to_owned(),
        ]);
    }
    let end = if outcome.missing == 0 {
        "nothing is missing".to_owned()
    } else {
        format!("{} are missing", outcome.missing)
    };
    format!(
        "{table}\n\n{}\n{} events of {} types in {}.{} s; {} redeliveries asked, {} by GitHub's count; {end}\n\
         {}\n(seed {})",
        explained(outcome, style),
        outcome.events,
        outcome.event_types,
        outcome.duration_ms / 1_000,
        outcome.duration_ms % 1_000 / 100,
        outcome.requests,
        outcome.requests_counted_by_github,
        reached(outcome),
        outcome.seed,
    )
}

/// What the application got.
fn reached(outcome: &Outcome) -> String {
    let HandedOver { events, requests, refused, repeated } = outcome.application;
    let once = if events == outcome.events { "every event" } else { "not every event" };
    format!(
        "{once} reached the application exactly once by its idempotency key: {events} keys in {requests} \
         requests, {refused} of them refused at first and {repeated} repeated"
    )
}

/// One delivery of each kind of trouble, told as `show` tells it.
fn explained(outcome: &Outcome, style: Style) -> String {
    let mut lines = Vec::new();
    for (fate, shown) in &outcome.examples {
        if *fate == story::Fate::Delivered {
            continue;
        }
        lines.push(format!("{}: {}", said(*fate), shown.delivery.guid));
        for event in &shown.timeline {
            lines.push(format!(
                "  {}  {:<10}  {}",
                table::time(event.at, style),
                event.what,
                event.text
            ));
        }
        lines.push(String::new());
    }
    lines.join("\n")
}

fn said(fate: story::Fate) -> &'static str {
    match fate {
        story::Fate::Delivered => "delivered",
        story::Fate::GatewayError => "a gateway answered 503",
        story::Fate::Unreachable => "could not connect",
        story::Fate::TimedOut => "timed out",
        story::Fate::Swallowed => "swallowed by a proxy, logged OK",
        story::Fate::Outage => "receiver down",
    }
}

async fn github_only(args: &Args) -> anyhow::Result<Exit> {
    let dir = args.dir.clone().unwrap_or_else(|| Path::new("sandbox").to_path_buf());
    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let listener = TcpListener::bind(args.listen)
        .await
        .with_context(|| format!("cannot listen on {}", args.listen))?;
    let seed = args.seed.unwrap_or_else(rand::random);
    let settings = Settings { seed, ..Settings::cloud() };
    let world = World::new(Arc::new(SystemClock), settings)?;
    let app = write_app(&dir, "http://127.0.0.1:8080/webhook".to_owned())?;
    world.add_hook(app.setup);
    let github = SimulatedGithub::start(world, listener)?;
    let file = dir.join("redeliverd.toml");
    let text = format!("{}api_url = \"{}\"\n", app.entry, github.base_url);
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    table::out(&format!(
        "simulated GitHub on {origin}\n\
         in another terminal:  redeliverd --config {file} serve\n\
         make events:          curl -d '{{\"count\": 5}}' {origin}/_sandbox/emit\n\
         let three fail:       curl -d '{{\"sender\": \"fail_to_connect\", \"next\": 3}}' {origin}/_sandbox/faults\n\
         see GitHub's log:     curl {origin}/_sandbox/log\n\
         running until interrupted (Ctrl-C)",
        origin = github.origin,
        file = file.display(),
    ))?;
    tokio::signal::ctrl_c().await?;
    github.shutdown().await;
    Ok(Exit::Fine)
}
