//! The end: what is in hand is finished, or given back, or taken over by the next process.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{application::Application, daemon::Rig};

/// A daemon that holds one claim, whose application does not answer.
async fn holding(application: &Application, settings: &str) -> Rig {
    let url = application.url();
    let mut rig = Rig::new(&format!("[hooks.forward]\nurl = \"{url}\"\n{settings}")).await;
    rig.serve().await;
    application.hold();
    let event = rig.next_event();
    rig.world.emit(rig.hook, event).await;
    rig.eventually("it is being handed over", async |_| application.handed().len() == 1).await;
    rig
}

async fn inbox(rig: &Rig) -> Value {
    rig.run(&["status", "--json"]).await.json()["hooks"][0]["inbox"].clone()
}

async fn handed_over_by_the_next_process(rig: &mut Rig, application: &Application) {
    application.release();
    rig.serve().await;
    let done = json!({"waiting": 0, "processing": 0, "processed": 1, "dead": 0});
    rig.eventually("it is handed over", async |rig| inbox(rig).await == done).await;
    let handed = application.handed();
    assert_eq!(handed.len(), 2);
    assert_eq!(handed[0].header("idempotency-key"), handed[1].header("idempotency-key"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once_and_the_claim_is_taken_over() {
    let application = Application::start().await;
    let mut rig = holding(&application, "lease = \"5s\"\ntimeout = \"4s\"").await;
    rig.signal("TERM");
    rig.eventually("it stops", async |rig| rig.log().contains("stopping: SIGTERM")).await;
    let asked = Instant::now();
    rig.signal("INT");
    rig.wait().await;
    assert!(asked.elapsed() < Duration::from_secs(8), "{:?}", asked.elapsed());
    assert!(rig.log().contains("stopping: SIGINT"), "{}", rig.log());
    let held = json!({"waiting": 0, "processing": 1, "processed": 0, "dead": 0});
    assert_eq!(inbox(&rig).await, held);
    handed_over_by_the_next_process(&mut rig, &application).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_grace_period_is_over_what_is_in_hand_is_given_back() {
    let application = Application::start().await;
    let mut rig = holding(&application, "lease = \"6m\"\ntimeout = \"5m\"").await;
    let asked = Instant::now();
    assert_eq!(rig.terminate().await, Some(0));
    let took = asked.elapsed();
    assert!(took > Duration::from_secs(10) && took < Duration::from_secs(25), "{took:?}");
    // Not left to its lease of six minutes.
    let left = json!({"waiting": 1, "processing": 0, "processed": 0, "dead": 0});
    assert_eq!(inbox(&rig).await, left);
    handed_over_by_the_next_process(&mut rig, &application).await;
}
