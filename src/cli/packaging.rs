//! `completions` and `man`: for packagers.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, exit::Exit, table};

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub(super) struct Completions {
    /// For which shell
    shell: Shell,
}

pub(super) fn completions(args: &Completions) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "redeliverd", &mut script);
    table::out(&String::from_utf8(script)?)?;
    Ok(Exit::Fine)
}

pub(super) fn man() -> anyhow::Result<Exit> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    table::out(&String::from_utf8(page)?)?;
    Ok(Exit::Fine)
}
