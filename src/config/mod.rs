//! What the operator wrote, turned into what it means; after this module no code meets an invalid value.

mod alerts;
mod check;
mod checker;
mod credential;
mod cron;
mod forward;
mod hook;
mod key;
mod kinds;
mod load;
mod problem;
mod raw;
mod read;
mod secret;
mod span;
mod suggest;
mod sweep;
mod tree;
mod web;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use chrono::TimeDelta;
use secrecy::SecretString;
use url::Url;

pub(crate) use self::problem::OPEN_TO_ALL;
pub use self::{
    alerts::{Alerts, Channel, ChannelKind, Tls},
    cron::next_runs,
    forward::{Forward, Order},
    hook::rules_fingerprint,
    kinds::HookKind,
    load::{DEFAULTS, Env, Loaded, from_str, load, locate, schema, show},
    problem::{Problem, Problems, Severity},
    secret::SecretNote,
    span::span,
    web::{host_patience, host_window, is_loopback},
};
use crate::domain::{delivery::words, ids::HookName, policy::Policy};

/// The whole effective configuration. Its `Debug` shows no secret.
#[derive(Debug, Clone)]
pub struct Config {
    /// `[receiver]`
    pub receiver: Receiver,
    /// `[admin]`
    pub admin: Admin,
    /// `[database]`
    pub database: Database,
    /// `[[hooks]]`, names and paths unique. May be empty: see [`Config::require_hooks`].
    pub hooks: Vec<Hook>,
    /// `[sweep]`
    pub sweep: Sweep,
    /// `[retention]`
    pub retention: Retention,
    /// `[alerts]`
    pub alerts: Alerts,
    /// `[log]`
    pub log: Log,
}

/// `[receiver]`
#[derive(Debug, Clone)]
pub struct Receiver {
    /// Where GitHub's requests come in.
    pub listen: SocketAddr,
    /// Bytes of one body, at most.
    pub max_body: u64,
    /// Bytes of all bodies being read or stored, at most.
    pub max_bodies_in_flight: u64,
    /// How long a request head may take.
    pub head_timeout: Duration,
    /// How long a body may take.
    pub body_timeout: Duration,
}

/// `[admin]`
#[derive(Debug, Clone)]
pub struct Admin {
    /// Where health, metrics and the API listen.
    pub listen: SocketAddr,
    /// Needed for anything that changes state. `None`: such requests are refused.
    pub token: Option<SecretString>,
}

/// `[database]`
#[derive(Debug, Clone)]
pub struct Database {
    /// `sqlite:` (an absolute path by now) or `postgres:` URL; may hold a password.
    pub url: SecretString,
    /// Who migrates.
    pub migrate: Migrate,
}

/// Who applies migrations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Migrate {
    /// Every command that opens the store.
    Auto,
    /// Only `redeliverd migrate`; everything else refuses while migrations are pending.
    Manual,
}

/// One `[[hooks]]` entry.
#[derive(Debug, Clone)]
pub struct Hook {
    /// Its name in logs, metrics and keys.
    pub name: HookName,
    /// How GitHub's API is reached for it.
    pub api: Api,
    /// Where the receiver takes its requests, e.g. `/webhook`.
    pub path: String,
    /// The webhook secrets, newest first; never empty.
    pub secrets: Vec<SecretString>,
    /// Whether `X-Hub-Signature` (SHA-1) is enough when the SHA-256 header is absent.
    pub allow_sha1: bool,
    /// How far back the first pass adopts.
    pub first_run: TimeDelta,
    /// Where its events are handed over; `None`: they are not.
    pub forward: Option<Forward>,
    /// The rules for its deliveries.
    pub policy: Policy,
}

/// How GitHub's API is reached.
#[derive(Debug, Clone)]
pub struct Api {
    /// Base URL, e.g. `https://HOST/api/v3`; https, or http on loopback. Its path ends without a
    /// slash, except that a URL without any path is written with one: `https://api.github.com/`.
    pub base: Url,
    /// Whose log it is, and how we prove who we are.
    pub credential: Credential,
}

/// Whose delivery log is read, and with which credential. Organisation and repository hooks will
/// be further variants.
#[derive(Debug, Clone)]
pub enum Credential {
    /// A GitHub App's own webhook, with a JWT signed by its key.
    App {
        /// App id or client id: the JWT's `iss`.
        issuer: String,
        /// The private key as PEM, already normalised (PKCS#1 or PKCS#8, real line breaks).
        private_key: SecretString,
    },
}

/// `[sweep]`: what is not part of a hook's [`Policy`].
#[derive(Debug, Clone)]
pub struct Sweep {
    /// Cron expression with seconds, UTC; already validated.
    pub schedule: String,
    /// Time between two runs of the schedule.
    pub period: TimeDelta,
    /// How far a pass reads behind the boundary.
    pub overlap: TimeDelta,
    /// How often a scheduled pass reads back `recheck_back`.
    pub recheck_every: TimeDelta,
    /// How far such a pass reads back.
    pub recheck_back: TimeDelta,
    /// How long a sweep's lease lasts without renewal.
    pub lease: Duration,
    /// Between two redelivery requests.
    pub min_interval: Duration,
    /// List pages per sweep.
    pub max_pages: u32,
}

/// `[retention]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// How long bodies are kept.
    pub payloads: TimeDelta,
    /// How long everything else is kept: at least the longest window and a day.
    pub history: TimeDelta,
}

/// `[log]`
#[derive(Debug, Clone)]
pub struct Log {
    /// A level or an `EnvFilter` directive list; `RUST_LOG` overrides.
    pub level: String,
    /// How lines look.
    pub format: LogFormat,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// Text.
    Text,
    /// One JSON object per line.
    Json,
}

/// Where a configuration comes from.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file; relative paths inside it are relative to its directory.
    pub file: PathBuf,
}

words!(Migrate { Auto = "auto", Manual = "manual" });
words!(LogFormat { Auto = "auto", Text = "text", Json = "json" });

impl Api {
    /// Names the credential, so that all its users share what is remembered of it; no secret.
    #[must_use]
    pub fn credential_name(&self) -> String {
        let Credential::App { issuer, .. } = &self.credential;
        format!("{}|{issuer}", self.base.origin().ascii_serialization())
    }
}

impl Config {
    /// The hook of that name.
    #[must_use]
    pub fn hook(&self, name: &str) -> Option<&Hook> {
        self.hooks.iter().find(|hook| hook.name.as_str() == name)
    }

    /// What every command that works on hooks asks first.
    ///
    /// # Errors
    /// When there is no hook.
    pub fn require_hooks(&self) -> Result<(), Problems> {
        if !self.hooks.is_empty() {
            return Ok(());
        }
        let problem = Problem::error("hooks", "is missing: there is no webhook to look after")
            .hint(
                "add a [[hooks]] entry with name, app_id, private_key_file, webhook_secret_files, or \
                 name the file that has one with --config",
            );
        Err(Problems { all: vec![problem] })
    }
}

#[cfg(test)]
mod tests;
