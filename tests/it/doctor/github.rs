//! `doctor` against a GitHub that sees things differently, or does not answer.

use std::fs;

use chrono::TimeDelta;
use redeliverd::sandbox::github::{Answer, AppKey, ContentType, PageFault, Sending};
use secrecy::ExposeSecret;

use super::{AT_GITHUB, Report, deliver, line, rig, served};
use crate::support::address::free_address;

/// O10
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_path_is_shown_as_github_has_it() {
    let mut rig = rig("").await;
    rig.serve().await;
    let url = format!("http://{}/elsewhere", rig.receiver);
    rig.world.configure(rig.hook, |hook| hook.url.clone_from(&url));
    deliver(&mut rig).await;
    let report = Report::both(&rig).await;
    assert_eq!((report.code, report.result("webhook_url")), (1, "warn"));
    assert!(report.detail("webhook_url").starts_with(&url), "{}", report.detail("webhook_url"));
    assert_eq!(report.result("webhook_reachable"), "fail");
    assert!(report.detail("webhook_reachable").contains("404"));
    assert_eq!(report.result("attempts"), "fail");
    assert!(report.detail("attempts").contains("the newest with 404"));
    let run = rig.run(&["doctor"]).await;
    assert!(line(&run, "webhook_reachable").starts_with("fail"), "{}", run.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_github_has_otherwise_than_it_should_be_is_told() {
    let rig = served("").await;
    rig.world.configure(rig.hook, |hook| {
        hook.content_type = ContentType::Form;
        hook.secret = String::new().into();
        hook.insecure_ssl = true;
        hook.url = hook.url.replace("http:", "https:");
    });
    let report = Report::both(&rig).await;
    assert_eq!(report.result("webhook_content_type"), "warn");
    assert_eq!(report.detail("webhook_content_type"), "form");
    assert_eq!(report.result("webhook_secret"), "fail");
    assert_eq!(report.result("webhook_tls"), "warn");
    assert!(report.detail("webhook_tls").contains("insecure_ssl"));
    // Nobody speaks TLS there, though the newest attempt came through.
    assert_eq!(report.result("webhook_reachable"), "warn");
    assert_eq!(report.code, 1);

    rig.world.configure(rig.hook, |hook| hook.url.clear());
    let report = Report::both(&rig).await;
    assert_eq!(report.result("webhook_url"), "fail");
    assert_eq!(report.result("webhook_reachable"), "unknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_without_deliveries_may_be_switched_off_and_that_is_not_known() {
    let mut rig = rig("").await;
    rig.serve().await;
    let report = Report::both(&rig).await;
    assert_eq!(report.result("webhook_active"), "unknown");
    assert!(report.advice("webhook_active").contains("Active"));
    assert_eq!(report.result("attempts"), "unknown");
    assert_eq!(report.code, 0, "{:#?}", report.checks);
    rig.world.faults(|faults| faults.sender = Sending::FailToConnect);
    deliver(&mut rig).await;
    let report = Report::both(&rig).await;
    assert_eq!((report.result("webhook_active"), report.result("attempts")), ("pass", "fail"));
}

/// A3
#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_another_app_is_exit_code_four_with_the_likely_cause() {
    let rig = rig("").await;
    let other = AppKey::generate().unwrap();
    fs::write(rig.dir.path().join("app.pem"), other.private_pem().expose_secret()).unwrap();
    let report = Report::both(&rig).await;
    assert_eq!(report.code, 4);
    assert_eq!(report.result("key"), "fail");
    let advice = report.advice("key");
    assert!(advice.contains("the private key does not belong to app 4242"), "{advice}");
    // A wrong clock is a likely cause, and the refusal carries GitHub's time.
    assert_eq!(report.result("clock"), "pass");
    for name in AT_GITHUB.into_iter().filter(|name| !["clock", "key"].contains(name)) {
        assert_eq!(report.result(name), "unknown", "{name}");
    }
    rig.world.faults(|faults| faults.clock_skew = TimeDelta::minutes(-20));
    let report = Report::both(&rig).await;
    assert_eq!((report.code, report.result("clock"), report.result("key")), (4, "fail", "fail"));
    assert!(report.detail("clock").ends_with(" s ahead of GitHub's"), "{}", report.detail("clock"));
    rig.world.faults(|faults| faults.clock_skew = TimeDelta::zero());
    let run = rig.run(&["doctor"]).await;
    assert_eq!(run.code, 4);
    assert!(line(&run, "key").starts_with("fail"), "{}", run.stdout);
    assert!(!run.stdout.contains("PRIVATE KEY"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_one_thing_only_is_exit_code_four_too() {
    let mut rig = served("").await;
    rig.edit_config("schedule = \"* * * * * *\"", "schedule = \"0 0 0 1 1 *\"");
    rig.kill();
    rig.serve().await;
    for (status, code) in [(401, 4), (403, 4), (404, 1)] {
        let answer = Answer::Status(status);
        rig.world.faults(|faults| {
            faults.api.pages = vec![PageFault { page: 1, times: u32::MAX, answer }];
        });
        let report = Report::of(&rig).await;
        assert_eq!((report.code, report.result("attempts")), (code, "fail"), "{status}");
        assert!(report.detail("attempts").contains(&status.to_string()), "{status}");
        assert_eq!(report.result("webhook_active"), "unknown", "{status}");
        for name in ["key", "webhook_url", "webhook_reachable"] {
            assert_eq!(report.result(name), "pass", "{status}: {name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_of_long_ago_does_not_show_that_the_webhook_is_switched_on() {
    let mut rig = rig("").await;
    rig.world.faults(|faults| faults.clock_skew = TimeDelta::hours(-2));
    deliver(&mut rig).await;
    rig.world.faults(|faults| faults.clock_skew = TimeDelta::zero());
    let report = Report::both(&rig).await;
    assert_eq!(report.result("webhook_active"), "unknown");
    let detail = report.detail("webhook_active");
    assert!(detail.starts_with("GitHub last sent something 72"), "{detail}");
    assert!(detail.contains("does not tell"), "{detail}");
}

/// A1
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_clock_is_measured() {
    let rig = rig("").await;
    rig.world.faults(|faults| faults.clock_skew = TimeDelta::minutes(20));
    let report = Report::both(&rig).await;
    let detail = report.detail("clock");
    assert!(report.result("clock") == "fail" && detail.ends_with(" s behind GitHub's"), "{detail}");
    let seconds: i64 = detail.split(' ').next().unwrap().parse().unwrap();
    assert!((1195..=1205).contains(&seconds), "{seconds}");
    rig.world.faults(|faults| faults.clock_skew = TimeDelta::seconds(-30));
    let report = Report::both(&rig).await;
    assert_eq!((report.result("clock"), report.result("key")), ("warn", "pass"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_github_that_does_not_answer_leaves_everything_about_it_unknown() {
    let rig = served("").await;
    let all_unknown = async |why: &str| {
        let report = Report::of(&rig).await;
        for name in AT_GITHUB {
            assert_eq!(report.result(name), "unknown", "{why}: {name}");
        }
        assert_eq!(report.code, 0, "{why}: {:#?}", report.checks);
        assert_eq!(report.result("database"), "pass", "{why}");
        report.detail("key").to_owned()
    };
    rig.world.faults(|faults| faults.api.all = Some(Answer::Status(503)));
    assert!(all_unknown("503").await.contains("503"));
    rig.world.faults(|faults| faults.api.all = Some(Answer::Drop));
    all_unknown("dropped").await;
    let (status, retry_after) = (429, Some(60));
    rig.world.faults(|faults| {
        faults.api.all = Some(Answer::SecondaryLimit { status, retry_after });
    });
    assert!(all_unknown("limit").await.contains("rate limit"));
    rig.edit_config(&rig.github.base_url, &format!("http://{}", free_address()));
    assert!(all_unknown("nobody").await.contains("unavailable"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_a_sweep_met_is_kept() {
    let rig = rig("").await;
    let (status, retry_after) = (429, Some(60));
    rig.world.faults(|faults| {
        faults.api.all = Some(Answer::SecondaryLimit { status, retry_after });
    });
    assert_eq!(rig.run(&["sweep"]).await.code, 1);
    rig.world.faults(|faults| faults.api.all = None);
    let calls = rig.world.counters().api_calls;
    let report = Report::of(&rig).await;
    assert_eq!(rig.world.counters().api_calls, calls);
    for name in AT_GITHUB {
        assert_eq!(report.result(name), "unknown", "{name}");
    }
    assert!(report.detail("key").starts_with("GitHub's rate limit is reached until 20"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_answers_in_the_place_of_github_fails_as_such() {
    let rig = rig("").await;
    rig.world.faults(|faults| faults.api.all = Some(Answer::WebPage));
    let report = Report::both(&rig).await;
    assert_eq!((report.code, report.result("key")), (1, "fail"));
    assert!(report.detail("key").contains("an HTML page"), "{}", report.detail("key"));
    assert!(report.advice("key").contains("api_url"));
}
