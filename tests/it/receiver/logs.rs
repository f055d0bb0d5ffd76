//! What must stand in no log line and in no file.

use std::fs;

use aws_lc_rs::hmac;

use super::rig::{ACCEPTED, Post, Rig, SECRET};
use crate::support::daemon;

const LEAKED: &str = "SXQncyBhIFNlY3JldA";
const QUERY: &str = "in-the-query-string";

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// O34, R41: whatever a request carries beside the payload stays where it is.
#[tokio::test]
async fn a_leaked_secret_and_a_query_string_are_not_stored() {
    let rig = Rig::new().await;
    let post = Post::new("a", "push", "{}")
        .header("X-Github-Encoded-Secret", LEAKED)
        .to(&format!("/webhook?secret={QUERY}"));
    assert_eq!(rig.send(&post).await.told(), ACCEPTED);
    assert_eq!(rig.send(&post.clone().signed("wrong")).await.status, 401);
    assert_eq!(rig.send(&post.to(&format!("/x?secret={QUERY}"))).await.status, 404);

    let kept: Vec<_> = rig.receipt("ci", "a").await.unwrap().arrival.headers;
    let names: Vec<_> = kept.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "content-type",
            "user-agent",
            "x-github-delivery",
            "x-github-event",
            "x-hub-signature-256"
        ]
    );
    let file = rig.backend.url().strip_prefix("sqlite:").unwrap().to_owned();
    let stored = [fs::read(&file).unwrap(), fs::read(format!("{file}-wal")).unwrap()].concat();
    assert!(holds(&stored, "GitHub-Hookshot"), "the file is looked at");
    for word in [LEAKED, QUERY, SECRET] {
        assert!(!holds(&stored, word), "{word} is in the database");
    }
}

/// The same in the log of the program that ships, which logs all it can here.
#[tokio::test(flavor = "multi_thread")]
async fn a_leaked_secret_and_a_query_string_are_not_logged() {
    let mut rig = daemon::Rig::new("").await;
    rig.serve().await;
    let secret = fs::read(rig.dir.path().join("webhook.secret")).unwrap();
    let http = reqwest::Client::new();
    for (path, secret, expected) in [
        ("webhook", secret.as_slice(), 202),
        ("webhook", b"wrong".as_slice(), 401),
        ("x", secret.as_slice(), 404),
    ] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let signature = hex::encode(hmac::sign(&key, b"{}"));
        let answer = http
            .post(format!("http://{}/{path}?secret={QUERY}", rig.receiver))
            .header("content-type", "application/json")
            .header("x-github-event", "push")
            .header("x-github-delivery", "a")
            .header("x-github-encoded-secret", LEAKED)
            .header("x-hub-signature-256", format!("sha256={signature}"))
            .body("{}")
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), expected, "{path}");
    }
    rig.eventually("the log is looked at", async |rig| rig.log().contains("delivery received"))
        .await;
    assert_eq!(rig.terminate().await, Some(0));
    let log = rig.log();
    for word in [LEAKED, QUERY] {
        assert!(!log.contains(word), "{word} is in the log");
    }
}
