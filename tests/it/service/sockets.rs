//! Sockets that the manager passes: a restart refuses no connection.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use aws_lc_rs::hmac;

use super::manager::Manager;
use crate::support::daemon::Rig;

/// One signed delivery on a connection of its own; the first line of the answer.
fn deliver(address: SocketAddr, key: &hmac::Key, guid: &str) -> std::io::Result<String> {
    const BODY: &str = r#"{"zen":"Keep it logically awesome."}"#;
    let signature = hex::encode(hmac::sign(key, BODY.as_bytes()));
    let request = format!(
        "POST /webhook HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nX-GitHub-Event: push\r\n\
         X-GitHub-Delivery: {guid}\r\nX-Hub-Signature-256: sha256={signature}\r\n\r\n{BODY}",
        BODY.len()
    );
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

/// D12, O25: systemd holds the socket; what comes while nobody runs waits in the kernel.
#[tokio::test(flavor = "multi_thread")]
async fn restarts_under_load_refuse_no_connection() {
    let mut rig = Rig::new("").await;
    let manager = Manager::new(&rig);
    let receiver = TcpListener::bind(rig.receiver).unwrap();
    let admin = TcpListener::bind(rig.admin).unwrap();
    let secret = fs::read(rig.dir.path().join("webhook.secret")).unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
    rig.spawn(manager.command(&rig, Some(&receiver), Some(&admin)));
    rig.ready().await;

    let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let address = rig.receiver;
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let (stop, answered, key) = (Arc::clone(&stop), Arc::clone(&answered), key.clone());
            thread::spawn(move || {
                for nth in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let answer = deliver(address, &key, &format!("client-{client}-{nth}"));
                    let answer = answer.expect("no connection is refused or reset");
                    assert_eq!(answer, "HTTP/1.1 202 Accepted");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for _ in 0..3 {
        assert_eq!(rig.terminate().await, Some(0));
        let before = answered.load(Ordering::Relaxed);
        rig.spawn(manager.command(&rig, Some(&receiver), Some(&admin)));
        rig.ready().await;
        rig.eventually("requests are answered again", async |_| {
            answered.load(Ordering::Relaxed) > before + 40
        })
        .await;
    }
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().expect("every client was served to the end");
    }
    assert_eq!(rig.log().matches("redeliverd serves").count(), 4);
    // What was acknowledged is there.
    let all = sqlx::SqlitePool::connect(&format!(
        "sqlite:{}",
        rig.dir.path().join("redeliverd.db").display()
    ))
    .await
    .unwrap();
    let stored: i64 =
        sqlx::query_scalar("SELECT COUNT(*) FROM receipts").fetch_one(&all).await.unwrap();
    assert_eq!(stored, i64::from(answered.load(Ordering::Relaxed)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_arrives_while_nobody_runs_is_taken_in_by_the_next_process() {
    let mut rig = Rig::new("").await;
    let manager = Manager::new(&rig);
    let receiver = TcpListener::bind(rig.receiver).unwrap();
    let event = rig.next_event();
    let guid = rig.world.emit_in_background(&[rig.hook], event);
    rig.spawn(manager.command(&rig, Some(&receiver), None));
    rig.world.settled().await;
    assert_eq!(rig.world.posts(&guid)[0].answer, Some(202));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_name_among_several_sockets_is_refused_by_name() {
    let mut rig = Rig::new("").await;
    let manager = Manager::new(&rig);
    let receiver = TcpListener::bind(rig.receiver).unwrap();
    let admin = TcpListener::bind(rig.admin).unwrap();
    let mut command = manager.command(&rig, Some(&receiver), Some(&admin));
    command.env("LISTEN_FDNAMES", "receiver:metrics");
    rig.spawn(command);
    assert_eq!(rig.wait().await, Some(1));
    assert!(rig.log().contains("FileDescriptorName must be receiver or admin"), "{}", rig.log());
}
