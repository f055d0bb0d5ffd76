//! What the machine itself shows: permissions, windows, time-outs, doubts about the configuration.

use super::{Report, line, rig, set_mode};

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_everybody_may_read_fails_and_one_of_a_group_is_doubtful() {
    let rig = rig("").await;
    let (key, secret) = (rig.dir.path().join("app.pem"), rig.dir.path().join("webhook.secret"));
    set_mode(&key, 0o644);
    set_mode(&secret, 0o640);
    let report = Report::both(&rig).await;
    let of = |file: &str| {
        let files = report.all("secret_file");
        let found = files.iter().find(|c| c["detail"].as_str().unwrap().contains(file)).unwrap();
        (
            found["result"].as_str().unwrap().to_owned(),
            found["hook"].clone(),
            found["advice"].clone(),
        )
    };
    let (result, hook, advice) = of("app.pem");
    assert_eq!((result.as_str(), &hook), ("fail", &"demo".into()));
    assert!(advice.as_str().unwrap().contains(&format!("chmod 0600 {}", key.display())));
    assert_eq!(of("webhook.secret").0, "warn");
    assert_eq!(of("admin.token").0, "pass");
    assert!(of("admin.token").1.is_null());
    // It is told once, by its own check.
    assert_eq!(report.result("configuration"), "pass");
    assert_eq!(report.code, 1);
    let run = rig.run(&["doctor"]).await;
    assert!(line(&run, "secret_file").contains("has mode"), "{}", run.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_work_but_are_of_no_use_are_warnings() {
    let rig = rig("[retention]\nhistory = \"30d\"\n").await;
    rig.edit_config("api_url", "window = \"8d\"\napi_url");
    rig.edit_config("[admin]", "body_timeout = \"11s\"\n[admin]");
    let secret = rig.dir.path().join("webhook.secret");
    std::fs::write(&secret, " padded ").unwrap();
    let report = Report::both(&rig).await;
    assert_eq!(report.result("window"), "warn");
    assert!(report.detail("window").contains("longer than GitHub keeps"));
    assert_eq!(report.result("body_timeout"), "warn");
    assert_eq!(report.result("configuration"), "warn");
    assert!(report.detail("configuration").contains("webhook_secret_files"));
    assert_eq!(report.result("retention"), "pass");
    assert_eq!(report.detail("retention"), "history is kept 720 h, the longest window is 192 h");
}
