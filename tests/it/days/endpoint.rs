//! Days on which deliveries do not arrive: a receiver that is down, a wrong URL, a wrong secret.

use std::{fs, sync::Arc};

use chrono::{DateTime, TimeDelta, Utc};
use redeliverd::sandbox::github::{Backfill, Sending};

use super::{Day, says};
use crate::support::sink::{Refusal, Sink};

const ALERTS: &str = "missing_after = \"1s\"";

/// The daemon's host was off for an hour, and the gateway before it is still.
#[tokio::test(flavor = "multi_thread")]
async fn the_receiver_is_down_for_an_hour() {
    let mut day = Day::new(ALERTS, "").await;
    // An hour cannot be waited for: it lies in GitHub's log when the daemon comes back.
    day.rig.edit_config("kind = \"app\"", "kind = \"app\"\nfirst_run = \"2h\"");
    day.rig.edit_config("settle =", "overlap = \"2h\"\nsettle =");
    day.rig.serve().await;
    assert_eq!(day.rig.terminate().await, Some(0));
    let event = Arc::new(day.rig.next_event());
    let now = day.rig.world.now();
    let down = (0..12).map(|n| Backfill {
        event: Arc::clone(&event),
        at: now - TimeDelta::minutes(60 - 5 * n),
        status: "failed to connect to host".to_owned(),
        code: Some(502),
        redelivery: false,
        guid: None,
        id: None,
    });
    let lost = day.rig.world.backfill(day.rig.hook, down);
    day.rig.world.faults(|faults| faults.sender = Sending::FailToConnect);

    // The sweep at its start is the one.
    day.rig.serve().await;
    let failing = day.fires("endpoint_failing").await;
    says(&failing, &["every attempt by GitHub on hook demo in the last 15m", "code 502"]);
    let missing = day.fires("deliveries_missing").await;
    says(&missing, &["12 deliveries on hook demo missing for more than 1s", "first attempted at"]);
    assert_eq!((&missing["count"], &missing["guids"][0]), (&12.into(), &lost[0].1.clone().into()));
    let oldest: DateTime<Utc> = missing["oldest"].as_str().unwrap().parse().unwrap();
    assert!((now - oldest - TimeDelta::hours(1)).abs() < TimeDelta::minutes(1), "{oldest}");
    assert_eq!(missing["command"], "redeliverd list --missing --hook demo");
    day.only(&["deliveries_missing", "endpoint_failing"]);

    day.rig.world.faults(|faults| faults.sender = Sending::Deliver);
    day.arrival().await;
    day.sweep_until_over("deliveries_missing").await;
    day.ends("deliveries_missing").await;
    for (_, guid) in &lost {
        assert!(day.rig.world.received_ok(guid), "{guid}");
    }
    day.ends("endpoint_failing").await;
    day.only(&["deliveries_missing", "endpoint_failing"]);
}

/// O10: the App's webhook has led somewhere else since its installation, and a gateway answers there.
#[tokio::test(flavor = "multi_thread")]
async fn the_url_in_the_app_is_wrong_since_installation() {
    let mut day = Day::new(ALERTS, "").await;
    let gateway = Sink::start().await;
    gateway.refuse([Refusal { code: 400, retry_after: None }; 100]);
    let right = format!("http://{}/webhook", day.rig.receiver);
    let wrong = format!("{}/paused", gateway.url);
    day.rig.world.configure(day.rig.hook, |hook| hook.url = wrong);
    day.rig.serve().await;
    let mut lost = Vec::new();
    for _ in 0..4 {
        let event = day.rig.next_event();
        lost.push(day.rig.world.emit(day.rig.hook, event).await);
    }
    assert_eq!(day.sweep().await["complete"], true);
    let failing = day.fires("endpoint_failing").await;
    says(
        &failing,
        &[
            "every attempt by GitHub on hook demo in the last 15m",
            "failed: 4",
            "code 400",
            "the URL",
        ],
    );
    assert_eq!((&failing["severity"], &failing["count"]), (&"critical".into(), &4.into()));
    day.rig
        .eventually("what is missing is told", async |_| {
            day.sweep().await;
            !day.told("deliveries_missing").is_empty()
        })
        .await;
    day.fires("deliveries_missing").await;
    day.only(&["deliveries_missing", "endpoint_failing"]);

    day.rig.world.configure(day.rig.hook, |hook| hook.url.clone_from(&right));
    day.arrival().await;
    day.sweep_until_over("deliveries_missing").await;
    day.ends("deliveries_missing").await;
    day.ends("endpoint_failing").await;
    for guid in &lost {
        assert!(day.rig.run(&["show", guid, "--json"]).await.json()["verdict"] == "settled");
    }
    day.only(&["deliveries_missing", "endpoint_failing"]);
}

/// O10 with a gateway that answers 200: GitHub is content, and only our own record shows it.
#[tokio::test(flavor = "multi_thread")]
async fn somebody_else_answers_ok_at_the_url_in_the_app() {
    let mut day = Day::new(ALERTS, "").await;
    let gateway = Sink::start().await;
    let right = format!("http://{}/webhook", day.rig.receiver);
    day.rig.world.configure(day.rig.hook, |hook| hook.url = format!("{}/other", gateway.url));
    day.rig.serve().await;
    let event = day.rig.next_event();
    let guid = day.rig.world.emit(day.rig.hook, event).await;
    day.rig
        .eventually("what is missing is told", async |_| {
            day.sweep().await;
            !day.told("deliveries_missing").is_empty()
        })
        .await;
    let missing = day.fires("deliveries_missing").await;
    assert_eq!(missing["guids"][0], guid);
    day.only(&["deliveries_missing"]);
    assert_eq!(
        day.rig.run(&["show", &guid, "--json"]).await.json()["attempt_rows"][0]["status_code"],
        200
    );

    day.rig.world.configure(day.rig.hook, |hook| hook.url.clone_from(&right));
    day.arrival().await;
    day.sweep_until_over("deliveries_missing").await;
    day.ends("deliveries_missing").await;
}

/// O12: the secret was changed at GitHub and not here. A restart alone cures nothing, and does not
/// claim to.
#[tokio::test(flavor = "multi_thread")]
async fn the_secret_is_rotated_on_one_side_only() {
    const NEW: &str = "the secret that GitHub has from now on";
    let mut day = Day::new(ALERTS, "").await;
    day.rig.serve().await;
    day.arrival().await;
    day.rig.world.configure(day.rig.hook, |hook| hook.secret = NEW.into());
    let mut refused = Vec::new();
    for _ in 0..4 {
        let event = day.rig.next_event();
        refused.push(day.rig.world.emit(day.rig.hook, event).await);
    }
    // No sweep is needed to see it.
    let wrong = day.fires("signature_failures").await;
    says(&wrong, &["4 of 5 requests on hook demo in the last 15m", "webhook secret"]);
    assert_eq!(wrong["command"], "redeliverd doctor");

    day.rig.terminate().await;
    day.rig.serve().await;
    day.rig
        .eventually("what is missing is told", async |_| {
            day.sweep().await;
            !day.told("deliveries_missing").is_empty()
        })
        .await;
    assert_eq!(day.last("signature_failures")["state"], "firing", "nothing is cured");

    day.rig.terminate().await;
    fs::write(day.rig.dir.path().join("new.secret"), format!("{NEW}\n")).unwrap();
    day.rig.edit_config("[\"webhook.secret\"]", "[\"new.secret\", \"webhook.secret\"]");
    day.rig.serve().await;
    day.arrival().await;
    day.sweep_until_over("deliveries_missing").await;
    day.ends("deliveries_missing").await;
    day.ends("signature_failures").await;
    for guid in &refused {
        assert!(day.rig.world.received_ok(guid), "{guid}");
    }
    day.only(&["deliveries_missing", "signature_failures"]);
}
