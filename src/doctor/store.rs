//! The database: there, up to date, durable, and swept lately.

use std::{collections::BTreeMap, fs::OpenOptions, io::ErrorKind, path::Path, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};

use super::{Check, disk};
use crate::{
    config::{Config, Hook},
    domain::condition::overdue_after,
    store::{Store, StoreError},
};

/// How long the database is waited for altogether: more than twice what the store waits for a lock.
const PATIENCE: Duration = Duration::from_secs(12);

/// Until when GitHub's rate limit forbids the use of a credential, by its name.
pub(super) type Limits = BTreeMap<String, DateTime<Utc>>;

/// Everything about the database, and which credentials it says are to be left alone.
pub(super) async fn checks(config: &Config, now: DateTime<Utc>) -> (Vec<Check>, Limits) {
    const SLOW: &str = "see whether the disk or the database server hangs, or who holds the lock";
    let mut checks = Vec::new();
    if let Some(file) = Store::file_of(&config.database) {
        checks.extend(disk::checks(&file));
        if let Err(database) = file_is_there(&file) {
            checks.extend(in_vain(config, vec![database]));
            return (checks, Limits::new());
        }
    }
    let mut limits = Limits::new();
    let found = tokio::time::timeout(PATIENCE, database(config, &mut limits, now)).await;
    checks.extend(found.unwrap_or_else(|_| {
        let detail = format!("it does not answer within {} s", PATIENCE.as_secs());
        in_vain(config, vec![Check::fail("database", detail, SLOW)])
    }));
    (checks, limits)
}

/// Whether this user can open the file at all.
fn file_is_there(file: &Path) -> Result<(), Check> {
    const NAME: &str = "database";
    match OpenOptions::new().read(true).write(true).open(file) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Check::warn(
            NAME,
            "there is none yet",
            "redeliverd serve or redeliverd migrate creates it",
        )),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(Check::unknown(
            NAME,
            format!("this user may not open {}", file.display()),
            "run doctor as the user of the service, or as root",
        )),
        Err(error) => Err(Check::fail(
            NAME,
            format!("{} cannot be opened: {}", file.display(), error.kind()),
            "correct database.url, or what stands in its place",
        )),
    }
}

async fn database(config: &Config, limits: &mut Limits, now: DateTime<Utc>) -> Vec<Check> {
    const NAME: &str = "migrations";
    match Store::pending(&config.database).await {
        Ok(0) => {}
        Ok(pending) => {
            let detail = format!("{pending} pending");
            let migrations = Check::warn(NAME, detail, "redeliverd migrate applies them");
            return in_vain(config, vec![migrations]);
        }
        Err(error) => return in_vain(config, vec![broken(&error)]),
    }
    let migrations = Check::pass(NAME, "none pending");
    match Store::open(&config.database).await {
        Ok(store) => {
            let mut checks = open_store(config, &store, limits, now).await;
            checks.insert(1, migrations);
            store.close().await;
            checks
        }
        Err(error) => in_vain(config, vec![broken(&error), migrations]),
    }
}

async fn open_store(
    config: &Config,
    store: &Store,
    limits: &mut Limits,
    now: DateTime<Utc>,
) -> Vec<Check> {
    let mut checks = vec![match store.check_writable(now).await {
        Ok(()) => Check::pass("database", format!("{}, takes writes", store.kind())),
        Err(error) => broken(&error),
    }];
    checks.push(match store.durability().await {
        Ok(found) if found.durable => Check::pass("durability", found.settings),
        Ok(found) => Check::fail(
            "durability",
            found.settings,
            "a power cut may lose acknowledged deliveries: use a local disk for SQLite, and switch \
             fsync and synchronous_commit on for PostgreSQL",
        ),
        Err(error) => Check::unknown("durability", error.to_string(), FIRST),
    });
    for hook in &config.hooks {
        let check = match store.hook(&hook.name).await {
            Ok(memory) => last_sweep(hook, memory.complete_at(), config.sweep.period, now),
            Err(error) => Check::unknown("last_sweep", error.to_string(), FIRST),
        };
        checks.push(check.of(hook));
        let credential = hook.api.credential_name();
        if let Ok(Some(until)) = store.limit(&credential, now).await {
            limits.insert(credential, until);
        }
    }
    checks
}

const FIRST: &str = "put the database right first";

/// What was found, with every other check that needs the database as unknown.
fn in_vain(config: &Config, mut found: Vec<Check>) -> Vec<Check> {
    const WHY: &str = "the database could not be used";
    for name in ["database", "migrations", "durability"] {
        if found.iter().all(|check| check.name != name) {
            found.push(Check::unknown(name, WHY, FIRST));
        }
    }
    let sweeps = config.hooks.iter().map(|hook| Check::unknown("last_sweep", WHY, FIRST).of(hook));
    found.into_iter().chain(sweeps).collect()
}

/// As the alert `sweep_overdue` has it; a minute more is for a sweep that runs.
fn last_sweep(
    hook: &Hook,
    at: Option<DateTime<Utc>>,
    period: TimeDelta,
    now: DateTime<Utc>,
) -> Check {
    const NAME: &str = "last_sweep";
    let Some(at) = at else {
        let advice = "start redeliverd serve, or run redeliverd sweep";
        return Check::warn(NAME, "GitHub's list was never read to its end", advice);
    };
    let age = now - at;
    let detail = format!("the last complete one began {} s ago", age.num_seconds());
    if age > overdue_after(period) + TimeDelta::minutes(1) {
        let name = &hook.name;
        let advice =
            format!("is the daemon running? redeliverd sweep --hook {name} shows what fails");
        return Check::fail(NAME, detail, advice);
    }
    Check::pass(NAME, detail)
}

fn broken(error: &StoreError) -> Check {
    let advice = match error {
        StoreError::Open { .. } => {
            "check database.url, whether the server runs, and whether another program holds the file"
        }
        StoreError::Unavailable(_) => "see who holds the lock, and whether disk and server work",
        StoreError::Migrate(_)
        | StoreError::Pending { .. }
        | StoreError::LeaseLost { .. }
        | StoreError::Inconsistent { .. }
        | StoreError::Query(_) => "use the redeliverd that made it, or restore a backup",
    };
    Check::fail("database", error.to_string(), advice)
}
