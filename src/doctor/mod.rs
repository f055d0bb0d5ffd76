//! Online checks: whether what is configured works, and how GitHub sees it.
//!
//! Every check is small, ends in one of four ways and says one line; what could not be looked at is
//! unknown, not fine. Nothing is changed at GitHub, no event and no alert is sent, and the store is
//! only asked to prove that it takes writes.

mod disk;
mod github;
mod local;
mod reach;
mod secrets;
mod servers;
mod store;
mod webhook;

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde::Serialize;

pub use self::reach::{Probe, healthy};
use crate::{
    clock::SharedClock,
    config::{Config, Hook, Problem, SecretNote},
    github::Client,
};

/// How long GitHub is waited for altogether, about one hook.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Good.
    Pass,
    /// It works, though something about it is doubtful.
    Warn,
    /// It does not work.
    Fail,
    /// It could not be looked at.
    Unknown,
}

impl Ending {
    /// Every ending, in the order of the definition.
    pub const ALL: [Self; 4] = [Self::Pass, Self::Warn, Self::Fail, Self::Unknown];

    /// The word that people and `--json` read.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Unknown => "unknown",
        }
    }
}

/// One check, made or found impossible to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Stable name; several checks may share one.
    pub name: &'static str,
    /// The hook it is about; `None`: the whole.
    pub hook: Option<String>,
    /// How it ended.
    pub result: Ending,
    /// What was found, on one line.
    pub detail: String,
    /// What to do, on one line; `None` when there is nothing to do.
    pub advice: Option<String>,
}

/// All checks, in the order in which they are best read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Each check.
    pub checks: Vec<Check>,
    /// Whether GitHub refused a credential.
    #[serde(skip)]
    pub refused: bool,
}

/// What the checks look at.
pub struct Patient<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// What is doubtful about it.
    pub warnings: &'a [Problem],
    /// The configuration's own file; `None`: there is none.
    pub file: Option<PathBuf>,
    /// Where its secrets come from.
    pub secrets: &'a [SecretNote],
    /// `$CREDENTIALS_DIRECTORY`, whose files the service manager guards.
    pub credentials: Option<PathBuf>,
    /// The clock.
    pub clock: SharedClock,
}

impl Check {
    fn new(name: &'static str, result: Ending, detail: impl AsRef<str>) -> Self {
        // What others wrote, such as an App's name, must not move the cursor of a terminal.
        let detail = detail.as_ref().replace(char::is_control, " ");
        Self { name, hook: None, result, detail, advice: None }
    }

    fn pass(name: &'static str, detail: impl AsRef<str>) -> Self {
        Self::new(name, Ending::Pass, detail)
    }

    fn warn(name: &'static str, detail: impl AsRef<str>, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..Self::new(name, Ending::Warn, detail) }
    }

    fn fail(name: &'static str, detail: impl AsRef<str>, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..Self::new(name, Ending::Fail, detail) }
    }

    fn unknown(name: &'static str, detail: impl AsRef<str>, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..Self::new(name, Ending::Unknown, detail) }
    }

    fn of(self, hook: &Hook) -> Self {
        Self { hook: Some(hook.name.to_string()), ..self }
    }
}

impl Findings {
    /// How many checks ended so.
    #[must_use]
    pub fn count(&self, ending: Ending) -> usize {
        self.checks.iter().filter(|check| check.result == ending).count()
    }
}

/// Makes every check.
pub async fn examine(patient: Patient<'_>) -> Findings {
    let Patient { config, warnings, clock, .. } = &patient;
    let mut checks = local::settings(config, warnings);
    checks.extend(secrets::files(&patient));
    checks.push(reach::daemon(config.admin.listen).await);
    let (stored, limits) = store::checks(config, clock.now()).await;
    checks.extend(stored);
    checks.extend(servers::channels(&config.alerts).await);
    checks.extend(servers::heartbeat(&config.alerts).await);
    let mut refused = false;
    for hook in &config.hooks {
        let mut found = vec![local::window(hook, warnings)];
        let (seen, no) = match limits.get(&hook.api.credential_name()) {
            Some(until) => (github::limited(*until), false),
            None => at_github(hook, clock).await,
        };
        refused |= no;
        found.extend(seen);
        found.extend(match &hook.forward {
            Some(forward) => Some(servers::application(forward).await),
            None => None,
        });
        checks.extend(found.into_iter().map(|check| check.of(hook)));
    }
    Findings { checks, refused }
}

/// What GitHub tells of one hook, and whether it refused the credential.
async fn at_github(hook: &Hook, clock: &SharedClock) -> (Vec<Check>, bool) {
    const LATER: &str = "see whether api_url can be reached from here, and try again";
    let client = match Client::new(&hook.api, Arc::clone(clock)) {
        Ok(client) => client,
        Err(error) => {
            let advice = "download a new private key from the App's settings";
            let key = Check::fail("key", error.to_string(), advice);
            return (github::rest_unknown(vec![key], "there is no usable key", advice), false);
        }
    };
    match tokio::time::timeout(PATIENCE, github::checks(hook, &client, clock.now())).await {
        Ok(found) => found,
        Err(_) => (github::rest_unknown(Vec::new(), "GitHub did not answer in time", LATER), false),
    }
}
