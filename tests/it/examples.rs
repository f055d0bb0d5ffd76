//! GitHub's real payload examples, signed by GitHub's own library, through the program that ships.

use std::{collections::BTreeSet, fs, process::Command};

use base64::{Engine, prelude::BASE64_STANDARD};
use redeliverd::{
    config::{self, Env},
    domain::ids::{Guid, HookName},
    store::Store,
};
use serde_json::Value;

use crate::support::daemon::Rig;

/// One example: event, exact bytes, signature.
fn examples(secret: &str) -> Vec<(String, Vec<u8>, String)> {
    let output = Command::new("node")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["tests/npm/sign.mjs", secret])
        .output()
        .expect("node is installed: `make setup`");
    assert!(output.status.success(), "`make setup` first: {output:?}");
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| {
            let example: Value = serde_json::from_str(line).unwrap();
            let text = |key: &str| example[key].as_str().unwrap().to_owned();
            (text("event"), BASE64_STANDARD.decode(text("body")).unwrap(), text("signature"))
        })
        .collect()
}

/// R18, R21, R23: every event type with a signature is accepted and comes out byte for byte.
#[tokio::test(flavor = "multi_thread")]
async fn every_example_of_githubs_payloads_arrives_byte_for_byte() {
    let mut rig = Rig::new("").await;
    rig.serve().await;
    let secret = fs::read_to_string(rig.dir.path().join("webhook.secret")).unwrap();
    let examples = examples(&secret);
    let types: BTreeSet<_> = examples.iter().map(|(event, ..)| event.clone()).collect();
    assert!(examples.len() > 300 && types.len() > 50, "{} of {}", examples.len(), types.len());

    let http = reqwest::Client::new();
    let url = format!("http://{}/webhook", rig.receiver);
    for (n, (event, body, signature)) in examples.iter().enumerate() {
        let answer = http
            .post(&url)
            .header("content-type", "application/json")
            .header("x-github-event", event)
            .header("x-github-delivery", format!("example-{n}"))
            .header("x-hub-signature-256", signature)
            .body(body.clone())
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 202, "{event}: {}", answer.text().await.unwrap());
    }

    let text = fs::read_to_string(rig.config()).unwrap();
    let config = config::from_str(&text, rig.dir.path(), &Env::default()).unwrap().config;
    let store = Store::open(&config.database).await.unwrap();
    let hook = HookName::new("demo").unwrap();
    for (n, (event, body, signature)) in examples.iter().enumerate() {
        let guid = Guid::new(&format!("example-{n}")).unwrap();
        let stored = store.receipt(&hook, &guid).await.unwrap().expect("a receipt");
        assert_eq!(stored.arrival.event.as_str(), event);
        assert!(stored.arrival.body == *body, "{event} came out with other bytes");
        let kept = stored.arrival.headers.iter().find(|(name, _)| name == "x-hub-signature-256");
        assert_eq!(kept.map(|(_, value)| value), Some(signature));
    }
}
