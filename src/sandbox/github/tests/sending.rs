//! What is sent, and what is written down about it.

use std::{collections::HashMap, time::Duration};

use chrono::TimeDelta;

use super::{
    super::{ContentType, Event, Post, Sending, Settings, TimeOutForm, signature},
    Receiver, SECRET, Stage, event, setup,
};

#[test]
fn the_signature_matches_githubs_published_vector() {
    assert_eq!(
        signature::sha256(SECRET, b"Hello, World!"),
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    );
}

#[tokio::test]
async fn a_delivery_carries_githubs_headers_and_exactly_its_bytes() {
    let stage = Stage::new().await;
    let payload = "{\"odd\":  \"\\u0000 🚀\u{2028}\"}".as_bytes();
    let event = Event { payload: payload.into(), ..event("check_run") };
    let guid = stage.world.emit(stage.hook, event).await;
    let (headers, body) = stage.receiver.got().pop().unwrap();
    assert_eq!(body, payload);
    let header = |name: &str| headers.get(name).unwrap().to_str().unwrap();
    assert_eq!(header("x-github-delivery"), guid);
    assert_eq!(guid.len(), 36);
    assert_eq!(header("x-github-event"), "check_run");
    assert_eq!(header("x-github-hook-installation-target-type"), "integration");
    assert_eq!(header("x-github-hook-installation-target-id"), "4242");
    assert!(header("x-github-hook-id").parse::<u64>().is_ok());
    assert!(header("user-agent").starts_with("GitHub-Hookshot/"));
    assert_eq!(header("accept"), "*/*");
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("x-hub-signature-256"), signature::sha256(SECRET, payload));
    assert_eq!(header("x-hub-signature").len(), "sha1=".len() + 40);
    assert!(!headers.contains_key("x-github-encoded-secret"));
}

#[tokio::test]
async fn a_form_hook_signs_the_encoded_body() {
    // R24
    let stage = Stage::new().await;
    stage.world.configure(stage.hook, |config| config.content_type = ContentType::Form);
    let event = event("push");
    stage.world.emit(stage.hook, event.clone()).await;
    let (headers, body) = stage.receiver.got().pop().unwrap();
    assert_eq!(headers["content-type"], "application/x-www-form-urlencoded");
    assert_eq!(headers["x-hub-signature-256"].to_str().unwrap(), signature::sha256(SECRET, &body));
    let fields: HashMap<_, _> = form_urlencoded::parse(&body).into_owned().collect();
    assert_eq!(fields["payload"].as_bytes(), event.payload);
    assert_eq!(fields.len(), 1);
}

#[tokio::test]
async fn what_the_receiver_answers_is_written_down_in_githubs_words() {
    let stage = Stage::new().await;
    stage.receiver.codes.lock().unwrap().extend([200, 202, 503, 302, 401]);
    for _ in 0..5 {
        stage.world.emit(stage.hook, event("push")).await;
    }
    let log: Vec<_> =
        stage.world.attempts(stage.hook).into_iter().rev().map(|a| (a.status, a.code)).collect();
    let expected = [
        ("OK", 200),
        ("OK", 202),
        ("Invalid HTTP Response: 503", 503),
        ("Invalid HTTP Response: 302", 302),
        ("Invalid HTTP Response: 401", 401),
    ];
    assert_eq!(log, expected.map(|(text, code)| (text.to_owned(), Some(code))));
}

#[tokio::test]
async fn nobody_there_is_a_502_and_nothing_was_posted() {
    let stage = Stage::new().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    stage.world.configure(stage.hook, |config| config.url = format!("http://{free}/webhook"));
    let guid = stage.world.emit(stage.hook, event("push")).await;
    let row = stage.world.attempts(stage.hook).remove(0);
    assert_eq!((row.status.as_str(), row.code), ("failed to connect to host", Some(502)));
    assert!(stage.world.posts(&guid).is_empty());
}

#[tokio::test]
async fn a_receiver_slower_than_the_limit_has_timed_out_in_both_forms() {
    let limit = Duration::from_millis(100);
    let stage = Stage::with(Settings { time_limit: limit, ..Settings::cloud() }).await;
    *stage.receiver.delay.lock().unwrap() = Duration::from_mins(1);
    let guid = stage.world.emit(stage.hook, event("push")).await;
    stage.world.faults(|f| f.time_out_form = TimeOutForm::GivingUp);
    stage.world.emit(stage.hook, event("push")).await;
    let log = stage.world.attempts(stage.hook);
    assert_eq!((log[1].status.as_str(), log[1].code), ("timed out", Some(504)));
    let url = &log[0].url;
    assert_eq!(
        log[0].status,
        format!(
            "POST {url} giving up after 1 attempt(s): Post \"{url}\": context deadline exceeded \
             (Client.Timeout exceeded while awaiting headers)"
        )
    );
    assert_eq!(log[0].code, Some(500));
    assert_eq!(stage.world.posts(&guid)[0].answer, None);
}

#[tokio::test]
async fn a_dropped_connection_is_a_500_that_ends_in_eof() {
    let stage = Stage::new().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/webhook", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            drop(listener.accept().await);
        }
    });
    stage.world.configure(stage.hook, |config| config.url = url);
    stage.world.emit(stage.hook, event("push")).await;
    let row = stage.world.attempts(stage.hook).remove(0);
    assert!(row.status.ends_with("EOF"), "{}", row.status);
    assert_eq!(row.code, Some(500));
}

#[tokio::test]
async fn the_log_can_lie_in_both_directions() {
    // W12, W18
    let stage = Stage::new().await;
    let late = Sending::TimeOut { after_delivering: true };
    let timed_out = stage.world.emit_as(stage.hook, event("push"), late).await;
    let swallowed = stage.world.emit_as(stage.hook, event("push"), Sending::Swallow).await;
    let log = stage.world.attempts(stage.hook);
    assert_eq!((log[1].code, log[1].duration), (Some(504), 5.0));
    assert_eq!((log[0].code, log[0].status.as_str()), (Some(200), "OK"));
    assert!(stage.world.received_ok(&timed_out));
    assert!(!stage.world.received_ok(&swallowed));
    assert_eq!(stage.receiver.got().len(), 1);
}

#[tokio::test]
async fn faults_of_a_guid_go_before_the_next_ones_and_those_before_the_general_one() {
    let stage = Stage::new().await;
    stage.world.faults(|f| {
        f.sender = Sending::Answer(502);
        f.sender_next.push_back(Sending::Answer(503));
    });
    let guid = stage.world.emit(stage.hook, event("push")).await;
    stage.world.emit(stage.hook, event("push")).await;
    stage.world.faults(|f| f.sender_by_guid.insert(guid, Sending::Deliver));
    let oldest = stage.world.attempts(stage.hook).last().unwrap().id;
    assert_eq!(stage.redeliver(oldest).await.status(), 202);
    stage.world.settled().await;
    let codes: Vec<_> = stage.world.attempts(stage.hook).iter().rev().map(|a| a.code).collect();
    assert_eq!(codes, [Some(503), Some(502), Some(202)]);
}

#[tokio::test]
async fn one_event_reaches_two_hooks_under_one_guid() {
    // D1
    let stage = Stage::new().await;
    let second = Receiver::default();
    let other = stage.world.add_hook(setup("bot", 77, &second.start().await));
    let guid = stage.world.emit_to_all(&[stage.hook, other], event("push")).await;
    assert_eq!(stage.world.attempts(stage.hook)[0].guid, guid);
    assert_eq!(stage.world.attempts(other)[0].guid, guid);
    assert_ne!(stage.world.attempts(stage.hook)[0].id, stage.world.attempts(other)[0].id);
    assert_eq!((stage.receiver.got().len(), second.got().len()), (1, 1));
    assert_eq!(stage.world.posts(&guid).len(), 2);
}

#[tokio::test]
async fn the_enterprise_server_names_itself_and_the_leak_of_2025_can_be_had() {
    let stage = Stage::with(Settings::enterprise()).await;
    stage.world.faults(|f| f.leak_secret = true);
    let guid = stage.world.emit(stage.hook, event("push")).await;
    let (headers, _) = stage.receiver.got().pop().unwrap();
    assert!(headers.contains_key("x-github-enterprise-host"));
    assert!(headers.contains_key("x-github-enterprise-version"));
    assert!(headers.contains_key("x-github-encoded-secret"));
    assert!(stage.github.base_url.ends_with("/api/v3"));
    assert_eq!(stage.rows("/app/hook/deliveries").await[0]["guid"], guid);
    stage.clock.advance(TimeDelta::days(6));
    assert_eq!(stage.rows("/app/hook/deliveries").await.len(), 1);
}

#[tokio::test]
async fn posts_tell_attempt_kind_and_answer() {
    let stage = Stage::new().await;
    stage.receiver.codes.lock().unwrap().push_back(500);
    let guid = stage.world.emit(stage.hook, event("push")).await;
    let attempt = stage.newest_id();
    assert_eq!(stage.world.posts(&guid), [Post { attempt, redelivery: false, answer: Some(500) }]);
    assert!(!stage.world.received_ok(&guid));
}
