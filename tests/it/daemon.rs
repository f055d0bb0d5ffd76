//! Stories through the program that ships: kills, outages, commands beside the running daemon.

use redeliverd::sandbox::github::{Redelivering, Sending};
use serde_json::Value;

use crate::support::daemon::Rig;

async fn receipts(rig: &Rig, guids: &[String]) -> usize {
    let mut found = 0;
    for guid in guids {
        let answer = rig.get(&format!("/api/v1/deliveries/demo/{guid}")).await;
        found += usize::from(answer.is_some_and(|(_, body)| !body["receipt"].is_null()));
    }
    found
}

async fn all_received(rig: &Rig, guids: &[String]) {
    rig.eventually("everything is received", async |rig| receipts(rig, guids).await == guids.len())
        .await;
    rig.eventually("nothing is missing", async |rig| rig.missing().await["total"] == 0).await;
}

/// D12, R3, L20: the daemon is killed between, during and after intakes and sweeps.
#[tokio::test(flavor = "multi_thread")]
async fn killed_again_and_again_it_loses_nothing() {
    let mut rig = Rig::new("").await;
    // A sweep that is killed keeps others away for as long as its lease lasts.
    rig.edit_config("settle =", "lease = \"10s\"\nsettle =");
    rig.serve().await;
    let mut guids = Vec::new();
    for round in 0..4 {
        for _ in 0..5 {
            let event = rig.next_event();
            guids.push(rig.world.emit(rig.hook, event).await);
        }
        // Requests are in the air when the kill comes.
        let event = rig.next_event();
        guids.push(rig.world.emit_in_background(&[rig.hook], event));
        rig.kill();
        for _ in 0..3 {
            let event = rig.next_event();
            guids.push(rig.world.emit(rig.hook, event).await);
        }
        rig.world.settled().await;
        rig.serve().await;
        let emitted = &guids[round * 9..round * 9 + 5];
        assert_eq!(receipts(&rig, emitted).await, 5, "round {round} lost an acknowledged event");
    }
    all_received(&rig, &guids).await;
    for guid in &guids {
        // An arrival that was acknowledged is never asked for.
        let posts = rig.world.posts(guid);
        if posts.iter().any(|post| !post.redelivery && post.answer == Some(202)) {
            assert_eq!(rig.world.redelivery_posts(guid), 0, "{guid} was asked for without need");
        }
        assert!(rig.world.redelivery_posts(guid) <= 8, "{guid} was asked for too often");
    }
}

/// W3, W18: GitHub's word alone would never have found the swallowed one.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_and_a_swallowed_delivery_are_found_repaired_and_explained() {
    let mut rig = Rig::new("").await;
    rig.serve().await;
    let event = rig.next_event();
    let failed = rig.world.emit_as(rig.hook, event, Sending::Answer(503)).await;
    let event = rig.next_event();
    let swallowed = rig.world.emit_as(rig.hook, event, Sending::Swallow).await;
    all_received(&rig, &[failed.clone(), swallowed.clone()]).await;
    for guid in [&failed, &swallowed] {
        rig.eventually("GitHub has listed the second attempt", async |rig| {
            rig.run(&["show", guid, "--json"]).await.json()["attempts"] == 2
        })
        .await;
        let story = rig.run(&["show", guid, "--json"]).await.json();
        assert_eq!(story["verdict"], "settled");
        assert_eq!(story["reason"], "received");
        assert_eq!(story["via"], "redelivery");
        assert_eq!(story["attempt_rows"].as_array().unwrap().len(), 2);
        assert_eq!(story["redelivery_rows"][0]["outcome"], "accepted");
        // L1: the id is text, and exactly GitHub's.
        let first = rig.world.attempts(rig.hook).into_iter().rfind(|a| a.guid == *guid).unwrap();
        assert_eq!(story["attempt_rows"][0]["id"], Value::String(first.id.to_string()));
        assert_eq!(rig.world.redelivery_posts(guid), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_beside_the_daemon_tell_the_truth_at_each_step() {
    let mut rig = Rig::new("").await;
    rig.serve().await;
    rig.world.faults(|faults| faults.api.redeliver = Redelivering::Forget);
    let event = rig.next_event();
    let guid = rig.world.emit_as(rig.hook, event, Sending::FailToConnect).await;
    rig.eventually("it is asked for", async |rig| rig.world.redelivery_posts(&guid) > 0).await;

    let status = rig.run(&["status", "--json"]).await;
    assert_eq!(status.code, 3);
    assert_eq!(status.json()["hooks"][0]["missing"]["total"], 1);
    let list = rig.run(&["list", "--missing", "--json"]).await;
    assert_eq!(list.code, 3);
    assert_eq!(list.json()["deliveries"].as_array().unwrap().len(), 1);
    assert_eq!(list.json()["deliveries"][0]["guid"], Value::String(guid.clone()));
    assert_eq!(rig.run(&["dismiss", &guid, "--note", "known"]).await.code, 0);
    let status = rig.run(&["status", "--json"]).await;
    assert_eq!((status.code, &status.json()["hooks"][0]["missing"]["total"]), (0, &0.into()));
    let story = rig.run(&["show", &guid, "--json"]).await.json();
    assert_eq!(story["reason"], "dismissed");
    assert_eq!(rig.run(&["show", "no-such-guid"]).await.code, 1);
    assert_eq!(rig.terminate().await, Some(0));
}

/// S25 and two processes: a sweep by hand waits for the daemon's own.
#[tokio::test(flavor = "multi_thread")]
async fn sweeps_by_hand_and_by_schedule_never_ask_twice() {
    let mut rig = Rig::new("").await;
    rig.serve().await;
    let mut guids = Vec::new();
    for _ in 0..6 {
        let event = rig.next_event();
        guids.push(rig.world.emit_as(rig.hook, event, Sending::Answer(500)).await);
    }
    let (a, b) = tokio::join!(rig.run(&["sweep", "--json"]), rig.run(&["sweep", "--json"]));
    for run in [a, b] {
        assert!(matches!(run.code, 0 | 3), "{run:?}");
        assert_eq!(run.json()["sweeps"][0]["complete"], true);
    }
    all_received(&rig, &guids).await;
    for guid in &guids {
        assert_eq!(rig.world.redelivery_posts(guid), 1, "{guid}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_listener_answers_health_metrics_and_a_sweep_with_token() {
    let mut rig = Rig::new("").await;
    rig.serve().await;
    assert_eq!(rig.get("/healthz").await.unwrap().0, 200);
    let (_, metrics) = rig.get("/metrics").await.unwrap();
    let metrics = metrics.as_str().unwrap().to_owned();
    for name in [
        "redeliverd_build_info{version=",
        "redeliverd_missing_deliveries{hook=\"demo\",reason=\"failed\"} 0",
        "redeliverd_sweeps_total{hook=\"demo\",trigger=\"startup\",result=\"complete\"} 1",
        "redeliverd_last_complete_sweep_timestamp_seconds{hook=\"demo\"}",
        "redeliverd_database_size_bytes",
    ] {
        assert!(metrics.contains(name), "{name} is missing in\n{metrics}");
    }
    let http = reqwest::Client::new();
    let url = format!("http://{}/api/v1/sweeps", rig.admin);
    let post = |token: Option<&'static str>| {
        let request = http.post(&url).header("content-type", "application/json").body("{}");
        token.map_or(request.try_clone().unwrap(), |token| request.bearer_auth(token)).send()
    };
    assert_eq!(post(None).await.unwrap().status(), 401);
    assert_eq!(post(Some("wrong")).await.unwrap().status(), 401);
    let answer = post(Some("the admin token of a test")).await.unwrap();
    assert_eq!(answer.status(), 200);
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["sweeps"][0]["trigger"], "manual");
    assert_eq!(body["sweeps"][0]["complete"], true);
}

/// A mistyped word is told, not answered with an empty list.
#[tokio::test(flavor = "multi_thread")]
async fn the_list_over_http_refuses_an_unknown_verdict() {
    let mut rig = Rig::new("").await;
    rig.serve().await;
    let (code, body) = rig.get("/api/v1/deliveries?verdict=missing").await.unwrap();
    assert_eq!(code, 400, "{body}");
    assert!(body["error"].as_str().unwrap().contains("abandoned"), "{body}");
    let (code, body) = rig.get("/api/v1/deliveries?verdict=waiting").await.unwrap();
    assert_eq!((code, body["deliveries"].as_array().map(Vec::len)), (200, Some(0)));
}

/// SPEC section 12: the API is open on loopback only. Health stays open for probes.
#[tokio::test(flavor = "multi_thread")]
async fn off_loopback_even_reading_takes_the_token() {
    let mut rig = Rig::new("").await;
    let port = rig.admin.port();
    rig.edit_config(
        &format!("listen = \"{}\"", rig.admin),
        &format!("listen = \"0.0.0.0:{port}\""),
    );
    rig.serve().await;
    assert_eq!(rig.get("/healthz").await.unwrap().0, 200);
    assert_eq!(rig.get("/api/v1/status").await.unwrap().0, 401);
    let answer = reqwest::Client::new()
        .get(format!("http://{}/api/v1/status", rig.admin))
        .bearer_auth("the admin token of a test")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_sweep_is_told_what_arrived_and_what_did_not() {
    let mut rig = Rig::new("").await;
    rig.edit_config("* * * * * *", "0 0 0 1 1 *");
    rig.serve().await;
    let event = rig.next_event();
    rig.world.emit_as(rig.hook, event, Sending::Answer(500)).await;
    rig.eventually("it is asked for and arrives", async |rig| {
        let swept = rig.run(&["sweep", "--wait", "20s"]).await;
        swept.stdout.contains("accepted  request 1, because failed\n  arrived: 1 of 1 asked\n")
    })
    .await;
    rig.world.faults(|faults| faults.api.redeliver = Redelivering::Forget);
    let event = rig.next_event();
    let lost = rig.world.emit_as(rig.hook, event, Sending::Answer(500)).await;
    rig.eventually("it is asked for and does not arrive", async |rig| {
        let swept = rig.run(&["sweep", "--wait", "100ms"]).await;
        let told = format!("arrived: 0 of 1 asked\n  {lost}  has not arrived yet\n");
        swept.code == 3 && swept.stdout.contains(&told)
    })
    .await;
}
