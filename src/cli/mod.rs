//! The command line: the only place that knows clap and prints.

mod config;
mod context;
mod dead;
mod deliveries;
mod dismiss;
mod doctor;
mod exit;
mod migrate;
mod packaging;
mod progress;
mod repair;
mod replay;
mod sandbox;
mod serve;
mod show;
mod status;
mod storage;
mod sweep;
mod table;
mod test_alert;
mod wait;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

use self::{exit::Exit, table::Style};
use crate::config::Problems;

/// Records every GitHub webhook, finds the lost ones and has them redelivered.
#[derive(Debug, Parser)]
#[command(name = "redeliverd", version, max_term_width = 100)]
struct Cli {
    /// Configuration file [default: `$REDELIVERD_CONFIG`, else ./redeliverd.toml, else
    /// /etc/redeliverd/redeliverd.toml]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, global = true)]
    json: bool,
    /// Show local times instead of UTC
    #[arg(long, global = true)]
    local: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the daemon: receiver, sweeper, admin listener
    Serve(serve::Args),
    /// Make one pass by hand: list, judge, ask for what is missing
    Sweep(sweep::Args),
    /// Show per hook what is missing and why
    Status(status::Args),
    /// List deliveries with verdict and reason
    List(deliveries::Args),
    /// Tell one delivery's story
    Show(show::Args),
    /// Ask GitHub to deliver again, now
    Redeliver(repair::Args),
    /// Read the payload through GitHub's API and take it in, now
    Fetch(repair::Args),
    /// Hand over again what is stored, whatever became of it
    Replay(replay::Args),
    /// List, requeue or discard what the application would not take
    #[command(subcommand)]
    Dead(dead::Command),
    /// Take deliveries out of missing
    Dismiss(dismiss::Args),
    /// Check clock, key, App, webhook, database and channels, and say what to do
    Doctor,
    /// Ask the running daemon whether it is alive; exit code 0 if so
    Healthcheck(doctor::Healthcheck),
    /// Check, show or describe the configuration
    #[command(subcommand)]
    Config(config::Args),
    /// Bring the database up to date
    Migrate,
    /// Send a marked test through every alert channel
    TestAlert,
    /// Remove what is older than the configured retention
    Prune,
    /// Copy a running SQLite database to a new file
    Backup(storage::Backup),
    /// Watch the whole story on a simulated GitHub; needs no configuration
    Sandbox(sandbox::Args),
    /// Print shell completions
    Completions(packaging::Completions),
    /// Print the man page, or write all of them
    Man(packaging::Man),
}

/// Parses, runs, and turns the result into an exit code.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            table::err(&format!("error: cannot start the runtime: {error}"));
            return Exit::Failed.into();
        }
    };
    let exit = runtime.block_on(run(cli)).unwrap_or_else(|error| {
        // These say by themselves, line by line, what is an error and what a warning.
        match error.downcast_ref::<Problems>() {
            Some(problems) => table::err(&problems.to_string()),
            None => table::err(&format!("error: {}", context::said(&error))),
        }
        context::exit_of(&error)
    });
    runtime.shutdown_background();
    exit.into()
}

async fn run(cli: Cli) -> anyhow::Result<Exit> {
    let style = Style { json: cli.json, local: cli.local };
    let file = cli.config.as_deref();
    match cli.command {
        Command::Serve(args) => serve::run(file, &args).await,
        Command::Sweep(args) => sweep::run(file, &args, style).await,
        Command::Status(args) => status::run(file, &args, style).await,
        Command::List(args) => deliveries::run(file, &args, style).await,
        Command::Show(args) => show::run(file, &args, style).await,
        Command::Redeliver(args) => repair::run(file, &args, repair::How::Redeliver, style).await,
        Command::Fetch(args) => repair::run(file, &args, repair::How::Fetch, style).await,
        Command::Dismiss(args) => dismiss::run(file, &args, style).await,
        Command::Doctor => doctor::run(file, style).await,
        Command::Healthcheck(args) => doctor::healthcheck(file, &args, style).await,
        Command::Config(args) => config::run(file, &args, style),
        Command::Replay(args) => replay::run(file, &args, style).await,
        Command::Dead(command) => dead::run(file, &command, style).await,
        Command::Prune => storage::prune(file, style).await,
        Command::Backup(args) => storage::backup(file, &args, style).await,
        Command::Migrate => migrate::run(file, style).await,
        Command::TestAlert => test_alert::run(file, style).await,
        Command::Sandbox(args) => sandbox::run(&args, style).await,
        Command::Completions(args) => packaging::completions(&args),
        Command::Man(args) => packaging::man(&args),
    }
}

/// clap checks the definition of the whole command line.
#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
