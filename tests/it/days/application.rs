//! The day on which the application answers 500 to everything.

use redeliverd::sandbox::github::Sending;

use super::{Day, says};
use crate::support::application::{Answer, Application};

/// O32, O33
#[tokio::test(flavor = "multi_thread")]
async fn the_application_answers_500() {
    let application = Application::start().await;
    let mut day = Day::new("", "").await;
    day.rig.edit_config(
        "[sweep]",
        &format!(
            "[hooks.forward]\nurl = \"{}\"\nbackoff = [\"10ms\"]\nmax_attempts = 3\n[sweep]",
            application.url()
        ),
    );
    day.rig.serve().await;
    application.answers(|_, _| Answer::status(500));
    let mut guids = Vec::new();
    for _ in 0..2 {
        let event = day.rig.next_event();
        guids.push(day.rig.world.emit_as(day.rig.hook, event, Sending::Deliver).await);
    }
    let dead = day.fires("dead_letters").await;
    says(&dead, &["on hook demo refused by the application for good", "the oldest at"]);
    assert!(guids.iter().any(|guid| dead["guids"][0] == *guid), "{dead}");
    assert!(dead["command"].as_str().unwrap().starts_with("redeliverd dead list"), "{dead}");
    day.rig
        .eventually("both are dead and told", async |_| day.last("dead_letters")["count"] == 2)
        .await;
    // GitHub was answered all the same.
    assert!(guids.iter().all(|guid| day.rig.world.received_ok(guid)));

    application.answers(|_, _| Answer::status(200));
    // The application works again; what died meanwhile is an operator's to decide.
    assert_eq!(day.rig.run(&["dead", "requeue", "--all"]).await.code, 0);
    day.ends("dead_letters").await;
    day.rig
        .eventually("both are processed", async |rig| {
            let status = rig.run(&["status", "--json"]).await.json();
            status["hooks"][0]["inbox"]["processed"] == 2
        })
        .await;
    day.only(&["dead_letters"]);
}
