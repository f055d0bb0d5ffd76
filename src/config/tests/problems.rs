//! What is wrong is said: all of it, at once, with what would be right.

use proptest::prelude::*;

use super::{MINIMAL, World, with};
use crate::config::Channel;

#[test]
fn six_mistakes_get_six_messages() {
    let text = r#"
[receiver]
listen = "localhost:8080"
max_boddy = "25MiB"

[[hooks]]
name = "ci"
app_id = "4242"
private_key_file = "nowhere.pem"
webhook_secret_files = ["ci.secret"]

[sweep]
schedule = "*/2 * * * *"
settle = 30
"#;
    assert_eq!(
        World::new().said(text),
        [
            "error: receiver.listen = \"localhost:8080\": is not an address with a port (write \
             \"127.0.0.1:8080\")",
            "error: receiver.max_boddy: is not a known key (did you mean `max_body`?)",
            "error: hooks[ci].app_id = \"4242\": is not a positive whole number (for example 4242, \
             without quotes)",
            "error: sweep.settle = 30: is a whole number, but must be a duration (for example \
             \"90s\", \"15m\" or \"3d\")",
            "error: sweep.schedule = \"*/2 * * * *\": has five fields, but the first of six is the \
             seconds (write \"0 */2 * * * *\")",
            "error: hooks[ci].private_key_file = DIR/nowhere.pem: cannot be read: there is no such file \
             (a path is relative to the directory of the configuration file)",
        ]
    );
}

#[test]
fn a_syntax_error_has_line_and_column_and_shows_no_line() {
    let said = World::new().said("[receiver]\nlisten = \"hunter2\" hunter2\n");
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("error: configuration: line 2, column 20: not TOML: "), "{said:?}");
    assert!(!said[0].contains("hunter2"), "{said:?}");
}

#[test]
fn a_client_id_takes_the_place_of_the_app_id() {
    let text = |id: &str| MINIMAL.replace("app_id = 4242", &format!("client_id = \"{id}\""));
    let world = World::new();
    for ok in ["Iv23liAbCdEfGhIjKlMn", "Iv1.0123456789abcdef"] {
        assert_eq!(world.said(&text(ok)), [""; 0], "{ok}");
    }
    for (bad, said) in [
        (
            "4242",
            "error: hooks[ci].client_id = \"4242\": looks like an App id (write app_id = 4242)",
        ),
        ("", "error: hooks[ci].client_id: is no client id"),
        ("Iv23li AbCdEf", "error: hooks[ci].client_id: is no client id"),
        ("abcdefghijkl", "warning: hooks[ci].client_id: does not look like an App's client id"),
    ] {
        let found = world.said(&text(bad));
        assert!(found[0].starts_with(said), "{bad}: {found:?}");
    }
}

#[test]
fn hooks_written_as_one_table_are_told_of_the_double_brackets() {
    let said = World::new().said("[hooks]\nname = \"ci\"");
    assert!(
        said[0].contains(
            "is a table, but must be a list (an entry of a list of tables begins with [[hooks]])"
        ),
        "{said:?}"
    );
}

#[test]
fn channels_are_understood_although_they_are_not_delivered_yet() {
    let world = World::new();
    world.write("slack.url", "https://hooks.slack.example/T/B/x\n");
    world.write("key", "routing");
    world.write("smtp", "smtps://u:p@mail.example");
    let text = with(
        "",
        r#"
[[alerts.channels]]
kind = "alertmanager"
urls = ["http://127.0.0.1:9093"]
[[alerts.channels]]
kind = "slack"
url_file = "slack.url"
[[alerts.channels]]
kind = "pagerduty"
routing_key_file = "key"
[[alerts.channels]]
kind = "webhook"
url = "https://alerts.example/"
secret_file = "key"
[[alerts.channels]]
kind = "email"
smtp_url_file = "smtp"
from = "a@b.example"
to = "c@d.example"
tls = "starttls"
"#,
    );
    let said = world.said(&text);
    assert!(said.is_empty(), "{said:?}");
    let channels = world.config(&text).alerts.channels;
    assert!(matches!(
        channels.as_slice(),
        [
            Channel::Alertmanager { .. },
            Channel::Slack { .. },
            Channel::PagerDuty { .. },
            Channel::Webhook { .. },
            Channel::Email { .. }
        ]
    ));
}

fn any_value() -> impl Strategy<Value = toml::Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(toml::Value::from),
        any::<f64>().prop_map(toml::Value::from),
        any::<bool>().prop_map(toml::Value::from),
        "[ -~]{0,12}".prop_map(toml::Value::from),
        "(3d|0s|25MiB|sqlite:|sqlite:x|/x|https://a|\\* \\* \\* \\* \\* \\*|app|99999999999999999y)"
            .prop_map(toml::Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(toml::Value::from),
            prop::collection::btree_map(any_key(), inner, 0..5)
                .prop_map(|keys| toml::Value::Table(keys.into_iter().collect())),
        ]
    })
}

fn any_key() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "receiver",
            "admin",
            "database",
            "hooks",
            "sweep",
            "retention",
            "alerts",
            "log",
            "channels",
            "forward",
            "filter",
            "name",
            "url",
            "path",
            "window",
            "backoff",
            "schedule",
            "listen",
            "kind",
            "lease",
            "history",
            "include",
            "api_url",
            "level",
        ])
        .prop_map(str::to_owned),
        "[a-z_.]{0,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_tree_makes_it_panic(keys in prop::collection::btree_map(any_key(), any_value(), 0..6)) {
        let table: toml::Table = keys.into_iter().collect();
        let _ = World::new().load(&toml::to_string(&table).unwrap());
    }

    #[test]
    fn no_text_makes_it_panic(text in "[ -~\\n\"\\[\\]=]{0,80}") {
        let _ = World::new().load(&text);
    }

    #[test]
    fn no_variable_makes_it_panic(name in "(HOOKS|SWEEP|ALERTS)(__([0-9]{1,2}|[A-Z_]{0,5}|PATH|CHANNELS)){0,4}", value in "[ -~]{0,10}") {
        let _ = World::new().set(&format!("REDELIVERD_{name}"), &value).load(MINIMAL);
    }
}
