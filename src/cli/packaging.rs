//! `completions` and `man`: for packagers.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::roff::{Roff, bold, roman};

use super::{Cli, exit::Exit, table};

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub(super) struct Completions {
    /// For which shell
    shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
pub(super) struct Man {
    /// Write a page per command into this directory, instead of printing the main one
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// What no definition of an argument says; words and texts, per section of the main page.
const SECTIONS: [(&str, &[(&str, &str)]); 3] = [
    (
        "EXIT STATUS",
        &[
            ("0", "It worked; nothing is missing."),
            ("1", "It failed, or GitHub's list could not be read to its end."),
            ("2", "Wrong usage or configuration."),
            ("3", "It worked, and something is missing or was left for the next pass."),
            ("4", "GitHub refused us: 401, or 403 that is no rate limit."),
        ],
    ),
    (
        "ENVIRONMENT",
        &[
            ("REDELIVERD_CONFIG", "Names the configuration file."),
            (
                "REDELIVERD_SECTION__KEY",
                "Sets a key of the configuration, such as REDELIVERD_DATABASE__URL; goes before the file.",
            ),
            ("CREDENTIALS_DIRECTORY", "Where secrets are looked for first, then beside the file."),
            ("RUST_LOG", "Goes before log.level."),
        ],
    ),
    (
        "FILES",
        &[
            ("/etc/redeliverd/redeliverd.toml", "The configuration, unless another one is named."),
            (
                "/usr/share/doc/redeliverd/",
                "Every key with its default, examples, and one runbook page per alert (Debian package).",
            ),
        ],
    ),
];

pub(super) fn completions(args: &Completions) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "redeliverd", &mut script);
    table::out(&String::from_utf8(script)?)?;
    Ok(Exit::Fine)
}

pub(super) fn man(args: &Man) -> anyhow::Result<Exit> {
    let Some(dir) = &args.dir else {
        table::out(&String::from_utf8(main_page()?)?)?;
        return Ok(Exit::Fine);
    };
    let place = || format!("cannot write man pages to {}", dir.display());
    std::fs::create_dir_all(dir).with_context(place)?;
    clap_mangen::generate_to(Cli::command(), dir).with_context(place)?;
    std::fs::write(dir.join("redeliverd.1"), main_page()?).with_context(place)?;
    Ok(Exit::Fine)
}

fn main_page() -> anyhow::Result<Vec<u8>> {
    // There are no pages for `help`.
    let command = Cli::command().disable_help_subcommand(true);
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    let mut more = Roff::new();
    for (title, entries) in SECTIONS {
        more.control("SH", [title]);
        for (word, text) in entries {
            more.control("TP", []);
            more.text([bold(*word)]);
            more.text([roman(*text)]);
        }
    }
    more.to_writer(&mut page)?;
    Ok(page)
}
