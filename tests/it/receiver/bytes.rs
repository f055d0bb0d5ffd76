//! Bytes come out as they went in, and nothing that must not be kept is kept or told.

use std::{
    io,
    sync::{Arc, Mutex},
};

use tokio::io::AsyncWriteExt;
use tracing_subscriber::fmt::MakeWriter;

use super::{
    post::{GUID, Post, reply, said},
    rig::Rig,
};

/// R18, R19, R21, R23, R36
#[tokio::test]
async fn any_bytes_with_a_valid_signature_are_stored_unchanged() {
    let rig = Rig::new().await;
    let bodies: [&[u8]; 9] = [
        "{\"message\":\"Fix 🐛 in naïve\u{2028}café\"}".as_bytes(),
        br#"{"message":"\ud83d\udc1b \u2028 \u00e9"}"#,
        br#"{"diff":"a\u0000b","action":"x\u0000"}"#,
        b"{\"raw\":\"a\0b\"}",
        b"\n\t {  \"a\" :1 , \"a\":2.50e+01 }\r\n",
        b"{\"id\":3800000000000000123,\"f\":1.0000000000000000001}",
        b"\xff\xfe not text",
        b"[]",
        b"",
    ];
    for (number, body) in bodies.into_iter().enumerate() {
        let guid = format!("guid-{number}");
        let post = Post::new(&guid, "an_event_of_next_year", body);
        assert_eq!(post.send(&rig).await.words(), said(202, "accepted"), "{number}");
        let stored = rig.receipt("ci", &guid).await.unwrap();
        assert_eq!(stored.arrival.body, body, "{number}");
        assert_eq!(stored.arrival.event.as_str(), "an_event_of_next_year");
    }
}

/// The published example (GITHUB.md section 5).
#[tokio::test]
async fn githubs_own_example_is_accepted() {
    let rig = Rig::new().await;
    let post = Post::new(GUID, "push", "Hello, World!").set(
        "X-Hub-Signature-256",
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    );
    assert_eq!(post.send(&rig).await.words(), said(202, "accepted"));
}

/// R24
#[tokio::test]
async fn a_form_is_verified_and_stored_as_sent_and_indexed_by_its_payload() {
    let rig = Rig::new().await;
    let body = "payload=%7B%22action%22%3A%22opened%22%2C+%22repository%22%3A%7B%22id%22%3A7%7D%7D";
    let post =
        Post::new(GUID, "issues", body).set("Content-Type", "application/x-www-form-urlencoded");
    assert_eq!(post.send(&rig).await.words(), said(202, "accepted"));
    let arrival = rig.receipt("ci", GUID).await.unwrap().arrival;
    assert_eq!(arrival.body, body);
    assert_eq!((arrival.action.as_deref(), arrival.repository_id), (Some("opened"), Some(7)));
    let content_type = arrival.headers.iter().find(|(name, _)| name == "content-type").unwrap();
    assert_eq!(content_type.1, "application/x-www-form-urlencoded");
}

#[tokio::test]
async fn a_chunked_body_is_one_body() {
    let rig = Rig::new().await;
    let body = format!(r#"{{"action":"opened","text":"{}"}}"#, "long ".repeat(20_000));
    let post = Post::new(GUID, "issues", body.clone());
    let mut stream = rig.connect().await;
    stream.write_all(&post.chunked(777)).await.unwrap();
    assert_eq!(reply(&mut stream).await.words(), said(202, "accepted"));
    assert_eq!(rig.receipt("ci", GUID).await.unwrap().arrival.body, body);
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let rig = Rig::new().await;
    let mut stream = rig.connect().await;
    for guid in ["a", "b", "c"] {
        let post = Post::new(guid, "push", "{}");
        stream.write_all(&post.bytes()).await.unwrap();
        assert_eq!(reply(&mut stream).await.words(), said(202, "accepted"));
        // A refusal does not end it either.
        let lost = Post::new(guid, "push", "{\"some\":\"body\"}").to("/elsewhere");
        stream.write_all(&lost.bytes()).await.unwrap();
        assert_eq!(reply(&mut stream).await.words(), said(404, "not_found"));
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// O34, R41, O38: on one thread, so that the subscriber of the test sees every line.
#[tokio::test]
async fn neither_store_nor_log_keeps_what_is_secret() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let rig = Rig::new().await;
    let post = Post::new(GUID, "push", r#"{"in":"body-marker"}"#)
        .to("/webhook?secret=query-marker")
        .and("X-Github-Encoded-Secret", "encoded-marker")
        .and("Authorization", "Bearer auth-marker")
        .and("Cookie", "session=cookie-marker")
        .and("X-Unknown", "unknown-marker")
        .and("X-GitHub-Hook-ID", "55");
    assert_eq!(post.send(&rig).await.words(), said(202, "accepted"));
    let conflict = Post::new(GUID, "push", r#"{"other":"body-marker"}"#);
    assert_eq!(conflict.send(&rig).await.words(), said(200, "conflict"));
    let forged = post.signed_with("another").send(&rig).await;
    assert_eq!(forged.words(), said(401, "signature"));

    let headers = rig.receipt("ci", GUID).await.unwrap().arrival.headers;
    let names: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "content-type",
        "user-agent",
        "x-github-delivery",
        "x-github-event",
        "x-github-hook-id",
        "x-hub-signature-256",
    ];
    assert_eq!(names, expected);

    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains(GUID), "the log is read: {text}");
    assert!(text.contains("other bytes"), "the conflict is told: {text}");
    assert!(text.contains("valid signature"), "the forgery is told: {text}");
    assert!(!text.contains("marker"), "{text}");
    assert!(!text.contains("sha256="), "{text}");
}
