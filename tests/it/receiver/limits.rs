//! Sizes, times and crowds.

use std::time::Duration;

use tokio::{io::AsyncWriteExt, net::TcpStream, task::JoinSet};

use super::rig::{ACCEPTED, Answer, Post, Rig, SECRET, hook, settings};

const TOO_LARGE: (u16, &str) = (413, r#"{"error":"payload_too_large"}"#);

async fn small(change: impl FnOnce(&mut redeliverd::config::Receiver)) -> Rig {
    let mut settings = settings();
    change(&mut settings);
    Rig::with(&settings, &[hook("ci", "/webhook", &[SECRET])]).await
}

// R9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn githubs_largest_body_is_taken_and_a_larger_one_gets_a_whole_answer() {
    let rig = Rig::new().await;
    let mut large = br#"{"action":"opened","pad":""#.to_vec();
    large.resize(24_900_000 - 2, b'x');
    large.extend_from_slice(b"\"}");
    let post = Post::new("large", "push", large);
    assert_eq!(rig.send(&post).await.told(), ACCEPTED);
    let stored = rig.receipt("ci", "large").await.unwrap();
    assert!(stored.arrival.body == post.body, "other bytes came out");
    assert_eq!(stored.body_size, 24_900_000);
    assert_eq!(stored.arrival.action.as_deref(), Some("opened"));

    let post = Post::new("huge", "push", vec![b' '; 30_000_000]);
    assert_eq!(rig.send(&post).await.told(), TOO_LARGE);
    assert!(rig.receipt("ci", "huge").await.is_none());
}

#[tokio::test]
async fn a_body_of_undeclared_length_is_counted() {
    let rig = small(|settings| settings.max_body = 1000).await;
    let exact = Post::new("exact", "push", vec![b' '; 1000]);
    assert_eq!(rig.raw(&exact.chunked(300)).await.told(), ACCEPTED);
    let more = Post::new("more", "push", vec![b' '; 1001]);
    assert_eq!(rig.raw(&more.chunked(300)).await.told(), TOO_LARGE);
    assert_eq!(rig.raw(&more.bytes()).await.told(), TOO_LARGE);
}

#[tokio::test]
async fn no_room_for_another_body_is_a_503() {
    let rig = small(|settings| settings.max_bodies_in_flight = 1000).await;
    let answer = rig.send(&Post::new("a", "push", vec![b' '; 1001])).await;
    assert_eq!(answer.told(), (503, r#"{"error":"unavailable"}"#));
    assert_eq!(answer.header("retry-after"), Some("5"));
    assert_eq!(rig.send(&Post::new("a", "push", vec![b' '; 1000])).await.told(), ACCEPTED);
}

#[tokio::test]
async fn a_slow_head_is_closed_and_a_slow_body_is_told_so() {
    let rig = small(|settings| {
        settings.head_timeout = Duration::from_millis(50);
        settings.body_timeout = Duration::from_millis(50);
    })
    .await;
    let post = Post::new("a", "push", "{}");
    let mut stream = TcpStream::connect(rig.address).await.unwrap();
    stream.write_all(post.head().as_bytes()).await.unwrap();
    assert_eq!(Answer::read(&mut stream).await.status, 0);

    let mut stream = TcpStream::connect(rig.address).await.unwrap();
    let bytes = post.bytes();
    stream.write_all(&bytes[..bytes.len() - 1]).await.unwrap();
    let answer = Answer::read(&mut stream).await;
    assert_eq!(answer.told(), (408, r#"{"error":"timeout"}"#));
    assert!(rig.receipt("ci", "a").await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_arrivals_of_one_guid_exactly_one_is_the_first() {
    let rig = Rig::new().await;
    let bytes = Post::new("a", "push", "{}").bytes();
    let mut posts = JoinSet::new();
    for _ in 0..200 {
        let (address, bytes) = (rig.address, bytes.clone());
        posts.spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
            Answer::read(&mut stream).await
        });
    }
    let answers = posts.join_all().await;
    let count = |wanted| answers.iter().filter(|answer| answer.told() == wanted).count();
    assert_eq!((count(ACCEPTED), count((200, r#"{"status":"duplicate"}"#))), (1, 199));
    assert_eq!(rig.receipt("ci", "a").await.unwrap().arrivals, 200);
}
