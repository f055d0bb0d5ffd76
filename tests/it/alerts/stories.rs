//! Stories through the program that ships: what is told, how often, and what survives a restart.

use std::fs;

use redeliverd::sandbox::github::{Redelivering, Sending};
use serde_json::Value;

use crate::support::{
    daemon::Rig,
    sink::{Refusal, Sink},
};

/// Looks five times a second, and takes a second of missing for long.
async fn rig(sink: &Sink, beats: &Sink, channels: &str) -> Rig {
    let rig = Rig::new(&format!(
        "[alerts]\ncheck_every = \"200ms\"\nmissing_after = \"1s\"\n\
         heartbeat_url = \"{0}/heartbeat\"\n{channels}",
        beats.url
    ))
    .await;
    fs::write(rig.dir.path().join("slack.url"), format!("{}/slack", sink.url)).unwrap();
    rig
}

const SLACK: &str = "[[alerts.channels]]\nkind = \"slack\"\nurl_file = \"slack.url\"\n";

fn alertmanager(sink: &Sink) -> String {
    format!("[[alerts.channels]]\nkind = \"alertmanager\"\nurls = [\"{}\"]\n", sink.url)
}

/// The messages about one condition, in the order they came.
fn said(sink: &Sink, condition: &str) -> Vec<String> {
    let texts = sink
        .at("/slack")
        .into_iter()
        .map(|taken| taken.json()["text"].as_str().unwrap().to_owned());
    texts
        .filter(|text| text.lines().next().unwrap().contains(&format!(" {condition} on")))
        .collect()
}

async fn condition(rig: &Rig, name: &str) -> Value {
    let (_, status) = rig.get("/api/v1/status").await.expect("the daemon answers");
    let all = status["conditions"].as_array().unwrap().clone();
    all.into_iter().find(|condition| condition["name"] == name).unwrap_or(Value::Null)
}

async fn metric(rig: &Rig, line: &str) -> bool {
    let (_, text) = rig.get("/metrics").await.expect("the daemon answers");
    text.as_str().unwrap().lines().any(|found| found == line)
}

/// O33 and a restart in the middle: said once, and its end said once.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_delivery_is_told_once_over_a_restart_and_so_is_its_repair() {
    let sink = Sink::start().await;
    let channels = format!("{SLACK}{}", alertmanager(&sink));
    let mut rig = rig(&sink, &sink, &channels).await;
    rig.serve().await;
    rig.eventually("complete sweeps beat", async |_| !sink.at("/heartbeat").is_empty()).await;

    rig.world.faults(|faults| faults.api.redeliver = Redelivering::Forget);
    let event = rig.next_event();
    let guid = rig.world.emit_as(rig.hook, event, Sending::FailToConnect).await;
    rig.eventually("it is told", async |_| !said(&sink, "deliveries_missing").is_empty()).await;
    let firing = condition(&rig, "deliveries_missing").await;
    assert_eq!((&firing["state"], &firing["hook"]), (&"firing".into(), &"demo".into()));
    assert!(
        metric(&rig, r#"redeliverd_condition{condition="deliveries_missing",hook="demo"} 1.0"#)
            .await
    );
    assert!(metric(&rig, r#"redeliverd_condition{condition="store_failing",hook=""} 0.0"#).await);
    let text = rig.run(&["status"]).await.stdout;
    assert!(text.contains("deliveries_missing on demo: 1 delivery"), "{text}");

    assert_eq!(rig.terminate().await, Some(0));
    rig.serve().await;
    rig.eventually("the new process looks", async |rig| {
        metric(rig, r#"redeliverd_condition{condition="deliveries_missing",hook="demo"} 1.0"#).await
    })
    .await;
    assert_eq!(condition(&rig, "deliveries_missing").await["since"], firing["since"]);

    rig.world.faults(|faults| faults.api.redeliver = Redelivering::Honest);
    rig.eventually("its end is told", async |_| said(&sink, "deliveries_missing").len() > 1).await;
    rig.eventually("it is resolved", async |rig| {
        condition(rig, "deliveries_missing").await["state"] == "resolved"
    })
    .await;
    let said = said(&sink, "deliveries_missing");
    assert_eq!(said.len(), 2, "{said:#?}");
    assert!(said[0].starts_with("*FIRING: deliveries_missing on demo*\n"), "{}", said[0]);
    assert!(said[0].contains(&format!("Deliveries: {guid}\n")), "{}", said[0]);
    assert!(said[0].ends_with("Next: redeliverd list --missing --hook demo"), "{}", said[0]);
    assert!(said[1].starts_with("*RESOLVED: deliveries_missing on demo*\n"), "{}", said[1]);

    let of_missing = |alerts: Value| alerts[0]["labels"]["alertname"] == "deliveries_missing";
    let alerts = sink.at("/api/v2/alerts").into_iter().map(|taken| taken.json());
    let alerts: Vec<_> = alerts.filter(|alerts| of_missing(alerts.clone())).collect();
    assert_eq!(alerts[0][0]["labels"], alerts[alerts.len() - 1][0]["labels"]);
}

/// O29, O31: it is asked again when it said, the message comes after all, and sweeping goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_refuses_is_asked_again_and_is_in_nobodys_way() {
    let (sink, beats) = (Sink::start().await, Sink::start().await);
    let mut rig = rig(&sink, &beats, SLACK).await;
    sink.refuse([Refusal { code: 429, retry_after: Some("1") }]);
    rig.serve().await;
    rig.world.faults(|faults| faults.api.redeliver = Redelivering::Forget);
    let event = rig.next_event();
    let guid = rig.world.emit_as(rig.hook, event, Sending::Answer(500)).await;
    rig.eventually("it is told twice", async |_| sink.at("/slack").len() > 1).await;
    let texts: Vec<_> =
        sink.at("/slack").into_iter().map(|taken| taken.json()["text"].clone()).collect();
    assert_eq!(
        texts[0].as_str().unwrap().lines().next(),
        texts[1].as_str().unwrap().lines().next()
    );
    assert!(
        metric(
            &rig,
            r#"redeliverd_channel_notifications_total{channel="slack",result="failed"} 1"#
        )
        .await
    );
    assert!(rig.log().contains("it answered 429 Too Many Requests"), "{}", rig.log());
    rig.eventually("it is asked for", async |rig| rig.world.redelivery_posts(&guid) > 0).await;
}

/// O31: a channel that takes the connection and never answers.
#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_hangs_delays_no_other_and_no_sweep() {
    let sink = Sink::start().await;
    let mut rig = rig(&sink, &sink, &format!("{SLACK}{}", alertmanager(&sink))).await;
    // The system takes connections for a listener that nobody asks.
    let hanging = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/slack", hanging.local_addr().unwrap());
    fs::write(rig.dir.path().join("slack.url"), url).unwrap();
    rig.serve().await;
    rig.world.faults(|faults| faults.api.redeliver = Redelivering::Forget);
    let event = rig.next_event();
    let guid = rig.world.emit_as(rig.hook, event, Sending::Answer(500)).await;
    let refused = r#"redeliverd_channel_notifications_total{channel="slack",result="failed"}"#;
    rig.eventually("the other channel is told", async |_| {
        let alerts = sink.at("/api/v2/alerts").into_iter().map(|taken| taken.json());
        alerts.into_iter().any(|alerts| alerts[0]["labels"]["alertname"] == "deliveries_missing")
    })
    .await;
    let (sweeps, beats) = (rig.world.counters().list_calls, sink.at("/heartbeat").len());
    rig.eventually("it is asked for again, sweep after sweep", async |rig| {
        rig.world.redelivery_posts(&guid) > 1
            && rig.world.counters().list_calls > sweeps + 2
            && sink.at("/heartbeat").len() > beats + 2
    })
    .await;
    let (_, metrics) = rig.get("/metrics").await.unwrap();
    assert!(!metrics.as_str().unwrap().contains(refused), "it hangs still");
    rig.eventually("it is given up and counted", async |rig| {
        metric(rig, &format!("{refused} 1")).await
    })
    .await;
    assert!(rig.log().contains("no answer within 10 s"), "{}", rig.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn test_alert_tries_every_channel_and_fails_with_any() {
    let sink = Sink::start().await;
    let rig = rig(&sink, &sink, &format!("{SLACK}{}", alertmanager(&sink))).await;
    let run = rig.run(&["test-alert", "--json"]).await;
    assert_eq!(run.code, 0, "{run:?}");
    let channels = run.json()["channels"].clone();
    let names: Vec<_> = channels.as_array().unwrap().iter().map(|c| c["channel"].clone()).collect();
    assert_eq!(names, ["log", "slack", "alertmanager"]);
    assert!(sink.at("/slack")[0].json()["text"].as_str().unwrap().starts_with("*TEST: test*"));
    assert_eq!(sink.at("/api/v2/alerts")[0].json()[0]["labels"]["alertname"], "test");

    sink.refuse([Refusal { code: 404, retry_after: None }]);
    let run = rig.run(&["test-alert"]).await;
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("slack: failed: it answered 404 Not Found\n"), "{run:?}");
    assert!(run.stdout.contains("alertmanager: sent\n"), "{run:?}");
}
