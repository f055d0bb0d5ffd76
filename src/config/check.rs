//! Turns the sections into what they mean, noting every problem on the way.

use chrono::TimeDelta;
use secrecy::{ExposeSecret, SecretString};
use tracing_subscriber::EnvFilter;
use url::Url;

use super::{
    Admin, Config, Database, Log, Receiver, Retention,
    alerts::alerts,
    checker::{Check, delta},
    hook,
    kinds::Delicate,
    raw,
    read::{At, Wrong},
    suggest::did_you_mean,
    sweep::sweep,
};

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// `None` means that at least one problem was noted; a configuration may still be unfit although
/// there is one.
pub(super) fn file(check: &mut Check<'_>, raw: raw::File) -> Option<Config> {
    let root = At::default();
    let receiver = raw.receiver.and_then(|raw| receiver(check, &root.key("receiver"), &raw));
    let admin = raw.admin.and_then(|raw| admin(check, &root.key("admin"), raw));
    let database = raw.database.and_then(|raw| database(check, &root.key("database"), raw));
    let sweep = raw.sweep.and_then(|raw| sweep(check, &root.key("sweep"), raw));
    let rules = sweep.as_ref().map(|(_, rules)| rules);
    let hooks = hook::hooks(check, &root.key("hooks"), raw.hooks.unwrap_or_default(), rules);
    let windows = hooks.iter().map(|hook| hook.policy.window).max();
    let retention =
        raw.retention.and_then(|raw| retention(check, &root.key("retention"), &raw, windows));
    let alerts = raw.alerts.and_then(|raw| alerts(check, &root.key("alerts"), raw));
    let log = raw.log.and_then(|raw| log(check, &root.key("log"), raw));
    if let (Some(receiver), Some(admin)) = (&receiver, &admin)
        && receiver.listen == admin.listen
        && admin.listen.port() != 0
    {
        check.error(&root.key("admin"), "listen", "is the receiver's address too", "");
    }
    Some(Config {
        receiver: receiver?,
        admin: admin?,
        database: database?,
        hooks,
        sweep: sweep?.0,
        retention: retention?,
        alerts: alerts?,
        log: log?,
    })
}

fn receiver(check: &mut Check<'_>, at: &At, raw: &raw::Receiver) -> Option<Receiver> {
    let listen = check.need(at, "listen", raw.listen);
    let max_body = check.size(at, "max_body", raw.max_body);
    let in_flight = check.size(at, "max_bodies_in_flight", raw.max_bodies_in_flight);
    let head_timeout = check.positive(at, "head_timeout", raw.head_timeout);
    let body_timeout = check.positive(at, "body_timeout", raw.body_timeout);
    if let (Some(one), Some(all)) = (max_body, in_flight)
        && all < one
    {
        let message = "must not be less than receiver.max_body, or no large body ever fits";
        let hint = "raise it to several times receiver.max_body, or lower that";
        check.error(at, "max_bodies_in_flight", message, hint);
    }
    Some(Receiver {
        listen: listen?,
        max_body: max_body?,
        max_bodies_in_flight: in_flight?,
        head_timeout: head_timeout?,
        body_timeout: body_timeout?,
    })
}

fn admin(check: &mut Check<'_>, at: &At, raw: raw::Admin) -> Option<Admin> {
    let listen = check.need(at, "listen", raw.listen);
    let configured = raw.token.is_some() || raw.token_file.is_some();
    let said = check.problems.mention(at.key("token").as_str())
        || check.problems.mention(at.key("token_file").as_str());
    let token = if configured {
        check.secret(at, ("token", raw.token), ("token_file", raw.token_file))
    } else {
        None
    };
    if let Some(listen) = listen
        && !listen.ip().is_loopback()
        && !configured
        && !said
    {
        check.error(
            at,
            "token_file",
            &format!("is missing: {listen} can be reached from other machines"),
            "set a token, or listen on 127.0.0.1",
        );
    }
    Some(Admin { listen: listen?, token })
}

fn database(check: &mut Check<'_>, at: &At, raw: raw::Database) -> Option<Database> {
    let migrate = check.need(at, "migrate", raw.migrate);
    let url = check.need(at, "url", raw.url);
    let url = url.and_then(|Delicate(url)| database_url(check, at, url));
    Some(Database { url: url?, migrate: migrate? })
}

/// What the driver understands; anything else it ignores, and logs with its value.
const POSTGRES_PARAMETERS: [&str; 18] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

fn database_url(check: &mut Check<'_>, at: &At, url: SecretString) -> Option<SecretString> {
    let text = url.expose_secret();
    let Some(file) = text.strip_prefix("sqlite:") else {
        return match Url::parse(text) {
            Ok(parsed) if matches!(parsed.scheme(), "postgres" | "postgresql") => {
                let known =
                    |key: &str| POSTGRES_PARAMETERS.contains(&key) || key.starts_with("options[");
                if parsed.query_pairs().all(|(key, _)| known(&key)) {
                    return Some(url);
                }
                // Its name is not shown, for after an unescaped & it is a part of the password.
                let message = "has a parameter that is not known";
                let hint = "for example sslmode or application_name; write & in a value as %26";
                check.refuse(at, "url", message, hint)
            }
            Ok(_) | Err(_) => check.refuse(
                at,
                "url",
                "is neither a sqlite: nor a postgres: URL",
                "for example \"sqlite:redeliverd.db\" or \"postgres://user@host/database\"",
            ),
        };
    };
    let file = file.strip_prefix("//").unwrap_or(file);
    let (path, query) = match file.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (file, String::new()),
    };
    if path.is_empty() || path == ":memory:" || query.contains("mode=memory") {
        let message = "must name a file: what is only in memory is lost with the process";
        return check.refuse(at, "url", message, "for example \"sqlite:redeliverd.db\"");
    }
    if path.starts_with('/') {
        return Some(format!("sqlite://{path}{query}").into());
    }
    let Some(base) = check.places.base.to_str() else {
        let message = "is relative to a directory whose name is not UTF-8";
        return check.refuse(at, "url", message, "give an absolute path");
    };
    // The path part of the URL is percent-decoded when the database is opened.
    let base = base.trim_end_matches('/').replace('%', "%25").replace('?', "%3F");
    Some(format!("sqlite://{base}/{path}{query}").into())
}

fn retention(
    check: &mut Check<'_>,
    at: &At,
    raw: &raw::Retention,
    longest_window: Option<TimeDelta>,
) -> Option<Retention> {
    let payloads = check.positive(at, "payloads", raw.payloads).map(delta);
    let history = check.positive(at, "history", raw.history).map(delta);
    if let (Some(history), Some(window)) = (history, longest_window)
        && history < window + TimeDelta::days(1)
    {
        check.error(
            at,
            "history",
            "is shorter than the longest window and a day, so that a redelivery could be taken \
             for a new event",
            &format!("at least \"{}h\"", window.num_hours() + 24),
        );
    }
    Some(Retention { payloads: payloads?, history: history? })
}

fn log(check: &mut Check<'_>, at: &At, raw: raw::Log) -> Option<Log> {
    let format = check.need(at, "format", raw.format);
    let level = check.need(at, "level", raw.level).and_then(|level| {
        let bare = level.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if bare && !LEVELS.contains(&level.to_ascii_lowercase().as_str()) {
            let wrong = Wrong::new(format!("must be one of {}", LEVELS.join(", ")));
            let hint = did_you_mean(&level, &LEVELS);
            return check.wrong(at, "level", Some(&level), Wrong { hint, ..wrong });
        }
        if EnvFilter::builder().parse(&level).is_err() {
            let wrong = Wrong::new("is not a list of directives")
                .hint("for example \"info,redeliverd=debug\"");
            return check.wrong(at, "level", Some(&level), wrong);
        }
        Some(level)
    });
    Some(Log { level: level?, format: format? })
}
