//! What most commands need first: configuration, store, clock, and the delivery somebody means.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, anyhow};
use chrono::{DateTime, Utc};

use super::exit::Exit;
use crate::{
    clock::{SharedClock, SystemClock},
    config::{self, Config, Env, Hook, LogFormat, Problem, Problems},
    domain::ids::{Guid, HookName},
    store::{Store, StoreError},
    sweeper::ByHandError,
    telemetry,
};

/// Configuration and store of one command, beside a running daemon or without one.
pub(super) struct Context {
    pub(super) config: Config,
    pub(super) store: Store,
    pub(super) clock: SharedClock,
}

/// The command cannot be carried out as it was written. Ends with [`Exit::Usage`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UsageError(pub(super) String);

/// Reads the configuration of a command; its warnings go to the log. A command prints what it
/// found, so only trouble is logged.
pub(super) fn configuration(file: Option<&Path>) -> anyhow::Result<Config> {
    let (config, warnings) = read(file)?;
    telemetry::log_to_stderr("warn", LogFormat::Text);
    warn_of(&warnings);
    Ok(config)
}

/// The same for the daemon, which logs as configured.
pub(super) fn configuration_of_daemon(file: Option<&Path>) -> anyhow::Result<Config> {
    let (config, warnings) = read(file)?;
    telemetry::log_to_stderr(&config.log.level, config.log.format);
    warn_of(&warnings);
    Ok(config)
}

fn read(file: Option<&Path>) -> Result<(Config, Vec<Problem>), Problems> {
    let env = Env::of_process();
    let loaded = config::load(config::locate(file, &env).as_deref(), &env)?;
    Ok((loaded.config, loaded.warnings))
}

fn warn_of(warnings: &[Problem]) {
    for warning in warnings {
        tracing::warn!("{warning}");
    }
}

impl Context {
    pub(super) async fn open(file: Option<&Path>) -> anyhow::Result<Self> {
        let config = configuration(file)?;
        config.require_hooks()?;
        let store = Store::open(&config.database).await?;
        Ok(Self { config, store, clock: Arc::new(SystemClock) })
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// The configured hook of that name.
    pub(super) fn hook(&self, name: &str) -> anyhow::Result<&Hook> {
        self.config.hook(name).ok_or_else(|| {
            let known: Vec<_> = self.config.hooks.iter().map(|h| h.name.as_str()).collect();
            UsageError(format!("no hook is named {name}; configured: {}", known.join(", "))).into()
        })
    }

    /// A hook of that name that is configured, or has left a trace in the store.
    pub(super) async fn hook_or_trace(&self, name: &str) -> anyhow::Result<HookName> {
        let traces = self.store.known_hooks().await.context("cannot look up the hook")?;
        match traces.into_iter().find(|trace| trace.as_str() == name) {
            Some(trace) => Ok(trace),
            None => Ok(self.hook(name)?.name.clone()),
        }
    }

    /// The delivery a person means by a GUID, and by a hook's name where several got the event.
    pub(super) async fn delivery(
        &self,
        guid: &str,
        hook: Option<&str>,
    ) -> anyhow::Result<(&Hook, Guid)> {
        let id = parse(guid)?;
        if let Some(name) = hook {
            return Ok((self.hook(name)?, id));
        }
        let holder = self.holder(&id).await?;
        Ok((self.hook(holder.as_str())?, id))
    }

    /// The one hook, configured or not, that got this GUID.
    pub(super) async fn holder(&self, guid: &Guid) -> anyhow::Result<HookName> {
        let holders = self.store.hooks_of(guid).await.context("cannot look up the GUID")?;
        match holders.as_slice() {
            [] => Err(unknown(guid.as_str())),
            [one] => Ok(one.clone()),
            several => {
                let names: Vec<_> = several.iter().map(ToString::to_string).collect();
                Err(UsageError(format!(
                    "several hooks got {guid}: {}; choose with --hook",
                    names.join(", ")
                ))
                .into())
            }
        }
    }
}

/// What a person wrote as a GUID.
pub(super) fn parse(guid: &str) -> anyhow::Result<Guid> {
    Guid::new(guid).map_err(|why| UsageError(format!("{guid} is no GUID: {why}")).into())
}

/// Nobody has heard of this GUID.
pub(super) fn unknown(guid: &str) -> anyhow::Error {
    anyhow!(
        "{guid} is unknown: neither GitHub's list nor the receiver told of it; \
         `redeliverd sweep` reads the list"
    )
}

/// An error with its causes, each once: our errors and the drivers' mostly name their cause in their
/// own text already, so that a log line has it too.
pub(super) fn said(error: &anyhow::Error) -> String {
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !causes.last().is_some_and(|before| before.ends_with(&cause)) {
            causes.push(cause);
        }
    }
    causes.join(": ")
}

/// The exit code an error deserves, by its cause.
pub(super) fn exit_of(error: &anyhow::Error) -> Exit {
    for cause in error.chain() {
        if cause.is::<UsageError>() || cause.is::<config::Problems>() {
            return Exit::Usage;
        }
        if let Some(ByHandError::Refused(_)) = cause.downcast_ref() {
            return Exit::Refused;
        }
        if let Some(StoreError::Pending { .. }) = cause.downcast_ref() {
            return Exit::Usage;
        }
    }
    Exit::Failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot write: {source}")]
    struct Naming {
        source: std::io::Error,
    }

    #[test]
    fn a_cause_is_said_once_whether_or_not_its_error_names_it() {
        let source = || std::io::Error::other("the disk is gone");
        let named = anyhow::Error::from(Naming { source: source() }).context("no backup");
        assert_eq!(said(&named), "no backup: cannot write: the disk is gone");
        let silent = anyhow::Error::from(source()).context("no backup");
        assert_eq!(said(&silent), "no backup: the disk is gone");
    }
}
