//! What must stand in no log line and in no file.

use std::{
    fs, io,
    sync::{Arc, Mutex},
};

use super::rig::{ACCEPTED, Post, Rig, SECRET};

/// All lines of this thread, also those below debug.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// O34, R41: whatever a request carries beside the payload stays where it is.
#[tokio::test]
async fn a_leaked_secret_and_a_query_string_are_neither_logged_nor_stored() {
    const LEAKED: &str = "SXQncyBhIFNlY3JldA";
    const QUERY: &str = "in-the-query-string";
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    // One thread runs the whole test, so this one sees all.
    let _guard = tracing::subscriber::set_default(subscriber);
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
    let log = lines.0.lock().unwrap().clone();
    let stored = [fs::read(&file).unwrap(), fs::read(format!("{file}-wal")).unwrap()].concat();
    let holds = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(holds(&log, "delivery received"), "the log is looked at");
    assert!(holds(&stored, "GitHub-Hookshot"), "the file is looked at");
    for word in [LEAKED, QUERY, SECRET] {
        assert!(!holds(&log, word), "{word} is in the log");
        assert!(!holds(&stored, word), "{word} is in the database");
    }
}
