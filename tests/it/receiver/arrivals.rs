//! What is taken in, under which hook, and that it comes out byte for byte.

use std::fs;

use redeliverd::{
    config::{self, Env},
    sandbox::story::write_app,
};

use super::rig::{ACCEPTED, Post, Rig, SECRET, hook, settings};
use crate::support::backends::{Backend, on_both};

on_both! { every_byte_of_a_body_comes_out_as_sent }

// R18, R19, R21, R36
async fn every_byte_of_a_body_comes_out_as_sent(backend: Backend) {
    let rig = Rig::on(backend, &settings(), &[hook("ci", "/webhook", &[SECRET])]).await;
    let bodies: [&[u8]; 6] = [
        "{\"m\":\"\u{1f680} n\u{e4}h \u{2028}\"}".as_bytes(),
        br#"{"m":"\ud83d\ude80 n\u00e4h \u2028"}"#,
        br#"{"diff":"a\u0000b", "action" : "opened\u0000"}"#,
        b"{\"raw\":\"\0\"}",
        b"  { \"never_seen\" : [ 1e400, { } ] }\r\n",
        b"\xff\xfe no text at all",
    ];
    for (n, body) in bodies.into_iter().enumerate() {
        let guid = format!("body-{n}");
        let post = Post::new(&guid, "an_event_of_next_year", body);
        assert_eq!(rig.send(&post).await.told(), ACCEPTED, "{n}");
        let stored = rig.receipt("ci", &guid).await.unwrap().arrival;
        assert_eq!(stored.body, body, "{n}");
        assert_eq!(stored.event.as_str(), "an_event_of_next_year");
    }
}

// R24
#[tokio::test]
async fn a_form_is_verified_as_sent_and_its_payload_indexed() {
    let rig = Rig::new().await;
    let form = "payload=%7B%22action%22%3A%22opened%22%2C%22installation%22%3A%7B%22id%22%3A7%7D\
                %2C%22repository%22%3A%7B%22id%22%3A9%7D%7D";
    let post = Post::new("form", "issues", form)
        .header("Content-Type", "application/x-www-form-urlencoded");
    assert_eq!(rig.send(&post).await.told(), ACCEPTED);
    let stored = rig.receipt("ci", "form").await.unwrap().arrival;
    assert_eq!(stored.body, form);
    assert_eq!(stored.action.as_deref(), Some("opened"));
    assert_eq!((stored.installation_id, stored.repository_id), (Some(7), Some(9)));
}

// R33, R34
#[tokio::test]
async fn both_secrets_of_a_rotation_work_until_the_old_one_is_removed() {
    let both = hook("ci", "/webhook", &["the new one", "the old one"]);
    let rig = Rig::with(&settings(), &[both]).await;
    let post = |guid: &str, secret: &str| Post::new(guid, "push", "{}").signed(secret);
    for (guid, secret) in [("a", "the new one"), ("b", "the old one"), ("c", "the old one")] {
        assert_eq!(rig.send(&post(guid, secret)).await.told(), ACCEPTED);
    }
    let text = rig.metrics.render().unwrap();
    for (slot, count) in [(0, 1), (1, 2)] {
        let line =
            format!("redeliverd_secret_matches_total{{hook=\"ci\",slot=\"{slot}\"}} {count}\n");
        assert!(text.contains(&line), "{line} in {text}");
    }
    rig.receiver.reload(&[hook("ci", "/webhook", &["the new one"])]);
    assert_eq!(rig.send(&post("d", "the old one")).await.status, 401);
    assert_eq!(rig.send(&post("d", "the new one")).await.told(), ACCEPTED);
}

// R40, D1
#[tokio::test]
async fn one_guid_on_two_hooks_is_two_events() {
    let hooks = [hook("app", "/app", &[SECRET]), hook("org", "/org", &["another secret"])];
    let rig = Rig::with(&settings(), &hooks).await;
    let app = Post::new("same", "push", r#"{"installation":{"id":1}}"#).to("/app");
    let org = Post::new("same", "push", "{}").signed("another secret").to("/org");
    assert_eq!(rig.send(&app).await.told(), ACCEPTED);
    assert_eq!(rig.send(&org).await.told(), ACCEPTED);
    // A secret is good for its own hook only.
    assert_eq!(rig.send(&app.clone().to("/org")).await.status, 401);
    for (hook, post) in [("app", app), ("org", org)] {
        let stored = rig.receipt(hook, "same").await.unwrap();
        assert_eq!((stored.arrival.body.as_ref(), stored.arrivals), (post.body.as_slice(), 1));
    }
}

// R25
#[tokio::test]
async fn a_line_break_at_the_end_of_a_secret_file_is_no_part_of_the_secret() {
    let dir = tempfile::tempdir().unwrap();
    let app = write_app(dir.path(), "http://127.0.0.1/webhook".to_owned()).unwrap();
    fs::write(dir.path().join("webhook.secret"), "inner  spaces\r\n").unwrap();
    let config = config::from_str(&app.entry, dir.path(), &Env::default()).unwrap().config;
    let rig = Rig::with(&settings(), &config.hooks).await;
    let post = Post::new("a", "push", "{}");
    assert_eq!(rig.send(&post.clone().signed("inner spaces")).await.status, 401);
    assert_eq!(rig.send(&post.signed("inner  spaces")).await.told(), ACCEPTED);
}
