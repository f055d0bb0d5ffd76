//! A new configuration taken over, or refused, while the daemon runs.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
};

use redeliverd::sandbox::github::Sending;
use serde_json::{Value, json};

use super::manager::Manager;
use crate::support::{application::Application, daemon::Rig};

const TOKEN: &str = "the admin token of a test";

/// One request on a connection that stays open; the status code of the answer.
fn ask(stream: &mut TcpStream) -> String {
    stream.write_all(b"GET /webhook HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"}") {
        stream.read_exact(&mut byte).expect("the connection stays open");
        answer.push(byte[0]);
    }
    String::from_utf8(answer).unwrap().split(' ').nth(1).unwrap().to_owned()
}

async fn post(rig: &Rig, token: Option<&str>) -> (u16, Value) {
    let request = reqwest::Client::new().post(format!("http://{}/api/v1/reload", rig.admin));
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hangup_takes_a_new_secret_and_drops_no_connection() {
    let mut rig = Rig::new("").await;
    let manager = Manager::new(&rig);
    rig.spawn(manager.command(&rig, None, None));
    manager.until("READY=1").await;
    rig.ready().await;
    let mut kept = TcpStream::connect(rig.receiver).unwrap();
    assert_eq!(ask(&mut kept), "405");

    fs::write(rig.dir.path().join("webhook.secret"), "the secret after the rotation").unwrap();
    rig.world.configure(rig.hook, |hook| hook.secret = "the secret after the rotation".into());
    let event = rig.next_event();
    let refused = rig.world.emit(rig.hook, event).await;
    assert_eq!(rig.world.posts(&refused)[0].answer, Some(401));

    rig.signal("HUP");
    let during = manager.until("RELOADING=1").await;
    let reloading = during.last().unwrap();
    assert!(reloading.lines().any(|line| line.starts_with("MONOTONIC_USEC=")), "{reloading}");
    manager.until("READY=1").await;
    let event = rig.next_event();
    let taken = rig.world.emit(rig.hook, event).await;
    assert_eq!(rig.world.posts(&taken)[0].answer, Some(202));
    assert_eq!(ask(&mut kept), "405");
    // The sweeper of the new configuration repairs what the old secret refused.
    rig.eventually("the refused one is received", async |rig| rig.world.received_ok(&refused))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_file_is_refused_and_the_old_configuration_stays() {
    let mut rig = Rig::new("").await;
    rig.serve().await;
    rig.edit_config("name = \"demo\"", "name = \"demo\"\ntrusts = \"nobody\"\nwindow = \"soon\"");
    let (code, body) = post(&rig, Some(TOKEN)).await;
    assert_eq!(code, 422, "{body}");
    for key in ["trusts", "window"] {
        assert!(body["error"].as_str().unwrap().contains(key), "{body}");
        let line = format!("in the new configuration: error: hooks[demo].{key}");
        assert!(rig.log().contains(&line), "{line}\n{}", rig.log());
    }
    rig.signal("HUP");
    rig.eventually("it says so", async |rig| {
        rig.log().matches("the new configuration is refused").count() == 2
    })
    .await;
    let event = rig.next_event();
    let guid = rig.world.emit(rig.hook, event).await;
    assert_eq!(rig.world.posts(&guid)[0].answer, Some(202));
    assert_eq!(rig.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_by_request_needs_the_token_and_names_what_needs_a_restart() {
    let mut rig = Rig::new("").await;
    rig.serve().await;
    assert_eq!(post(&rig, None).await.0, 401);
    assert_eq!(post(&rig, Some("wrong")).await.0, 401);
    assert_eq!(post(&rig, Some(TOKEN)).await, (200, json!({"hooks": 1, "needs_restart": []})));
    let listen = format!("listen = \"{}\"\n[admin]", rig.receiver);
    rig.edit_config(&listen, "listen = \"127.0.0.1:1\"\nmax_body = \"1MiB\"\n[admin]");
    let expected = json!({"hooks": 1, "needs_restart": ["receiver.listen", "receiver.max_body"]});
    assert_eq!(post(&rig, Some(TOKEN)).await, (200, expected));
    // It still listens where it did.
    let event = rig.next_event();
    let guid = rig.world.emit(rig.hook, event).await;
    assert_eq!(rig.world.posts(&guid)[0].answer, Some(202));
}

/// How many states of a hook the metrics tell.
async fn metrics_of(rig: &Rig, hook: &str) -> usize {
    let (_, text) = rig.get("/metrics").await.unwrap();
    let hook = format!("hook=\"{hook}\"");
    let states = ["redeliverd_missing_", "redeliverd_condition", "redeliverd_inbox_events"];
    let lines = text.as_str().unwrap().lines();
    lines
        .filter(|line| states.iter().any(|it| line.starts_with(it)) && line.contains(&hook))
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_come_and_go_with_a_reload() {
    let mut rig = Rig::new("").await;
    rig.serve().await;
    let app = redeliverd::sandbox::story::write_app(
        rig.dir.path(),
        format!("http://{}/second", rig.receiver),
    )
    .unwrap();
    // The same App again, under another name and path.
    let entry = app.entry.replace("\"demo\"", "\"second\"");
    let second =
        format!("{entry}path = \"/second\"\napi_url = \"{}\"\n[sweep]", rig.github.base_url);
    rig.edit_config("[sweep]", &second);
    assert_eq!(post(&rig, Some(TOKEN)).await.0, 200);
    let status = rig.run(&["status", "--json"]).await.json();
    assert_eq!(status["hooks"].as_array().unwrap().len(), 2);
    let (_, shown) = rig.get("/api/v1/status").await.unwrap();
    assert_eq!(shown["hooks"][1]["name"], "second");
    let answer = reqwest::get(format!("http://{}/second", rig.receiver)).await.unwrap();
    assert_eq!(answer.status(), 405);
    rig.eventually("the new hook is measured", async |rig| metrics_of(rig, "second").await > 2)
        .await;
    rig.edit_config(&second, "[sweep]");
    assert_eq!(post(&rig, Some(TOKEN)).await.0, 200);
    assert_eq!(metrics_of(&rig, "second").await, 0, "what is gone has no state");
    assert!(metrics_of(&rig, "demo").await > 2);
    let answer = reqwest::get(format!("http://{}/second", rig.receiver)).await.unwrap();
    assert_eq!(answer.status(), 404);
}

/// S25: a reload cuts a sweep between two steps, and the next one goes on where it was.
#[tokio::test(flavor = "multi_thread")]
async fn reloads_during_a_repair_lose_nothing_and_never_have_two_sweeps_run() {
    let mut rig = Rig::new("").await;
    rig.edit_config("min_interval = \"10ms\"", "min_interval = \"400ms\"");
    rig.serve().await;
    let mut guids = Vec::new();
    for _ in 0..8 {
        let event = rig.next_event();
        guids.push(rig.world.emit_as(rig.hook, event, Sending::Answer(500)).await);
    }
    let asked = |rig: &Rig| guids.iter().filter(|it| rig.world.redelivery_posts(it) > 0).count();
    for reload in 1..6 {
        rig.eventually("some more are asked for", async |rig| asked(rig) >= reload).await;
        assert_eq!(post(&rig, Some(TOKEN)).await.0, 200);
    }
    rig.eventually("all are received", async |rig| {
        guids.iter().all(|guid| rig.world.received_ok(guid))
    })
    .await;
    rig.eventually("nothing is missing", async |rig| rig.missing().await["total"] == 0).await;
    for guid in &guids {
        assert_eq!(rig.world.redelivery_posts(guid), 1, "{guid}");
    }
    let (_, history) = rig.get("/api/v1/sweeps").await.unwrap();
    let mut sweeps: Vec<_> = history["sweeps"].as_array().unwrap().iter().map(span).collect();
    sweeps.sort_unstable();
    assert!(sweeps.len() > 6, "{history}");
    for pair in sweeps.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "two sweeps at once: {pair:?}");
    }
}

/// When a sweep began and ended, in milliseconds.
fn span(sweep: &Value) -> (i64, i64) {
    let begun: chrono::DateTime<chrono::Utc> =
        sweep["started_at"].as_str().unwrap().parse().unwrap();
    let begun = begun.timestamp_millis();
    (begun, begun + sweep["duration_ms"].as_i64().unwrap())
}

/// D18: what is in the application's hands is neither dropped nor sent twice, and delays nobody.
#[tokio::test(flavor = "multi_thread")]
async fn a_reload_leaves_hand_overs_in_hand_alone_and_sends_the_next_ones_elsewhere() {
    let (old, new) = (Application::start().await, Application::start().await);
    let mut rig = Rig::new(&format!("[hooks.forward]\nurl = \"{}\"", old.url())).await;
    rig.serve().await;
    old.hold();
    for _ in 0..3 {
        let event = rig.next_event();
        rig.world.emit(rig.hook, event).await;
    }
    rig.eventually("they are in hand", async |_| old.handed().len() == 3).await;
    rig.edit_config(&old.url(), &new.url());
    assert_eq!(post(&rig, Some(TOKEN)).await, (200, json!({"hooks": 1, "needs_restart": []})));
    let event = rig.next_event();
    let guid = rig.world.emit(rig.hook, event).await;
    rig.eventually("the new one is elsewhere", async |_| new.handed().len() == 1).await;
    assert_eq!(new.handed()[0].guid(), guid);
    old.release();
    let done = json!({"waiting": 0, "processing": 0, "processed": 4, "dead": 0});
    rig.eventually("all are processed", async |rig| {
        rig.run(&["status", "--json"]).await.json()["hooks"][0]["inbox"] == done
    })
    .await;
    assert!(old.counts().len() == 3 && old.counts().values().all(|times| *times == 1));
    assert_eq!(rig.terminate().await, Some(0));
}
