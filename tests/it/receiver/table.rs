//! SPEC section 7, row by row: status and JSON body.

use sqlx::{AssertSqlSafe, Connection, Executor, SqliteConnection};

use super::rig::{ACCEPTED, Post, Rig, SECRET, hook, settings};
use redeliverd::domain::filter::{EventPattern, Filter};

fn push(guid: &str) -> Post {
    Post::new(guid, "push", r#"{"ref":"refs/heads/main"}"#)
}

#[tokio::test]
async fn a_head_that_is_none_of_githubs_is_refused_by_its_first_fault() {
    let rig = Rig::new().await;
    let guid = r#"{"error":"header","header":"X-GitHub-Delivery"}"#;
    let event = r#"{"error":"header","header":"X-GitHub-Event"}"#;
    let content_type = r#"{"error":"unsupported_media_type"}"#;
    let cases = [
        (push("a").to("/elsewhere"), 404, r#"{"error":"not_found"}"#),
        (push("a").to("/webhook/"), 404, r#"{"error":"not_found"}"#),
        (Post { method: "GET", ..push("a") }, 405, r#"{"error":"method_not_allowed"}"#),
        (Post { method: "PUT", ..push("a") }, 405, r#"{"error":"method_not_allowed"}"#),
        // R24
        (push("a").header("Content-Type", "text/plain"), 415, content_type),
        (push("a").without("Content-Type"), 415, content_type),
        (push("a").without("X-GitHub-Delivery"), 400, guid),
        (push("a").header("X-GitHub-Delivery", "a/b"), 400, guid),
        (push(&"a".repeat(129)), 400, guid),
        (push("a").without("X-GitHub-Event"), 400, event),
        (push("a").header("X-GitHub-Event", "pu sh"), 400, event),
    ];
    for (n, (post, status, body)) in cases.iter().enumerate() {
        let answer = rig.send(post).await;
        assert_eq!(answer.told(), (*status, *body), "case {n}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.header("allow"), (*status == 405).then_some("post"));
    }
    assert!(rig.receipt("ci", "a").await.is_none());
    assert_eq!(rig.send(&push(&"a".repeat(128))).await.told(), ACCEPTED);
}

#[tokio::test]
async fn only_a_signature_by_a_configured_secret_gets_in() {
    let rig = Rig::new().await;
    let refused = (401, r#"{"error":"signature"}"#);
    let other_body = Post { body: b"{}".to_vec(), ..push("a") };
    for post in [
        push("a").without("X-Hub-Signature-256"),
        push("a").signed("another secret"),
        push("a").header("X-Hub-Signature-256", "sha256=00"),
        other_body,
        // A secret in the query is none.
        push("a").without("X-Hub-Signature-256").to("/webhook?secret=x"),
    ] {
        assert_eq!(rig.send(&post).await.told(), refused);
    }
    assert!(rig.receipt("ci", "a").await.is_none(), "nothing unverified is recorded");
    // GITHUB.md section 5: GitHub's published vector.
    let vector = Post::new("vector", "push", "Hello, World!").header(
        "X-Hub-Signature-256",
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    );
    assert_eq!(rig.send(&vector).await.told(), ACCEPTED);
}

#[tokio::test]
async fn arrivals_are_new_known_or_in_conflict() {
    let rig = Rig::new().await;
    assert_eq!(rig.send(&push("a")).await.told(), ACCEPTED);
    assert_eq!(rig.send(&push("a")).await.told(), (200, r#"{"status":"duplicate"}"#));
    let other = Post::new("a", "push", "{}");
    assert_eq!(rig.send(&other).await.told(), (200, r#"{"status":"conflict"}"#));
    let kept = rig.receipt("ci", "a").await.unwrap();
    assert_eq!(kept.arrival.body, r#"{"ref":"refs/heads/main"}"#);
    assert_eq!((kept.arrivals, kept.conflicts), (3, 1));
}

// R13, R15, R16
#[tokio::test]
async fn pings_and_filtered_events_are_recorded_and_not_wanted() {
    let mut ci = hook("ci", "/webhook", &[SECRET]);
    ci.policy.filter = Filter {
        exclude: vec![EventPattern {
            event: "check_run".to_owned(),
            action: Some("created".to_owned()),
        }],
        ..Filter::default()
    };
    let rig = Rig::with(&settings(), &[ci]).await;
    let ping = Post::new("ping", "ping", r#"{"zen":"Keep it logically awesome.","hook_id":1}"#);
    assert_eq!(rig.send(&ping).await.told(), (202, r#"{"status":"pong"}"#));
    let created = Post::new("created", "check_run", r#"{"action":"created"}"#);
    assert_eq!(rig.send(&created).await.told(), (202, r#"{"status":"ignored"}"#));
    let completed = Post::new("completed", "check_run", r#"{"action":"completed"}"#);
    assert_eq!(rig.send(&completed).await.told(), ACCEPTED);
    for (guid, wanted) in [("ping", false), ("created", false), ("completed", true)] {
        assert_eq!(rig.receipt("ci", guid).await.unwrap().arrival.wanted, wanted, "{guid}");
    }
}

// R1
#[tokio::test]
async fn a_store_that_cannot_commit_is_a_503_until_it_can() {
    let rig = Rig::new().await;
    let mut other = SqliteConnection::connect(rig.backend.url()).await.unwrap();
    let mut rename = async |from: &str, to: &str| {
        let sql = AssertSqlSafe(format!("ALTER TABLE {from} RENAME TO {to}"));
        other.execute(sql).await.unwrap();
    };
    rename("receipts", "hidden").await;
    let answer = rig.send(&push("a")).await;
    assert_eq!(answer.told(), (503, r#"{"error":"unavailable"}"#));
    assert_eq!(answer.header("retry-after"), Some("5"));
    rename("hidden", "receipts").await;
    assert_eq!(rig.send(&push("a")).await.told(), ACCEPTED);
}
