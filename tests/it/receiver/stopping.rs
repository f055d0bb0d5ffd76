//! Clients that go away, and a receiver that is told to stop.

use std::time::Duration;

use tokio::{io::AsyncWriteExt, net::TcpStream, time::timeout};

use super::{
    post::{GUID, Post, reply, said, try_reply},
    rig::Rig,
};

/// Long enough for anything that is not stuck.
const PATIENCE: Duration = Duration::from_secs(20);

async fn eventually_received(rig: &Rig, guid: &str) {
    let received = async {
        while rig.receipt("ci", guid).await.is_none() {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, received).await.expect("it is recorded");
}

/// R7, W12
#[tokio::test]
async fn a_client_that_hangs_up_early_does_not_undo_the_commit() {
    let rig = Rig::new().await;
    let mut stream = rig.connect().await;
    stream.write_all(&Post::new(GUID, "push", "{}").bytes()).await.unwrap();
    drop(stream);
    eventually_received(&rig, GUID).await;

    let mut stream = rig.connect().await;
    stream.write_all(&Post::new("reset", "push", "{}").bytes()).await.unwrap();
    stream.set_zero_linger().unwrap();
    drop(stream);
    // A reset may overtake the request; then the delivery failed, and the next one is as good.
    assert!(matches!(Post::new("reset", "push", "{}").send(&rig).await.status, 200 | 202));
}

#[tokio::test]
async fn a_client_that_is_done_with_sending_still_gets_its_answer() {
    let rig = Rig::new().await;
    let mut stream = rig.connect().await;
    stream.write_all(&Post::new(GUID, "push", "{}").bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(reply(&mut stream).await.words(), said(202, "accepted"));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_recorded() {
    let rig = Rig::new().await;
    let post = Post::new(GUID, "push", "{}");
    let mut stream = rig.connect().await;
    stream.write_all(&post.head("Content-Length: 3\r\n")).await.unwrap();
    stream.write_all(b"{}").await.unwrap();
    stream.shutdown().await.unwrap();
    let answer = try_reply(&mut stream).await;
    assert!(answer.is_none_or(|answer| answer.status == 400));
    assert!(rig.receipt("ci", GUID).await.is_none());
}

/// O26, R43
#[tokio::test]
async fn told_to_stop_it_finishes_the_request_in_hand() {
    let rig = Rig::new().await;
    let post = Post::new(GUID, "push", "{}");
    let mut idle = rig.connect().await;
    idle.write_all(&Post::new("before", "push", "{}").bytes()).await.unwrap();
    assert_eq!(reply(&mut idle).await.status, 202);
    let mut busy = rig.connect().await;
    busy.write_all(&post.head("Content-Length: 2\r\n")).await.unwrap();
    // A connection that the kernel has completed, and whose request is on its way.
    let mut queued = rig.connect().await;
    queued.write_all(&Post::new("queued", "push", "{}").bytes()).await.unwrap();

    rig.soft.cancel();
    assert_eq!(reply(&mut queued).await.words(), said(202, "accepted"));
    assert!(try_reply(&mut idle).await.is_none(), "an idle connection ends");
    assert!(!rig.served.is_finished());
    busy.write_all(b"{}").await.unwrap();
    assert_eq!(reply(&mut busy).await.words(), said(202, "accepted"));

    timeout(PATIENCE, rig.served).await.expect("it ends").unwrap();
    assert!(TcpStream::connect(rig.address).await.is_err());
}

#[tokio::test]
async fn told_to_stop_at_once_it_drops_the_request_in_hand() {
    let rig = Rig::new().await;
    let post = Post::new(GUID, "push", "{}");
    let mut busy = rig.connect().await;
    busy.write_all(&post.head("Content-Length: 2\r\n")).await.unwrap();
    rig.soft.cancel();
    rig.hard.cancel();
    timeout(PATIENCE, rig.served).await.expect("it ends").unwrap();
    assert!(try_reply(&mut busy).await.is_none());
}
