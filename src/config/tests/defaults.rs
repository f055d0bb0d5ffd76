//! The documented defaults, and what they mean.

use std::time::Duration;

use chrono::TimeDelta;
use secrecy::ExposeSecret;

use super::{World, with};
use crate::{
    config::{
        Credential, DEFAULTS, LogFormat, Migrate, Order, Retention, from_str, rules_fingerprint,
        schema, show,
    },
    domain::{
        filter::Filter,
        policy::{Policy, Repair, Trust},
    },
};

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn the_minimal_file_means_the_documented_defaults() {
    let world = World::new();
    let loaded = world.load(&with("", "")).unwrap();
    assert_eq!(loaded.warnings, []);
    let config = loaded.config;

    assert_eq!(config.receiver.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.receiver.max_body, 26_214_400);
    assert_eq!(config.receiver.max_bodies_in_flight, 268_435_456);
    assert_eq!(config.receiver.head_timeout, secs(10));
    assert_eq!(config.receiver.body_timeout, secs(10));
    assert_eq!(config.admin.listen.to_string(), "127.0.0.1:9090");
    assert!(config.admin.token.is_none());
    let url = format!("sqlite://{}/redeliverd.db", world.path().display());
    assert_eq!(config.database.url.expose_secret(), url);
    assert_eq!(config.database.migrate, Migrate::Auto);

    let hook = config.hook("ci").unwrap();
    assert_eq!(hook.path, "/webhook");
    assert_eq!(hook.api.base.as_str(), "https://api.github.com/");
    let Credential::App { issuer, private_key } = &hook.api.credential;
    assert_eq!(issuer, "4242");
    assert_eq!(private_key.expose_secret(), super::KEY);
    let secrets: Vec<_> = hook.secrets.iter().map(ExposeSecret::expose_secret).collect();
    assert_eq!(secrets, ["it's a secret"]);
    assert!(!hook.allow_sha1);
    assert_eq!(hook.first_run, TimeDelta::zero());
    assert_eq!(hook.forward, None);
    let policy = Policy {
        trust: Trust::Receipt,
        repair: Repair::Redeliver,
        filter: Filter::default(),
        window: TimeDelta::days(3),
        settle: TimeDelta::seconds(30),
        confirm_within: TimeDelta::minutes(10),
        backoff: [1, 5, 30, 120, 360, 720].map(TimeDelta::minutes).into(),
        max_redeliveries: 8,
        probes: 3,
        max_requests: 500,
    };
    assert_eq!(hook.policy, policy);

    assert_eq!(config.sweep.schedule, "0 */2 * * * *");
    assert_eq!(config.sweep.period, TimeDelta::minutes(2));
    assert_eq!(config.sweep.overlap, TimeDelta::minutes(2));
    assert_eq!(config.sweep.recheck_every, TimeDelta::minutes(30));
    assert_eq!(config.sweep.recheck_back, TimeDelta::minutes(15));
    assert_eq!(config.sweep.lease, secs(60));
    assert_eq!(config.sweep.min_interval, secs(1));
    assert_eq!(config.sweep.max_pages, 200);
    let retention = Retention { payloads: TimeDelta::days(7), history: TimeDelta::days(30) };
    assert_eq!(config.retention, retention);
    assert_eq!(config.alerts.check_every, secs(15));
    assert_eq!(config.alerts.missing_after, TimeDelta::minutes(15));
    assert_eq!(config.alerts.closing_within, TimeDelta::hours(12));
    assert_eq!(config.alerts.repeat_every, TimeDelta::hours(4));
    assert_eq!(config.alerts.silence_after, None);
    assert!(config.alerts.heartbeat_url.is_none());
    assert!(config.alerts.channels.is_empty());
    assert_eq!(config.log.level, "info");
    assert_eq!(config.log.format, LogFormat::Auto);
}

#[test]
fn a_forward_section_needs_only_its_url() {
    let section = "[hooks.forward]\nurl = \"http://127.0.0.1:3000/webhook\"";
    let config = World::new().config(&with("", section));
    let forward = config.hook("ci").unwrap().forward.clone().unwrap();
    assert_eq!(forward.url.as_str(), "http://127.0.0.1:3000/webhook");
    assert_eq!(forward.timeout, secs(30));
    assert_eq!(forward.concurrency, 8);
    assert_eq!(forward.lease, secs(120));
    assert_eq!(forward.max_attempts, 12);
    assert_eq!(forward.backoff, [5, 30, 120, 600, 1800, 3600, 10_800].map(secs));
    assert_eq!(forward.order, Order::None);
}

#[test]
fn the_defaults_file_asks_for_nothing_but_what_has_no_default() {
    let world = World::new();
    assert_eq!(
        world.said(DEFAULTS),
        [
            "error: hooks[0].name: is missing",
            "error: hooks[0].app_id: is missing, and so is client_id (both stand on the App's \
             page: app_id = 4242 or client_id = \"Iv23li...\")",
            "error: hooks[0].private_key_file: is missing",
            "error: hooks[0].webhook_secret_files: is missing: without a secret anybody could \
             send anything (put the webhook's secret into a file and name it here)",
            "error: hooks[0].forward.url: is missing",
        ]
    );
}

/// Takes the `#` from every line of the defaults file that is a key and not a sentence.
fn all_keys() -> String {
    let lines = DEFAULTS.lines().map(|line| match line.strip_prefix("# ") {
        Some(key) if key.starts_with("[[") || key.contains(" = ") && !key.contains(". ") => key,
        Some(_) | None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_defaults_file_documents_every_key_of_the_file() {
    let documented = all_keys().parse::<toml::Table>().unwrap();
    let schema = schema();
    let mut undocumented = Vec::new();
    compare(&schema, &toml::Value::Table(documented), "", &mut undocumented);
    assert_eq!(undocumented, Vec::<String>::new());
}

fn compare(schema: &serde_json::Value, value: &toml::Value, at: &str, missing: &mut Vec<String>) {
    if let Some(items) = value.as_array() {
        let merged = items.iter().filter_map(toml::Value::as_table).flatten();
        let merged: toml::Table = merged.map(|(k, v)| (k.clone(), v.clone())).collect();
        compare(&schema["items"], &toml::Value::Table(merged), at, missing);
        return;
    }
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let of_environment_only = property.get("not").is_some();
        match value.get(key) {
            Some(value) => compare(property, value, &format!("{at}.{key}"), missing),
            None if of_environment_only => {}
            None => missing.push(format!("{at}.{key}")),
        }
    }
}

#[test]
fn the_schema_describes_keys_with_their_defaults() {
    let schema = schema();
    let hook = &schema["properties"]["hooks"]["items"]["properties"];
    assert_eq!(hook["trust"]["enum"], serde_json::json!(["receipt", "github", "both"]));
    assert_eq!(hook["trust"]["default"], "receipt");
    assert_eq!(hook["forward"]["properties"]["concurrency"]["default"], 8);
    assert_eq!(hook["webhook_secret"]["not"], serde_json::json!({}));
    assert_eq!(schema["properties"]["sweep"]["properties"]["max_pages"]["default"], 200);
    assert_eq!(schema["properties"]["sweep"]["additionalProperties"], false);
    assert!(hook["path"]["description"].as_str().unwrap().contains("posts to"));
}

#[test]
fn what_is_shown_loads_to_the_same_configuration() {
    let world = World::new();
    let text =
        with("window = \"36h\"", "[sweep]\nsettle = \"90s\"\n[receiver]\nmax_body = \"1000B\"");
    let loaded = world.load(&text).unwrap();
    let again = world.load(show(&loaded)).unwrap_or_else(|p| panic!("{p}\n{}", show(&loaded)));
    assert_eq!(format!("{:?}", again.config), format!("{:?}", loaded.config));
    assert!(show(&loaded).contains("settle = \"90s\""), "{}", show(&loaded));
    assert!(show(&loaded).contains("window = \"36h\""), "{}", show(&loaded));
}

#[test]
fn without_any_hook_there_is_a_configuration_but_nothing_to_work_on() {
    let world = World::new();
    let config = world.config("");
    assert!(config.require_hooks().unwrap_err().to_string().contains("[[hooks]]"));
    assert!(world.config(&with("", "")).require_hooks().is_ok());
}

#[test]
fn the_fingerprint_changes_with_the_rules_only() {
    let world = World::new();
    let of = |hook: &str, sections: &str| {
        let config = world.config(&with(hook, sections));
        rules_fingerprint(config.hook("ci").unwrap())
    };
    let base = of("", "");
    let default = "trust=receipt window=259200000ms include= exclude= installations= repositories=";
    assert_eq!(base, default);
    assert_eq!(of("path = \"/other\"", "[sweep]\nsettle = \"1m\""), base);
    assert_ne!(of("trust = \"both\"", ""), base);
    assert_ne!(of("window = \"2d\"", ""), base);
    let filter = |list: &str| of("", &format!("[hooks.filter]\n{list}"));
    assert_ne!(filter("repositories = [7]"), base);
    assert_ne!(filter("installations = [7]"), filter("repositories = [7]"));
    assert_ne!(filter("include = [\"push\"]"), filter("exclude = [\"push\"]"));
    assert_eq!(
        filter("include = [\"push\", \"workflow_job.queued\"]"),
        filter("include = [\"workflow_job.queued\", \"push\", \"push\"]")
    );
}

#[test]
fn relative_paths_are_relative_to_the_given_directory() {
    let world = World::new();
    let url = |written: &str| {
        let text = with("", &format!("[database]\nurl = \"{written}\""));
        world.config(&text).database.url.expose_secret().to_owned()
    };
    let dir = world.path().display();
    assert_eq!(url("sqlite:a.db"), format!("sqlite://{dir}/a.db"));
    assert_eq!(url("sqlite://a/b.db?mode=rwc"), format!("sqlite://{dir}/a/b.db?mode=rwc"));
    assert_eq!(url("sqlite:/var/lib/x.db"), "sqlite:///var/lib/x.db");
    assert_eq!(url("sqlite:///var/lib/x.db"), "sqlite:///var/lib/x.db");
    assert_eq!(url("postgres://u@h/db"), "postgres://u@h/db");

    let odd = world.path().join("50% off?");
    std::fs::create_dir(&odd).unwrap();
    let loaded = from_str("", &odd, &world.env).unwrap();
    let url = loaded.config.database.url.expose_secret().to_owned();
    assert_eq!(url, format!("sqlite://{dir}/50%25 off%3F/redeliverd.db"));
}
