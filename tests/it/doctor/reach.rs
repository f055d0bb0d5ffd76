//! Who answers where: the webhook's address, the application, the channels, the daemon.

use std::fs;

use super::{Report, line, rig, served, set_mode};
use crate::support::{
    address::free_address,
    application::Application,
    sink::{Refusal, Sink},
};

#[tokio::test(flavor = "multi_thread")]
async fn something_else_at_the_address_of_the_webhook_is_named_by_its_answer() {
    let rig = rig("").await;
    let stranger = Sink::start().await;
    rig.world.configure(rig.hook, |hook| hook.url = format!("{}/webhook", stranger.url));
    for (code, result) in
        [(200, "fail"), (302, "fail"), (502, "fail"), (403, "fail"), (405, "pass")]
    {
        stranger.refuse([Refusal { code, retry_after: None }]);
        let report = Report::of(&rig).await;
        assert_eq!(report.result("webhook_reachable"), result, "{code}");
        assert!(report.detail("webhook_reachable").contains(&code.to_string()), "{code}");
    }
    // The URL is the application's where the receiver is not ours.
    rig.edit_config("api_url", "trust = \"github\"\napi_url");
    assert_eq!(Report::of(&rig).await.result("webhook_reachable"), "pass");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_down_is_seen_from_both_sides() {
    let rig = rig("").await;
    let report = Report::of(&rig).await;
    assert_eq!(report.result("daemon"), "warn");
    assert!(report.detail("daemon").contains(&rig.admin.to_string()));
    assert_eq!(report.result("webhook_reachable"), "fail");
    assert!(report.detail("webhook_reachable").contains("nobody answers"));
    assert_eq!(report.code, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_at_the_webhook_records_nothing() {
    let rig = served("").await;
    // What GitHub lists may grow meanwhile; what arrived may not.
    let arrived = async || {
        let list = rig.run(&["list", "--json"]).await.json();
        let all = list["deliveries"].as_array().unwrap().clone();
        all.into_iter()
            .map(|one| (one["guid"].clone(), one["received_at"].clone()))
            .collect::<Vec<_>>()
    };
    let before = arrived().await;
    assert_eq!(Report::of(&rig).await.result("webhook_reachable"), "pass");
    assert_eq!(before, arrived().await);
    assert_eq!(rig.world.counters().redelivery_posts, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_application_is_connected_to_and_sent_nothing() {
    let rig = rig("").await;
    let application = Application::start().await;
    rig.edit_config(
        "[sweep]",
        &format!("[hooks.forward]\nurl = \"{}\"\n[sweep]", application.url()),
    );
    assert_eq!(Report::of(&rig).await.result("handover"), "pass");
    assert!(application.handed().is_empty());
    let nobody = free_address();
    rig.edit_config(&application.url(), &format!("http://{nobody}/in"));
    let report = Report::of(&rig).await;
    assert_eq!((report.code, report.result("handover")), (1, "fail"));
    assert!(report.detail("handover").contains(&nobody.to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn channels_are_connected_to_and_sent_nothing() {
    let sink = Sink::start().await;
    let nobody = free_address();
    let rig = rig(&format!(
        "[[alerts.channels]]\nkind = \"slack\"\nurl_file = \"slack.url\"\n\
         [[alerts.channels]]\nkind = \"alertmanager\"\nurls = [\"{0}\", \"http://{nobody}\"]\n\
         [[alerts.channels]]\nkind = \"email\"\nsmtp_url_file = \"smtp.url\"\ntls = \"starttls\"\n\
         from = \"a@b.example\"\nto = \"c@d.example\"\n",
        sink.url
    ))
    .await;
    for (file, text) in [
        ("slack.url", format!("{}/hunter2", sink.url)),
        ("smtp.url", format!("smtp://user:hunter3@{nobody}")),
    ] {
        fs::write(rig.dir.path().join(file), text).unwrap();
        set_mode(&rig.dir.path().join(file), 0o600);
    }
    let report = Report::of(&rig).await;
    let told: Vec<(&str, String)> = report
        .all("channel")
        .into_iter()
        .map(|check| {
            let detail = check["detail"].as_str().unwrap();
            (check["result"].as_str().unwrap(), detail.split(':').next().unwrap().to_owned())
        })
        .collect();
    let name = |text: &str| text.to_owned();
    assert_eq!(
        told,
        [
            ("pass", name("slack")),
            ("pass", name("alertmanager")),
            ("fail", name("alertmanager")),
            ("fail", name("email")),
        ]
    );
    assert_eq!(report.code, 1);
    assert!(sink.taken().is_empty());
    let run = rig.run(&["doctor"]).await;
    assert!(line(&run, "channel").starts_with("pass"), "{}", run.stdout);
    assert!(!run.stdout.contains("hunter") && !run.stderr.contains("hunter"), "{run:?}");
    fs::write(rig.dir.path().join("smtp.url"), "smtp:").unwrap();
    let report = Report::of(&rig).await;
    assert_eq!(report.result("channel"), "fail");
    assert!(report.detail("channel").contains("smtp_url_file"), "{}", report.detail("channel"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_heartbeat_is_connected_to_and_not_sent() {
    let sink = Sink::start().await;
    let rig = rig(&format!("[alerts]\nheartbeat_url = \"{}/hunter2\"\n", sink.url)).await;
    let report = Report::of(&rig).await;
    assert_eq!(report.result("heartbeat"), "pass");
    assert!(sink.taken().is_empty());
    let nobody = free_address();
    rig.edit_config(&sink.url, &format!("http://{nobody}"));
    let report = Report::both(&rig).await;
    assert_eq!((report.code, report.result("heartbeat")), (1, "fail"));
    assert!(report.detail("heartbeat").contains(&nobody.to_string()));
    assert!(!format!("{:?}", report.checks).contains("hunter2"));
}
