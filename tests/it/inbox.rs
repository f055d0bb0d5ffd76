//! From the receipt to the application, through the program that ships: every event at least once,
//! always with the same key, through kills, restarts, failures and replays.

use std::{
    collections::BTreeSet,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use redeliverd::sandbox::github::Sending;
use serde_json::{Value, json};

use crate::support::{
    application::{Answer, Application},
    daemon::Rig,
};

const TOKEN: &str = "the admin token of a test";

async fn rig(application: &Application, settings: &str) -> Rig {
    let url = application.url();
    Rig::new(&format!("[hooks.forward]\nurl = \"{url}\"\nbackoff = [\"1s\"]\n{settings}")).await
}

async fn emit(rig: &mut Rig, count: usize) -> Vec<String> {
    let mut guids = Vec::new();
    for _ in 0..count {
        let event = rig.next_event();
        guids.push(rig.world.emit(rig.hook, event).await);
    }
    guids
}

async fn inbox(rig: &Rig) -> Value {
    rig.get("/api/v1/status")
        .await
        .map_or(Value::Null, |(_, body)| body["hooks"][0]["inbox"].clone())
}

async fn processed(rig: &Rig, count: usize) {
    let expected = json!({"waiting": 0, "processing": 0, "processed": count, "dead": 0});
    rig.eventually(&format!("{count} are processed"), async |rig| inbox(rig).await == expected)
        .await;
}

async fn act(rig: &Rig, guid: &str, action: &str, body: Value) -> (u16, Value) {
    let url = format!("http://{}/api/v1/deliveries/demo/{guid}/{action}", rig.admin);
    post(&url, body).await
}

async fn post(url: &str, body: Value) -> (u16, Value) {
    let request = reqwest::Client::new().post(url).bearer_auth(TOKEN);
    let answer = request
        .header("content-type", "application/json")
        .body(body.to_string())
        .send()
        .await
        .unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default())
}

/// D19, R30: what the application gets is what GitHub sent, with our headers beside it.
#[tokio::test(flavor = "multi_thread")]
async fn the_application_gets_the_same_bytes_with_a_signature_that_fits() {
    let application = Application::start().await;
    let mut rig = rig(&application, "").await;
    rig.serve().await;
    let guids = emit(&mut rig, 5).await;
    processed(&rig, 5).await;
    let secret = std::fs::read(rig.dir.path().join("webhook.secret")).unwrap();
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &secret);
    let handed = application.handed();
    assert_eq!(handed.len(), 5);
    for guid in &guids {
        let handed = handed.iter().find(|handed| handed.guid() == guid).unwrap();
        assert_eq!(handed.path, "/events");
        let tag = handed.header("x-hub-signature-256").trim_start_matches("sha256=");
        let tag = hex::decode(tag).unwrap();
        assert!(aws_lc_rs::hmac::verify(&key, &handed.body, &tag).is_ok());
        assert_eq!(handed.header("idempotency-key"), format!("demo/{guid}"));
        assert_eq!(handed.header("x-redeliverd-attempt"), "1");
        assert_eq!(handed.header("x-redeliverd-via"), "delivery");
        assert!(!handed.header("x-redeliverd-received-at").is_empty());
        assert!(handed.headers.get("x-redeliverd-late").is_none());
    }
    let story = rig.run(&["show", &guids[0], "--json"]).await.json();
    assert_eq!(story["handover"], "processed");
    assert_eq!(story["handovers"][0]["result"], "processed");
    assert_eq!(story["handovers"][0]["status_code"], 200);
    let (_, metrics) = rig.get("/metrics").await.unwrap();
    for line in [
        "redeliverd_handovers_total{hook=\"demo\",result=\"processed\"} 5",
        "redeliverd_inbox_events{hook=\"demo\",state=\"processed\"} 5",
        "redeliverd_handover_seconds_count{hook=\"demo\"} 5",
    ] {
        assert!(metrics.as_str().unwrap().contains(line), "{line}");
    }
}

/// O43, D3, D12, D19: the short form of `tests/drills/kill-loop.sh`.
#[tokio::test(flavor = "multi_thread")]
async fn killed_again_and_again_every_event_is_handed_over_with_one_key() {
    let application = Application::start().await;
    application.answers(|before, _| {
        let mut answer = Answer::status(if before % 7 == 3 { 500 } else { 200 });
        answer.after = Duration::from_millis(60);
        answer
    });
    let mut rig = rig(&application, "timeout = \"1s\"\nlease = \"2s\"\nmax_attempts = 50\n").await;
    rig.serve().await;
    let mut guids = Vec::new();
    for _ in 0..4 {
        guids.extend(emit(&mut rig, 25).await);
        rig.kill();
        rig.serve().await;
    }
    processed(&rig, guids.len()).await;
    let counts = application.counts();
    for guid in &guids {
        assert!(counts.contains_key(guid), "{guid} was never handed over");
    }
    assert_eq!(counts.len(), guids.len());
    for handed in application.handed() {
        assert_eq!(handed.header("idempotency-key"), format!("demo/{}", handed.guid()));
    }
    assert!(application.most_at_once() <= 16, "more than two lives of eight each");
}

/// The example application acts once on an event that it gets eleven times.
#[tokio::test(flavor = "multi_thread")]
async fn one_event_replayed_ten_times_has_one_effect() {
    struct Consumer(Child);
    impl Drop for Consumer {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/");
    let forward = format!("[hooks.forward]\nurl = \"{url}\"\nbackoff = [\"1s\"]\n");
    let mut rig = Rig::new(&forward).await;
    let effects = rig.dir.path().join("effects.db");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/config/examples/consumer.py");
    let _consumer = Consumer(
        Command::new("python3")
            .arg(script)
            .arg(&effects)
            .arg(port.to_string())
            .arg(rig.dir.path().join("webhook.secret"))
            .stdin(Stdio::null())
            .spawn()
            .unwrap(),
    );
    rig.eventually("the application listens", async |_| {
        tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok()
    })
    .await;
    rig.serve().await;
    let guids = emit(&mut rig, 2).await;
    processed(&rig, 2).await;

    let replay = rig.run(&["replay", &guids[0], "--times", "10", "--json"]).await;
    assert_eq!(replay.code, 0, "{replay:?}");
    assert_eq!(replay.json()["replays"][0]["from"], "processed");
    processed(&rig, 2).await;
    rig.eventually("it was handed over ten times more", async |rig| {
        let story = rig.run(&["show", &guids[0], "--json"]).await.json();
        let answers = story["handovers"].as_array().unwrap().clone();
        answers.len() == 11
            && answers.iter().filter(|answer| answer["detail"] == "done before").count() == 10
    })
    .await;
    let count = Command::new("python3")
        .args([
            "-c",
            "import sqlite3, sys; print(sqlite3.connect(sys.argv[1])\
            .execute('SELECT COUNT(*) FROM effects').fetchone()[0])",
        ])
        .arg(&effects)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&count.stdout).trim(), "2", "one effect per event");
}

/// D35, O32, D18: dead letters are listed, requeued and discarded; 410 makes one at once.
#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_listed_requeued_and_discarded() {
    let application = Application::start().await;
    application.answers(|_, _| {
        let mut answer = Answer::status(410);
        answer.body = "never again".to_owned();
        answer
    });
    let mut rig = rig(&application, "").await;
    rig.serve().await;
    let guids = emit(&mut rig, 3).await;
    rig.eventually("all are dead", async |rig| inbox(rig).await["dead"] == 3).await;
    assert_eq!(application.handed().len(), 3, "410 is not tried again");
    let dead = rig.run(&["dead", "list", "--json"]).await.json();
    assert_eq!(dead["dead"].as_array().unwrap().len(), 3);
    assert_eq!(dead["dead"][0]["guid"], guids[0]);
    assert_eq!(dead["dead"][0]["last_error"], "410 gone: never again");
    let (_, listed) = rig.get("/api/v1/dead").await.unwrap();
    assert_eq!(listed, dead);
    // D28: a replay that fails is no success.
    assert_eq!(rig.run(&["replay", &guids[2]]).await.code, 0);
    rig.eventually("it died again", async |_| application.handed().len() == 4).await;
    rig.eventually("all are dead", async |rig| inbox(rig).await["dead"] == 3).await;

    application.answers(|_, _| Answer::status(204));
    assert_eq!(rig.run(&["dead", "requeue", &guids[0]]).await.code, 0);
    rig.eventually("it is processed", async |rig| inbox(rig).await["processed"] == 1).await;
    assert_eq!(rig.run(&["dead", "requeue", &guids[0]]).await.code, 1, "it is not dead any more");
    let (code, _) = act(&rig, &guids[1], "discard", json!({})).await;
    assert_eq!(code, 200);
    let (code, _) = act(&rig, &guids[1], "discard", json!({})).await;
    assert_eq!(code, 409);
    assert_eq!(rig.run(&["dead", "requeue", "--all"]).await.code, 0);
    let end = json!({"waiting": 0, "processing": 0, "processed": 2, "dead": 0});
    rig.eventually("one is discarded, two processed", async |rig| inbox(rig).await == end).await;
    let list = rig.run(&["list", "--json"]).await.json();
    let states: BTreeSet<_> = list["deliveries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|delivery| delivery["handover"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(states, BTreeSet::from(["discarded".to_owned(), "processed".to_owned()]));
}

/// D8, D11: what failed comes again, as late as the application asked for; redirects are failures.
#[tokio::test(flavor = "multi_thread")]
async fn failures_come_again_as_the_application_asked() {
    let application = Application::start().await;
    let elsewhere = Application::start().await;
    let target = elsewhere.url();
    application.answers(move |before, _| {
        let mut answer = Answer::status([302, 503, 200][before.min(2)]);
        match before {
            0 => answer.headers.push(("location", target.clone())),
            1 => answer.headers.push(("retry-after", "3".to_owned())),
            _ => {}
        }
        answer
    });
    let mut rig = rig(&application, "").await;
    rig.serve().await;
    let guids = emit(&mut rig, 1).await;
    processed(&rig, 1).await;
    let handed = application.handed();
    assert_eq!(handed.len(), 3);
    assert_eq!(elsewhere.handed().len(), 0, "a redirect is not followed");
    assert!(handed[1].at - handed[0].at >= Duration::from_millis(800), "backoff, less its jitter");
    assert!(handed[2].at - handed[1].at >= Duration::from_secs(3), "Retry-After");
    let attempts: Vec<_> =
        handed.iter().map(|handed| handed.header("x-redeliverd-attempt").to_owned()).collect();
    assert_eq!(attempts, ["1", "2", "3"]);
    let story = rig.run(&["show", &guids[0], "--json"]).await.json();
    let codes: Vec<_> = story["handovers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|handover| handover["status_code"].as_i64().unwrap())
        .collect();
    assert_eq!(codes, [302, 503, 200]);
}

/// R4, D30, O26: a slow application delays no answer to GitHub; SIGTERM lets what is being sent end
/// and keeps the rest.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_lets_hand_overs_end_and_keeps_the_rest_waiting() {
    let application = Application::start().await;
    application.hold();
    let mut rig = rig(&application, "concurrency = 2\n").await;
    rig.serve().await;
    let begun = Instant::now();
    let guids = emit(&mut rig, 20).await;
    assert!(begun.elapsed() < Duration::from_secs(10), "the application was in the way");
    rig.eventually("two are being sent", async |_| application.handed().len() == 2).await;
    let opener = application.clone();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        opener.release();
    };
    let (code, ()) = tokio::join!(rig.terminate(), stop);
    assert_eq!(code, Some(0));
    assert_eq!(application.handed().len(), 2, "nothing new was begun");
    let status = rig.run(&["status", "--json"]).await.json();
    let expected = json!({"waiting": 18, "processing": 0, "processed": 2, "dead": 0});
    assert_eq!(status["hooks"][0]["inbox"], expected);
    rig.serve().await;
    processed(&rig, 20).await;
    let counts = application.counts();
    assert!(guids.iter().all(|guid| counts.get(guid) == Some(&1)), "{counts:?}");
    assert!(application.most_at_once() <= 2);
}

/// D27: what the filter does not want is recorded and never handed over.
#[tokio::test(flavor = "multi_thread")]
async fn unwanted_events_end_ignored() {
    let application = Application::start().await;
    let mut rig = rig(&application, "[hooks.filter]\ninclude = [\"nothing_of_that_name\"]\n").await;
    rig.serve().await;
    let guids = emit(&mut rig, 3).await;
    for guid in &guids {
        let story = rig.run(&["show", guid, "--json"]).await.json();
        assert_eq!(story["handover"], "ignored");
        assert_eq!(story["verdict"], "excused");
    }
    assert_eq!(inbox(&rig).await["waiting"], 0);
    assert_eq!(application.handed().len(), 0);
}

/// O1, O3, O4: what comes late says so, and what was read through the API is signed anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_repaired_event_tells_how_it_came_and_when_it_happened() {
    let application = Application::start().await;
    let mut rig = rig(&application, "").await;
    rig.edit_config("name = \"demo\"\n", "name = \"demo\"\nrepair = \"fetch\"\n");
    rig.serve().await;
    let event = rig.next_event();
    let guid = rig.world.emit_as(rig.hook, event, Sending::FailToConnect).await;
    processed(&rig, 1).await;
    let handed = application.handed().remove(0);
    assert_eq!(handed.guid(), guid);
    assert_eq!(handed.header("x-redeliverd-via"), "api");
    assert!(!handed.header("x-redeliverd-first-attempt-at").is_empty());
    let secret = std::fs::read(rig.dir.path().join("webhook.secret")).unwrap();
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &secret);
    let tag = hex::decode(handed.header("x-hub-signature-256").trim_start_matches("sha256="));
    assert!(aws_lc_rs::hmac::verify(&key, &handed.body, &tag.unwrap()).is_ok());
}

/// An application that receives webhooks itself reports what it has.
#[tokio::test(flavor = "multi_thread")]
async fn a_reported_receipt_settles_a_delivery() {
    let mut rig = Rig::new("").await;
    rig.serve().await;
    let event = rig.next_event();
    let guid = rig.world.emit_as(rig.hook, event, Sending::Swallow).await;
    let url = format!("http://{}/api/v1/receipts", rig.admin);
    let report = json!({"hook": "demo", "guid": guid});
    let refused = reqwest::Client::new()
        .post(&url)
        .header("content-type", "application/json")
        .body(report.to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(refused.status(), 401, "without the token");
    assert_eq!(post(&url, report.clone()).await.0, 202);
    assert_eq!(post(&url, report).await.0, 200);
    let other = json!({"hook": "demo", "guid": "not a guid"});
    assert_eq!(post(&url, other).await.0, 400);
    assert_eq!(post(&url, json!({"hook": "none", "guid": "g"})).await.0, 404);
    rig.eventually("it is settled", async |rig| {
        let story = rig.run(&["show", &guid, "--json"]).await.json();
        story["verdict"] == "settled" && story["receipt"]["body_bytes"] == 0
    })
    .await;
    let (code, _) = act(&rig, &guid, "replay", json!({})).await;
    assert_eq!(code, 409, "this hook hands nothing over");
}

/// A copy of a running database is a database.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_complete_private_and_never_overwrites() {
    use std::os::unix::fs::PermissionsExt;
    let application = Application::start().await;
    let mut rig = rig(&application, "").await;
    rig.serve().await;
    let guids = emit(&mut rig, 5).await;
    processed(&rig, 5).await;
    let copy = rig.dir.path().join("copy.db");
    let copy_text = copy.to_str().unwrap().to_owned();
    assert_eq!(rig.run(&["backup", &copy_text]).await.code, 0);
    assert_eq!(rig.run(&["backup", &copy_text]).await.code, 1, "it exists");
    let mode = std::fs::metadata(&copy).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(rig.run(&["prune", "--json"]).await.json()["payloads"], 0, "nothing is old");
    assert_eq!(rig.terminate().await, Some(0));
    std::fs::write(rig.dir.path().join("other.toml"), {
        let text = std::fs::read_to_string(rig.config()).unwrap();
        format!("{text}\n[database]\nurl = \"sqlite:copy.db\"\n")
    })
    .unwrap();
    let output =
        crate::support::daemon::command(&rig.dir.path().join("other.toml"), &["list", "--json"])
            .output()
            .unwrap();
    let list = crate::support::daemon::Run::of(&output).json();
    assert_eq!(list["deliveries"].as_array().unwrap().len(), guids.len());
}
