//! Which request gets which answer, and what is recorded of it.

use redeliverd::domain::{
    delivery::Via,
    filter::{EventPattern, Filter},
};
use serde_json::json;

use super::{
    post::{GUID, Post, said, sha1},
    rig::{Rig, SECRET, hooks, now, settings},
};

const BODY: &str =
    r#"{"action":"queued","installation":{"id":9007199254740993},"repository":{"id":7}}"#;

fn delivery() -> Post {
    Post::new(GUID, "workflow_job", BODY)
}

#[tokio::test]
async fn a_new_delivery_is_accepted_and_its_facts_are_recorded() {
    let rig = Rig::new().await;
    let reply = delivery().send(&rig).await;
    assert_eq!(reply.words(), said(202, "accepted"));
    assert_eq!(reply.header("content-type"), Some("application/json"));

    let stored = rig.receipt("ci", GUID).await.unwrap();
    let arrival = &stored.arrival;
    assert_eq!(arrival.event.as_str(), "workflow_job");
    assert_eq!(arrival.action.as_deref(), Some("queued"));
    assert_eq!(arrival.installation_id, Some(9_007_199_254_740_993));
    assert_eq!(arrival.repository_id, Some(7));
    assert_eq!(arrival.via, Via::Delivery);
    assert_eq!(arrival.received_at, now());
    assert!(arrival.wanted);
    assert_eq!((stored.arrivals, stored.conflicts), (1, 0));
    assert_eq!(rig.count(r#"redeliverd_received_total{hook="ci",result="accepted"}"#), Some(1));
    assert_eq!(rig.count(r#"redeliverd_secret_matches_total{hook="ci",slot="0"}"#), Some(1));
    assert_eq!(rig.count(r#"redeliverd_ack_seconds_count{hook="ci"}"#), Some(1));
}

#[tokio::test]
async fn the_head_is_judged_in_the_order_of_the_table() {
    let rig = Rig::new().await;
    // Each request has this fault and all that come after it in the table.
    let unsigned = delivery().without("X-Hub-Signature-256");
    let no_event = unsigned.clone().without("X-GitHub-Event");
    let no_guid = no_event.clone().without("X-GitHub-Delivery");
    let plain = no_guid.clone().set("Content-Type", "text/plain");
    let get = plain.clone().method("PUT");
    let lost = get.clone().to("/elsewhere");
    for (post, expected) in [
        (lost, said(404, "not_found")),
        (get, said(405, "method_not_allowed")),
        (plain, said(415, "unsupported_media_type")),
        (no_guid, said(400, "header")),
        (no_event, said(400, "header")),
        (unsigned, said(401, "signature")),
    ] {
        assert_eq!(post.send(&rig).await.words(), expected);
    }
    assert!(rig.receipt("ci", GUID).await.is_none());
    let unknown = r#"redeliverd_received_total{hook="unknown",result="unknown_path"}"#;
    assert_eq!(rig.count(unknown), Some(1));
}

#[tokio::test]
async fn a_wrong_method_learns_the_right_one() {
    let rig = Rig::new().await;
    for method in ["GET", "DELETE", "OPTIONS"] {
        let reply = delivery().method(method).send(&rig).await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")), "{method}");
    }
}

#[tokio::test]
async fn a_bad_header_is_named() {
    let rig = Rig::new().await;
    let long = "a".repeat(129);
    for (post, name) in [
        (delivery().without("X-GitHub-Delivery"), "X-GitHub-Delivery"),
        (delivery().set("X-GitHub-Delivery", ""), "X-GitHub-Delivery"),
        (delivery().set("X-GitHub-Delivery", "a b"), "X-GitHub-Delivery"),
        (delivery().set("X-GitHub-Delivery", &long), "X-GitHub-Delivery"),
        (delivery().and("X-GitHub-Delivery", GUID), "X-GitHub-Delivery"),
        (delivery().set("X-GitHub-Event", "push/../x"), "X-GitHub-Event"),
        (delivery().and("X-GitHub-Event", "push"), "X-GitHub-Event"),
    ] {
        let reply = post.send(&rig).await;
        assert_eq!(reply.status, 400);
        assert_eq!(reply.json(), json!({ "error": "header", "header": name }));
    }
    // Any sane token is a key; GitHub promises no form.
    let longest = "Az09._-".repeat(18) + "ab";
    let odd = Post::new(&longest, "push", BODY).send(&rig).await;
    assert_eq!(odd.words(), said(202, "accepted"));
    assert!(rig.receipt("ci", &longest).await.is_some());
}

#[tokio::test]
async fn a_body_encoded_on_the_way_is_refused() {
    let rig = Rig::new().await;
    let gzip = delivery().set("Content-Encoding", "gzip").send(&rig).await;
    assert_eq!(gzip.words(), said(415, "unsupported_media_type"));
    let plain = delivery().set("Content-Encoding", "identity").send(&rig).await;
    assert_eq!(plain.words(), said(202, "accepted"));
}

/// R22
#[tokio::test]
async fn an_unverified_request_leaves_a_counter_and_nothing_else() {
    let rig = Rig::new().await;
    for post in [
        delivery().signed_with("another secret"),
        delivery().set("X-Hub-Signature-256", "sha256=00"),
        delivery()
            .without("X-Hub-Signature-256")
            .set("X-Hub-Signature", &sha1(SECRET, BODY.as_bytes())),
    ] {
        assert_eq!(post.send(&rig).await.words(), said(401, "signature"));
    }
    assert!(rig.receipt("ci", GUID).await.is_none());
    assert_eq!(rig.count(r#"redeliverd_signature_failures_total{hook="ci"}"#), Some(3));
    assert_eq!(rig.count(r#"redeliverd_received_total{hook="ci",result="signature"}"#), Some(3));
    // Nor does the forgery spoil the real one.
    assert_eq!(delivery().send(&rig).await.words(), said(202, "accepted"));
}

#[tokio::test]
async fn sha_1_is_enough_only_where_the_hook_allows_it() {
    let mut hooks = hooks();
    hooks[0].allow_sha1 = true;
    let rig = Rig::with(settings(), &hooks).await;
    let old = delivery()
        .without("X-Hub-Signature-256")
        .set("X-Hub-Signature", &sha1(SECRET, BODY.as_bytes()));
    assert_eq!(old.clone().to("/org").send(&rig).await.words(), said(401, "signature"));
    assert_eq!(old.send(&rig).await.words(), said(202, "accepted"));
}

#[tokio::test]
async fn the_same_delivery_again_is_a_duplicate_and_other_bytes_a_conflict() {
    let rig = Rig::new().await;
    assert_eq!(delivery().send(&rig).await.words(), said(202, "accepted"));
    assert_eq!(delivery().send(&rig).await.words(), said(200, "duplicate"));
    let other = Post::new(GUID, "workflow_job", r#"{"action":"forged"}"#);
    assert_eq!(other.send(&rig).await.words(), said(200, "conflict"));
    let stored = rig.receipt("ci", GUID).await.unwrap();
    assert_eq!(stored.arrival.body, BODY.as_bytes());
    assert_eq!((stored.arrivals, stored.conflicts), (3, 1));
}

/// R13, R15
#[tokio::test]
async fn a_ping_is_answered_recorded_and_not_handed_over() {
    let rig = Rig::new().await;
    let ping = Post::new(GUID, "ping", r#"{"zen":"Keep it logically awesome.","hook_id":1}"#);
    assert_eq!(ping.send(&rig).await.words(), said(202, "pong"));
    assert!(!rig.receipt("ci", GUID).await.unwrap().arrival.wanted);
    assert_eq!(ping.send(&rig).await.words(), said(200, "duplicate"));
}

/// R16
#[tokio::test]
async fn a_filtered_event_is_recorded_and_ignored() {
    let mut hooks = hooks();
    let star = EventPattern { event: "star".to_owned(), action: Some("deleted".to_owned()) };
    hooks[0].policy.filter =
        Filter { exclude: vec![star], repositories: [7].into(), ..Filter::default() };
    let rig = Rig::with(settings(), &hooks).await;
    let send = async |guid: &str, event: &str, body: &str| {
        Post::new(guid, event, body).send(&rig).await.words()
    };
    let ours = r#"{"action":"created","repository":{"id":7}}"#;
    let deleted = r#"{"action":"deleted","repository":{"id":7}}"#;
    let foreign = r#"{"action":"created","repository":{"id":8}}"#;
    assert_eq!(send("a", "star", ours).await, said(202, "accepted"));
    assert_eq!(send("b", "star", deleted).await, said(202, "ignored"));
    assert_eq!(send("c", "star", foreign).await, said(202, "ignored"));
    assert!(!rig.receipt("ci", "b").await.unwrap().arrival.wanted);
    // What cannot be read is wanted: nothing is lost by a parser.
    assert_eq!(send("d", "push", "{broken").await, said(202, "accepted"));
}

/// D1, R40
#[tokio::test]
async fn one_guid_on_two_hooks_is_two_deliveries() {
    let rig = Rig::new().await;
    assert_eq!(delivery().send(&rig).await.words(), said(202, "accepted"));
    assert_eq!(delivery().to("/org").send(&rig).await.words(), said(202, "accepted"));
    assert!(rig.receipt("ci", GUID).await.is_some());
    assert!(rig.receipt("org", GUID).await.is_some());
}

/// R33, R34
#[tokio::test]
async fn a_secret_is_rotated_without_losing_a_delivery() {
    let mut hooks = hooks();
    let rig = Rig::with(settings(), &hooks).await;
    hooks[0].secrets.insert(0, "the new one".into());
    rig.receiver.reload(&hooks);
    let new = Post::new("new", "push", BODY).signed_with("the new one");
    assert_eq!(new.send(&rig).await.words(), said(202, "accepted"));
    let old = Post::new("old", "push", BODY);
    assert_eq!(old.send(&rig).await.words(), said(202, "accepted"));
    assert_eq!(rig.count(r#"redeliverd_secret_matches_total{hook="ci",slot="0"}"#), Some(1));
    assert_eq!(rig.count(r#"redeliverd_secret_matches_total{hook="ci",slot="1"}"#), Some(1));

    hooks[0].secrets.truncate(1);
    rig.receiver.reload(&hooks);
    let late = Post::new("late", "push", BODY);
    assert_eq!(late.send(&rig).await.words(), said(401, "signature"));
}

/// R1, D13
#[tokio::test]
async fn a_store_that_cannot_commit_is_unavailable() {
    let rig = Rig::new().await;
    rig.store.close().await;
    let reply = delivery().send(&rig).await;
    assert_eq!(reply.words(), said(503, "unavailable"));
    let retry_after: u32 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!(retry_after > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_hundred_parallel_posts_of_one_guid_exactly_one_is_accepted() {
    let rig = std::sync::Arc::new(Rig::new().await);
    let posts: Vec<_> = (0..200)
        .map(|_| {
            let rig = std::sync::Arc::clone(&rig);
            tokio::spawn(async move { delivery().send(&rig).await.words() })
        })
        .collect();
    let mut words = Vec::new();
    for post in posts {
        words.push(post.await.unwrap());
    }
    words.sort();
    assert_eq!(words.pop(), Some(said(202, "accepted")));
    assert_eq!(words, vec![said(200, "duplicate"); 199]);
    assert_eq!(rig.receipt("ci", GUID).await.unwrap().arrivals, 200);
}
