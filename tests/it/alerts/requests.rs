//! What each channel sends, as the other side gets it.

use std::time::Duration;

use aws_lc_rs::hmac;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use chrono::{DateTime, TimeDelta, Utc};
use redeliverd::{
    config::{Alerts, Channel},
    domain::{
        condition::{Condition, Severity},
        ids::{Guid, HookName},
        notice::Why,
    },
    notify::{self, Notice, Notifier},
};
use serde_json::{Value, json};

use crate::support::sink::{Refusal, Sink, Taken};

fn at(minutes: i64) -> DateTime<Utc> {
    "2026-11-30T12:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::minutes(minutes)
}

/// Seven are missing since noon; it is twenty minutes later.
fn firing() -> Notice {
    Notice {
        why: Why::New,
        name: "deliveries_missing",
        hook: Some(HookName::new("ci").unwrap()),
        severity: Severity::Warning,
        summary: "7 deliveries on hook ci missing for more than 15m".to_owned(),
        count: 7,
        oldest: Some(at(0)),
        guids: ["g-1", "g-2", "g-3", "g-4", "g-5"].map(|text| Guid::new(text).unwrap()).to_vec(),
        command: "redeliverd list --missing --hook ci".to_owned(),
        since: at(15),
        at: at(20),
        turn: at(15),
    }
}

fn resolved() -> Notice {
    Notice {
        why: Why::Resolved,
        summary: "nothing has been missing for long".to_owned(),
        count: 0,
        oldest: None,
        guids: Vec::new(),
        at: at(40),
        turn: at(20),
        ..firing()
    }
}

fn grown() -> Notice {
    Notice { why: Why::Grown, count: 40, at: at(30), turn: at(20), ..firing() }
}

/// The one configured channel of a list, beside the log.
fn channel(channel: Channel) -> Box<dyn Notifier> {
    let alerts = Alerts {
        check_every: Duration::from_secs(15),
        missing_after: TimeDelta::minutes(15),
        closing_within: TimeDelta::hours(12),
        repeat_every: TimeDelta::hours(4),
        silence_after: None,
        heartbeat_url: None,
        channels: vec![channel],
    };
    let mut channels = notify::channels(&alerts).unwrap();
    assert_eq!(channels.len(), 2);
    assert_eq!(channels[0].name, "log");
    channels.remove(1).notifier
}

fn pagerduty(sink: &Sink) -> Box<dyn Notifier> {
    let url = format!("{}/v2/enqueue", sink.url).parse().unwrap();
    channel(Channel::PagerDuty { routing_key: "a-routing-key".into(), url })
}

fn slack(sink: &Sink) -> Box<dyn Notifier> {
    channel(Channel::Slack { url: format!("{}/T/B/secret", sink.url).into() })
}

#[tokio::test]
async fn alertmanager_gets_stable_labels_and_an_end_at_every_peer() {
    let (one, two) = (Sink::start().await, Sink::start().await);
    let urls = vec![one.url.parse().unwrap(), format!("{}/prefix/", two.url).parse().unwrap()];
    let alertmanager = channel(Channel::Alertmanager { urls });
    for notice in [firing(), grown(), resolved()] {
        alertmanager.tell(&notice).await.unwrap();
    }
    let sent = one.at("/api/v2/alerts");
    assert_eq!(two.at("/prefix/api/v2/alerts").len(), 3);
    let labels = json!({
        "alertname": "deliveries_missing",
        "service": "redeliverd",
        "severity": "warning",
        "hook": "ci",
    });
    assert_eq!(
        sent[0].json(),
        json!([{
            "labels": labels,
            "annotations": {
                "summary": "7 deliveries on hook ci missing for more than 15m",
                "command": "redeliverd list --missing --hook ci",
                "count": "7",
                "oldest": "2026-11-30T12:00:00.000Z",
                "guids": "g-1, g-2, g-3, g-4, g-5 and 2 more",
            },
            "startsAt": "2026-11-30T12:15:00.000Z",
            "endsAt": "2026-11-30T12:25:00.000Z",
        }])
    );
    assert_eq!(sent[1].json()[0]["labels"], labels);
    assert_eq!(sent[2].json()[0]["labels"], labels);
    assert_eq!(sent[2].json()[0]["startsAt"], "2026-11-30T12:15:00.000Z");
    assert_eq!(sent[2].json()[0]["endsAt"], "2026-11-30T12:40:00.000Z");
    // It forgets what it is not sent again.
    assert_eq!(alertmanager.repeat_every(TimeDelta::hours(4)), TimeDelta::minutes(1));
}

#[tokio::test]
async fn one_peer_of_alertmanager_is_enough() {
    let (down, up) = (Sink::start().await, Sink::start().await);
    let urls = vec![down.url.parse().unwrap(), up.url.parse().unwrap()];
    let alertmanager = channel(Channel::Alertmanager { urls });
    down.refuse([Refusal { code: 503, retry_after: None }; 2]);
    alertmanager.tell(&firing()).await.unwrap();
    up.refuse([Refusal { code: 400, retry_after: None }]);
    assert!(alertmanager.tell(&firing()).await.is_err());
}

#[tokio::test]
async fn slack_gets_one_message_that_a_person_can_act_on() {
    let sink = Sink::start().await;
    let slack = slack(&sink);
    slack.tell(&firing()).await.unwrap();
    slack.tell(&resolved()).await.unwrap();
    slack.tell(&Notice { summary: "<!channel> & more".to_owned(), ..firing() }).await.unwrap();
    let texts: Vec<_> =
        sink.at("/T/B/secret").iter().map(|taken| taken.json()["text"].clone()).collect();
    assert_eq!(
        texts[0],
        "*FIRING: deliveries_missing on ci*\n\
         7 deliveries on hook ci missing for more than 15m.\n\
         Age of the oldest: 20m.\n\
         Deliveries: g-1, g-2, g-3, g-4, g-5 and 2 more\n\
         Next: redeliverd list --missing --hook ci"
    );
    assert_eq!(
        texts[1],
        "*RESOLVED: deliveries_missing on ci*\n\
         Nothing has been missing for long.\n\
         It held for 25m, from 2026-11-30 12:15 UTC on."
    );
    assert!(texts[2].as_str().unwrap().contains("&lt;!channel&gt; &amp; more"));
}

#[tokio::test]
async fn pagerduty_gets_one_incident_from_beginning_to_end() {
    let sink = Sink::start().await;
    let pagerduty = pagerduty(&sink);
    for notice in [firing(), grown(), resolved()] {
        pagerduty.tell(&notice).await.unwrap();
    }
    let events: Vec<Value> = sink.at("/v2/enqueue").iter().map(Taken::json).collect();
    let mut payload = events[0]["payload"].clone();
    assert!(!payload["source"].as_str().unwrap().is_empty());
    payload.as_object_mut().unwrap().remove("source");
    assert_eq!(
        payload,
        json!({
            "summary": "7 deliveries on hook ci missing for more than 15m",
            "severity": "warning",
            "timestamp": "2026-11-30T12:15:00Z",
            "component": "redeliverd",
            "group": "ci",
            "class": "deliveries_missing",
            "custom_details": {
                "count": 7,
                "oldest": "2026-11-30T12:00:00Z",
                "guids": ["g-1", "g-2", "g-3", "g-4", "g-5"],
                "command": "redeliverd list --missing --hook ci",
            },
        })
    );
    for (event, action) in events.iter().zip(["trigger", "trigger", "resolve"]) {
        assert_eq!(event["event_action"], action);
        assert_eq!(event["dedup_key"], "redeliverd/ci/deliveries_missing");
        assert_eq!(event["routing_key"], "a-routing-key");
    }
    assert_eq!(events.len(), 3);
}

#[tokio::test]
async fn the_signed_webhook_verifies_and_a_second_try_has_the_same_id() {
    let sink = Sink::start().await;
    let url = format!("{}/hook", sink.url).parse().unwrap();
    let webhook = channel(Channel::Webhook { url, secret: "a plain secret".into() });
    sink.refuse([Refusal { code: 500, retry_after: None }]);
    assert!(webhook.tell(&firing()).await.is_err());
    webhook.tell(&Notice { at: at(21), ..firing() }).await.unwrap();
    webhook.tell(&resolved()).await.unwrap();
    let sent = sink.at("/hook");
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"a plain secret");
    for taken in &sent {
        let (id, time) = (taken.header("webhook-id"), taken.header("webhook-timestamp"));
        let signed = format!("{id}.{time}.{}", taken.body);
        let signature = taken.header("webhook-signature").strip_prefix("v1,").unwrap();
        let signature = STANDARD.decode(signature).unwrap();
        hmac::verify(&key, signed.as_bytes(), &signature).unwrap();
        assert_eq!(taken.header("content-type"), "application/json");
    }
    assert_eq!(sent[0].header("webhook-timestamp"), at(20).timestamp().to_string());
    assert_eq!(sent[0].header("webhook-id"), sent[1].header("webhook-id"));
    assert_ne!(sent[1].header("webhook-id"), sent[2].header("webhook-id"));
    assert_eq!(
        sent[0].json(),
        json!({
            "type": "condition.firing",
            "timestamp": "2026-11-30T12:20:00Z",
            "data": {
                "condition": "deliveries_missing",
                "hook": "ci",
                "state": "firing",
                "why": "new",
                "severity": "warning",
                "summary": "7 deliveries on hook ci missing for more than 15m",
                "since": "2026-11-30T12:15:00Z",
                "count": 7,
                "oldest": "2026-11-30T12:00:00Z",
                "guids": ["g-1", "g-2", "g-3", "g-4", "g-5"],
                "command": "redeliverd list --missing --hook ci",
            },
        })
    );
    assert_eq!(sent[2].json()["type"], "condition.resolved");
}

/// O31, O35: the wait is taken over, and neither the URL nor a secret stands in the error.
#[tokio::test]
async fn a_refusal_says_how_long_to_wait_and_names_no_secret() {
    let sink = Sink::start().await;
    sink.refuse([Refusal { code: 429, retry_after: Some("17") }]);
    let failure = slack(&sink).tell(&firing()).await.unwrap_err();
    assert_eq!(failure.retry_after, Some(Duration::from_secs(17)));
    assert_eq!(failure.message, "it answered 429 Too Many Requests");

    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let slack = channel(Channel::Slack { url: format!("http://{nobody}/T/B/secret").into() });
    let failure = slack.tell(&firing()).await.unwrap_err();
    assert!(!failure.message.contains("secret"), "{failure}");
    assert!(failure.message.contains("refused"), "{failure}");
}

#[test]
fn every_condition_has_a_page_and_the_examples_name_no_other() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let words: Vec<_> = Condition::ALL.iter().map(|condition| condition.as_str()).collect();
    for word in &words {
        let page = std::fs::read_to_string(root.join(format!("docs/runbook/{word}.md"))).unwrap();
        assert!(page.starts_with(&format!("# {word}\n")), "{word}");
    }
    let rules = root.join("config/examples/prometheus-rules.yml");
    let rules = std::fs::read_to_string(rules).unwrap();
    let urgent: Vec<_> = Condition::ALL
        .iter()
        .filter(|condition| condition.severity() == Severity::Critical)
        .map(|condition| condition.as_str())
        .collect();
    let named = format!("\"{}\"", urgent.join("|"));
    assert_eq!(rules.matches(&named).count(), 2, "the rules tell {named} apart");
    let routes = root.join("config/examples/alertmanager.yml");
    let routes = std::fs::read_to_string(routes).unwrap();
    for part in routes.split("alertname=\"").skip(1) {
        let word = part.split('"').next().unwrap();
        assert!(words.contains(&word), "{word}");
    }
}

#[test]
fn channels_of_one_kind_have_their_own_names() {
    let slack = || Channel::Slack { url: "https://a.example/x".into() };
    let alerts = Alerts {
        check_every: Duration::from_secs(15),
        missing_after: TimeDelta::minutes(15),
        closing_within: TimeDelta::hours(12),
        repeat_every: TimeDelta::hours(4),
        silence_after: None,
        heartbeat_url: None,
        channels: vec![slack(), slack()],
    };
    let names: Vec<_> = notify::channels(&alerts).unwrap().into_iter().map(|c| c.name).collect();
    assert_eq!(names, ["log", "slack", "slack_2"]);
}
