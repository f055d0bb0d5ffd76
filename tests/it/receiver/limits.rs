//! Sizes, times and room.

use std::time::Duration;

use redeliverd::config;
use tokio::{io::AsyncWriteExt, time::Instant};

use super::{
    post::{GUID, Post, reply, said, try_reply},
    rig::{Rig, hooks, settings},
};

const SHORT: Duration = Duration::from_millis(200);

async fn small() -> Rig {
    Rig::with(config::Receiver { max_body: 1_000, ..settings() }, &hooks()).await
}

/// R9, R12
#[tokio::test(flavor = "multi_thread")]
async fn the_largest_payload_of_github_is_taken_and_a_larger_one_gets_a_whole_answer() {
    let rig = Rig::new().await;
    let large = vec![b'x'; 26_214_400];
    let post = Post::new(GUID, "push", large.clone());
    assert_eq!(post.send(&rig).await.words(), said(202, "accepted"));
    assert_eq!(rig.receipt("ci", GUID).await.unwrap().body_size, 26_214_400);
    drop(post);

    // The client sends all of it before it looks for an answer.
    let too_large = Post::new("b", "push", vec![b'x'; 30_000_000]);
    let answer = too_large.send(&rig).await;
    assert_eq!(answer.words(), said(413, "payload_too_large"));
    assert!(rig.receipt("ci", "b").await.is_none());
}

#[tokio::test]
async fn a_declared_length_over_the_limit_is_refused_before_a_byte_of_it() {
    let rig = small().await;
    let post = Post::new(GUID, "push", "");
    for length in ["1001", "9223372036854775807"] {
        let mut stream = rig.connect().await;
        stream.write_all(&post.head(&format!("Content-Length: {length}\r\n"))).await.unwrap();
        let answer = reply(&mut stream).await;
        assert_eq!(answer.words(), said(413, "payload_too_large"), "{length}");
        assert_eq!(answer.header("connection"), Some("close"));
    }
}

#[tokio::test]
async fn a_client_that_asks_before_sending_is_not_invited_to() {
    let rig = small().await;
    let post = Post::new(GUID, "push", "").set("Expect", "100-continue");
    let mut stream = rig.connect().await;
    stream.write_all(&post.head("Content-Length: 2000\r\n")).await.unwrap();
    assert_eq!(reply(&mut stream).await.words(), said(413, "payload_too_large"));

    let post = Post::new(GUID, "push", "{}").set("Expect", "100-continue");
    let mut stream = rig.connect().await;
    stream.write_all(&post.head("Content-Length: 2\r\n")).await.unwrap();
    assert_eq!(reply(&mut stream).await.status, 100);
    stream.write_all(b"{}").await.unwrap();
    assert_eq!(reply(&mut stream).await.words(), said(202, "accepted"));
}

#[tokio::test]
async fn a_chunked_body_is_counted() {
    let rig = small().await;
    for (size, expected) in
        [(1_000, said(202, "accepted")), (1_001, said(413, "payload_too_large"))]
    {
        let post = Post::new(GUID, "push", vec![b'x'; size]);
        let mut stream = rig.connect().await;
        stream.write_all(&post.chunked(300)).await.unwrap();
        assert_eq!(reply(&mut stream).await.words(), expected);
    }
    // Without an end, and far beyond the limit: the answer comes, and comes whole.
    let post = Post::new(GUID, "push", "");
    let mut stream = rig.connect().await;
    stream.write_all(&post.head("Transfer-Encoding: chunked\r\n")).await.unwrap();
    for _ in 0..200 {
        stream.write_all(format!("1000\r\n{}\r\n", "x".repeat(4096)).as_bytes()).await.unwrap();
    }
    assert_eq!(reply(&mut stream).await.words(), said(413, "payload_too_large"));
}

#[tokio::test]
async fn an_over_large_body_is_refused_before_its_signature_is_missed() {
    let rig = small().await;
    let post = Post::new(GUID, "push", vec![b'x'; 1_001]).without("X-Hub-Signature-256");
    assert_eq!(post.send(&rig).await.words(), said(413, "payload_too_large"));
}

#[tokio::test]
async fn a_slow_body_times_out_with_an_answer() {
    let rig = Rig::with(config::Receiver { body_timeout: SHORT, ..settings() }, &hooks()).await;
    let post = Post::new(GUID, "push", "{}");
    let mut stream = rig.connect().await;
    let started = Instant::now();
    stream.write_all(&post.head("Content-Length: 2\r\n")).await.unwrap();
    stream.write_all(b"{").await.unwrap();
    let answer = reply(&mut stream).await;
    assert_eq!(answer.words(), said(408, "timeout"));
    assert!(started.elapsed() >= SHORT);
    assert!(try_reply(&mut stream).await.is_none(), "the connection ends");
    assert!(rig.receipt("ci", GUID).await.is_none());
}

#[tokio::test]
async fn a_slow_head_is_closed() {
    let rig = Rig::with(config::Receiver { head_timeout: SHORT, ..settings() }, &hooks()).await;
    for start in ["", "POST /webhook HTTP/1.1\r\nX-GitHub-Del"] {
        let mut stream = rig.connect().await;
        stream.write_all(start.as_bytes()).await.unwrap();
        let answer = try_reply(&mut stream).await;
        assert!(answer.is_none_or(|answer| answer.status == 408), "{start}");
    }
}

#[tokio::test]
async fn without_room_a_body_is_refused_at_once_and_the_room_comes_back() {
    let tight = config::Receiver { max_bodies_in_flight: 1_000, ..settings() };
    let rig = Rig::with(tight, &hooks()).await;
    // 700 bytes stay in memory as long as their body is unfinished.
    let half = Post::new("held", "push", vec![b'x'; 900]);
    let mut holder = rig.connect().await;
    holder.write_all(&half.head("Content-Length: 900\r\n")).await.unwrap();
    holder.write_all(&half.body[..700]).await.unwrap();
    let answer = loop {
        let answer = Post::new(GUID, "push", vec![b'x'; 400]).send(&rig).await;
        if answer.status != 202 && answer.status != 200 {
            break answer;
        }
        // The 700 bytes have not been read yet.
        tokio::task::yield_now().await;
    };
    assert_eq!(answer.words(), said(503, "unavailable"));
    assert!(answer.header("retry-after").is_some());
    // A small one still fits beside it.
    assert_eq!(Post::new("small", "push", "{}").send(&rig).await.words(), said(202, "accepted"));

    holder.write_all(&half.body[700..]).await.unwrap();
    assert_eq!(reply(&mut holder).await.words(), said(202, "accepted"));
    let again = Post::new("later", "push", vec![b'x'; 400]).send(&rig).await;
    assert_eq!(again.words(), said(202, "accepted"));
}

#[tokio::test]
async fn clients_that_only_announce_a_body_keep_nobody_out() {
    let rig = Rig::new().await;
    let mut greedy = Vec::new();
    for _ in 0..40 {
        let mut stream = rig.connect().await;
        let post = Post::new(GUID, "push", "");
        stream.write_all(&post.head("Content-Length: 26214400\r\n")).await.unwrap();
        greedy.push(stream);
    }
    assert_eq!(Post::new(GUID, "push", "{}").send(&rig).await.words(), said(202, "accepted"));
}
