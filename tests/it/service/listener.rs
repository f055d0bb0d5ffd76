//! The admin listener against those who send too much, too slowly or nonsense, and those who come
//! from elsewhere.

use std::{
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    time::Duration,
};

use serde_json::Value;

use super::manager::Manager;
use crate::support::daemon::Rig;

const TOKEN: &str = "the admin token of a test";

/// The status and the JSON of the answer to a POST.
async fn post(rig: &Rig, path: &str, token: &str, kind: &str, body: Vec<u8>) -> (u16, Value) {
    let url = format!("http://{}/api/v1{path}", rig.admin);
    let request = reqwest::Client::new().post(url).bearer_auth(token).body(body);
    let answer = request.header("content-type", kind).send().await.unwrap();
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    let json = serde_json::from_str(&text);
    (status, json.unwrap_or_else(|_| panic!("{status} with no JSON: {text:?}")))
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_changes_something_shows_the_token_first_and_is_answered_in_json() {
    let mut rig = Rig::new("").await;
    rig.serve().await;
    let (json, form) = ("application/json", "application/x-www-form-urlencoded");
    let large = vec![b' '; 65 * 1024];
    for path in ["/sweeps", "/receipts", "/deliveries/demo/a-guid/dismiss"] {
        for (kind, body, expected) in [
            (form, b"hook=demo".to_vec(), 415),
            (json, b"{\"hook\": ".to_vec(), 400),
            (json, b"{\"surprise\": 1}".to_vec(), 400),
            (json, large.clone(), 413),
            (form, large.clone(), 413),
        ] {
            let (code, refused) = post(&rig, path, "wrong", kind, body.clone()).await;
            assert_eq!(code, 401, "{path} {kind} {expected}");
            assert!(refused["error"].is_string(), "{refused}");
            let (code, refused) = post(&rig, path, TOKEN, kind, body).await;
            assert_eq!(code, expected, "{path} {kind} {refused}");
            assert!(refused["error"].is_string(), "{refused}");
        }
    }
    let (code, refused) = post(&rig, "/sweeps", TOKEN, json, large).await;
    assert_eq!((code, refused["error"].as_str()), (413, Some("payload_too_large")));
    assert_eq!(post(&rig, "/status", TOKEN, json, Vec::new()).await.0, 405);
    assert_eq!(post(&rig, "/nowhere", TOKEN, json, Vec::new()).await.0, 404);
    let (code, refused) = rig.get("/api/v1/deliveries?colour=red").await.unwrap();
    assert!(code == 400 && refused["error"].is_string(), "{code} {refused}");
    // An absent body asks for everything, whatever its content type.
    let (code, swept) = post(&rig, "/sweeps", TOKEN, form, Vec::new()).await;
    assert_eq!((code, &swept["sweeps"][0]["complete"]), (200, &true.into()), "{swept}");
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_that_are_too_large_or_too_slow_end_their_connection_and_no_other() {
    let mut rig = Rig::new("").await;
    rig.serve().await;
    // More than there are places: the oldest go, and whoever asks something is served.
    let mut slow: Vec<_> = (0..70).map(|_| TcpStream::connect(rig.admin).unwrap()).collect();
    for stream in &mut slow {
        // One that had to go may be closed already.
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: te");
    }
    let mut stream = TcpStream::connect(rig.admin).unwrap();
    let long = "x".repeat(200_000);
    // It may close before all is written.
    let _ = stream.write_all(
        format!("GET /healthz HTTP/1.1\r\nHost: test\r\nX-Long: {long}\r\n\r\n").as_bytes(),
    );
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(rig.get("/healthz").await.unwrap().0, 200);
    for mut stream in slow {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut answer = Vec::new();
        if let Err(error) = stream.read_to_end(&mut answer) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "closed within half a minute");
        }
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    }
    assert_eq!(rig.get("/healthz").await.unwrap().0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_do_not_come_keep_nobody_out() {
    let mut rig = Rig::new("").await;
    rig.serve().await;
    // More than there are places, each with a whole head, and no token where none is asked for.
    let waiting: Vec<_> = (0..70)
        .map(|_| {
            let mut stream = TcpStream::connect(rig.admin).unwrap();
            let head = "GET /healthz HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n";
            // One that had to go may be closed already.
            let _ = stream.write_all(head.as_bytes());
            stream
        })
        .collect();
    for _ in 0..10 {
        assert_eq!(rig.get("/healthz").await.expect("a place").0, 200);
    }
    drop(waiting);
}

/// What counts is the socket that came, not the address in the file.
#[tokio::test(flavor = "multi_thread")]
async fn on_an_inherited_socket_beyond_loopback_reading_needs_the_token_too() {
    let mut rig = Rig::new("").await;
    let manager = Manager::new(&rig);
    let admin = TcpListener::bind(("0.0.0.0", rig.admin.port())).unwrap();
    rig.spawn(manager.command(&rig, None, Some(&admin)));
    manager.until("READY=1").await;
    assert_eq!(rig.get("/healthz").await.unwrap().0, 200);
    for path in ["/status", "/sweeps", "/deliveries", "/dead"] {
        let url = format!("http://{}/api/v1{path}", rig.admin);
        assert_eq!(reqwest::get(&url).await.unwrap().status(), 401, "{path}");
        let asked = reqwest::Client::new().get(url).bearer_auth(TOKEN);
        assert_eq!(asked.send().await.unwrap().status(), 200, "{path}");
    }
}
