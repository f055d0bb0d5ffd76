//! `migrate`: bring the database up to date.

use std::path::Path;

use serde::Serialize;

use super::{
    context::configuration,
    exit::Exit,
    table::{self, Style},
};
use crate::store::Store;

#[derive(Debug, Serialize)]
struct Migrated {
    applied: usize,
}

pub(super) async fn run(file: Option<&Path>, style: Style) -> anyhow::Result<Exit> {
    let applied = Store::migrate(&configuration(file)?.database).await?;
    if style.json {
        table::json(&Migrated { applied })?;
    } else {
        table::out(&match applied {
            0 => "the database is up to date".to_owned(),
            n => format!("{n} migrations applied"),
        })?;
    }
    Ok(Exit::Fine)
}
