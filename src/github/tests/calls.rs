//! The three verbs against a scripted server: what is sent, how often, and what comes back.

use std::time::Duration;

use chrono::TimeDelta;

use super::{
    attempt, client, client_with, noon,
    server::{Reply, Server, reply},
    timing,
};
use crate::github::{Failure, GitHubError, PageRef, transport::Timing};

const ROW: &str = r#"{"id":17,"guid":"0b989ba4-242f","delivered_at":"2026-11-30T11:59:00Z","redelivery":false,
  "duration":0.2,"status":"OK","status_code":200,"event":"issues","action":"opened","installation_id":1,"repository_id":2}"#;

fn page_of(rows: &[&str]) -> String {
    format!("[{}]", rows.join(","))
}

// A13
#[tokio::test]
async fn every_page_of_another_host_gets_the_token_and_the_base_path_stays() {
    let server = Server::start(|origin| {
        let next = format!(
            "<{origin}/api/v3/repositories/9/hooks/1/deliveries?per_page=100&cursor=v1_123%3D>; rel=\"next\""
        );
        vec![
            reply(200, &[("Link", &next)], &page_of(&[ROW])),
            reply(200, &[], &page_of(&[ROW, ROW])),
        ]
    })
    .await;
    let client = client(&format!("{}/api/v3", server.origin));
    let first = client.list_attempts(&PageRef::Head).await.unwrap();
    let second = client.list_attempts(&PageRef::Link(first.next.unwrap())).await.unwrap();
    assert_eq!((first.rows.len(), second.rows.len(), second.next), (1, 2, None));
    assert_eq!(
        server.lines(),
        [
            "GET /api/v3/app/hook/deliveries?per_page=100",
            "GET /api/v3/repositories/9/hooks/1/deliveries?per_page=100&cursor=v1_123%3D",
        ]
    );
    for asked in server.asked() {
        let authorization = asked.all("authorization");
        assert_eq!(authorization.len(), 1);
        assert!(authorization[0].starts_with("Bearer eyJ"));
        assert_eq!(asked.all("accept"), ["application/vnd.github+json"]);
        assert_eq!(asked.all("x-github-api-version"), ["2022-11-28"]);
        assert_eq!(asked.all("user-agent"), [concat!("redeliverd/", env!("CARGO_PKG_VERSION"))]);
    }
}

#[tokio::test]
async fn a_foreign_link_keeps_its_page_and_is_never_requested() {
    let elsewhere = Server::start(|_| vec![]).await;
    let link = format!("<{}/app/hook/deliveries?cursor=secret>; rel=\"next\"", elsewhere.origin);
    let server = Server::start(|_| vec![reply(200, &[("Link", &link)], &page_of(&[ROW]))]).await;
    let client = client(&server.origin);
    let page = client.list_attempts(&PageRef::Head).await.unwrap();
    assert_eq!(page.rows.len(), 1);
    let error = client.list_attempts(&PageRef::Link(page.next.unwrap())).await.unwrap_err().error;
    assert_eq!(
        error,
        GitHubError::ForeignLink { link: format!("{}/app/hook/deliveries", elsewhere.origin) }
    );
    assert_eq!((elsewhere.asked().len(), server.asked().len()), (0, 1));
}

// L10
#[tokio::test]
async fn a_repeated_link_is_given_unchanged_so_that_the_loop_can_be_seen() {
    let link = "</app/hook/deliveries?cursor=v1_9>; rel=\"next\"";
    let server = Server::start(|_| {
        vec![
            reply(200, &[("Link", link)], &page_of(&[ROW])),
            reply(200, &[("Link", link)], &page_of(&[ROW])),
        ]
    })
    .await;
    let client = client(&server.origin);
    let first = client.list_attempts(&PageRef::Head).await.unwrap().next.unwrap();
    let second = client.list_attempts(&PageRef::Link(first.clone())).await.unwrap();
    assert_eq!(second.next, Some(first));
    assert_eq!(server.asked().len(), 2);
}

// L13
#[tokio::test]
async fn a_refused_cursor_is_told_apart_from_a_refused_list() {
    for status in [400, 422] {
        let server = Server::start(|_| {
            let body = r#"{"message":"bad cursor"}"#;
            vec![reply(status, &[], body), reply(status, &[], body)]
        })
        .await;
        let client = client(&server.origin);
        let link = PageRef::Link(format!("{}/app/hook/deliveries?cursor=old", server.origin));
        let error = client.list_attempts(&link).await.unwrap_err().error;
        assert_eq!(error, GitHubError::BadCursor { status, message: "bad cursor".to_owned() });
        let error = client.list_attempts(&PageRef::Head).await.unwrap_err().error;
        assert!(matches!(error, GitHubError::Refused { status: s, .. } if s == status));
    }
}

// L15
#[tokio::test]
async fn an_empty_log_is_an_empty_page() {
    let server = Server::start(|_| {
        let headers =
            [("X-RateLimit-Remaining", "4987"), ("Date", "Mon, 30 Nov 2026 12:01:30 GMT")];
        vec![reply(200, &headers, "[]")]
    })
    .await;
    let page = client(&server.origin).list_attempts(&PageRef::Head).await.unwrap();
    assert!(page.rows.is_empty() && page.unreadable.is_empty() && page.next.is_none());
    assert_eq!(page.meta.calls, 1);
    assert_eq!(page.meta.remaining, Some(4987));
    assert_eq!(page.meta.clock_offset, Some(TimeDelta::seconds(90)));
}

// W21, first half
#[tokio::test]
async fn a_read_is_tried_three_times() {
    let server =
        Server::start(|_| vec![reply(502, &[], "<html>"), Reply::Hangup, reply(200, &[], "[]")])
            .await;
    let page = client(&server.origin).list_attempts(&PageRef::Head).await.unwrap();
    assert_eq!((page.meta.calls, server.asked().len()), (3, 3));

    let server = Server::start(|_| {
        vec![
            reply(502, &[], r#"{"message":"Server Error"}"#),
            // Promises more than it sends.
            Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[".to_vec()),
            reply(503, &[], r#"{"message":"Server Error"}"#),
            reply(200, &[], "[]"),
        ]
    })
    .await;
    let failure = client(&server.origin).list_attempts(&PageRef::Head).await.unwrap_err();
    let message = "GitHub answered 503: Server Error (after 3 requests)".to_owned();
    let error = GitHubError::Failing { message };
    assert_eq!(failure, Failure { error, calls: 3, clock_offset: None });
    assert_eq!(server.asked().len(), 3);

    // Cut by something in between that called it whole.
    let server = Server::start(|_| {
        vec![reply(200, &[], "[{\"id\":1"), reply(200, &[], ""), reply(200, &[], "[]")]
    })
    .await;
    let page = client(&server.origin).list_attempts(&PageRef::Head).await.unwrap();
    assert_eq!((page.meta.calls, page.rows.len()), (3, 0));

    let hangups = || vec![reply(502, &[], "{}"), Reply::Hangup, Reply::Hangup];
    let server = Server::start(|_| hangups()).await;
    let error = client(&server.origin).list_attempts(&PageRef::Head).await.unwrap_err().error;
    assert!(matches!(error, GitHubError::Unavailable { .. }), "{error}");
}

// W14
#[tokio::test]
async fn any_body_of_an_accepted_redelivery_will_do() {
    for (status, body) in [(202, "{}"), (202, ""), (202, "<html>"), (200, "null"), (204, "")] {
        let server = Server::start(|_| vec![reply(status, &[], body)]).await;
        let meta = client(&server.origin).redeliver(attempt(5)).await.unwrap();
        assert_eq!(meta.calls, 1);
    }
    // Even one that breaks off.
    let server = Server::start(|_| {
        vec![Reply::Bytes(b"HTTP/1.1 202 Accepted\r\nContent-Length: 9\r\n\r\n{".to_vec())]
    })
    .await;
    client(&server.origin).redeliver(attempt(5)).await.unwrap();
}

// L1
#[tokio::test]
async fn a_redelivery_names_the_exact_id_below_the_base_path() {
    let server = Server::start(|_| vec![reply(202, &[], "{}")]).await;
    let client = client(&format!("{}/api/v3", server.origin));
    client.redeliver(attempt(3_800_000_000_000_000_123)).await.unwrap();
    assert_eq!(server.lines(), ["POST /api/v3/app/hook/deliveries/3800000000000000123/attempts"]);
}

#[tokio::test]
async fn a_redelivery_without_usable_answer_is_ambiguous_and_sent_once() {
    for broken in [reply(500, &[], "{}"), reply(502, &[], ""), reply(203, &[], ""), Reply::Hangup] {
        let server = Server::start(|_| vec![broken]).await;
        let error = client(&server.origin).redeliver(attempt(5)).await.unwrap_err().error;
        assert!(matches!(error, GitHubError::Ambiguous { .. }), "{error}");
        assert_eq!(server.lines(), ["POST /app/hook/deliveries/5/attempts"]);
    }
}

#[tokio::test]
async fn a_redelivery_on_a_reused_connection_that_breaks_is_sent_once() {
    let server = Server::start(|_| {
        let kept = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]".to_vec();
        vec![Reply::KeepAlive(kept), Reply::Hangup]
    })
    .await;
    let client = client(&server.origin);
    client.list_attempts(&PageRef::Head).await.unwrap();
    let error = client.redeliver(attempt(5)).await.unwrap_err().error;
    assert!(matches!(error, GitHubError::Ambiguous { .. }), "{error}");
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn a_redelivery_that_waits_too_long_is_ambiguous() {
    let server = Server::start(|_| vec![Reply::Silence]).await;
    let clock = std::sync::Arc::new(crate::clock::ManualClock::new(noon()));
    let timing = Timing { total: Duration::from_millis(80), ..timing() };
    let error =
        client_with(&server.origin, clock, timing).redeliver(attempt(5)).await.unwrap_err().error;
    assert!(matches!(error, GitHubError::Ambiguous { .. }), "{error}");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_redelivery_that_never_left_is_not_ambiguous() {
    // A port that was free a moment ago.
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let error = client(&base).redeliver(attempt(5)).await.unwrap_err().error;
    let GitHubError::Unavailable { message } = error else { panic!("{error}") };
    assert!(message.contains("refused"), "{message}");
    assert!(!message.contains("deliveries"), "{message}");
}

#[tokio::test]
async fn a_failed_tls_handshake_means_that_nothing_left() {
    let plain = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}", plain.local_addr().unwrap());
    tokio::spawn(async move { while plain.accept().await.is_ok() {} });
    let error = client(&base).redeliver(attempt(5)).await.unwrap_err().error;
    assert!(matches!(error, GitHubError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn a_refused_redelivery_is_gone_with_githubs_words() {
    for status in [404, 410, 422] {
        let server = Server::start(|_| vec![reply(status, &[], r#"{"message":"Too old"}"#)]).await;
        let error = client(&server.origin).redeliver(attempt(5)).await.unwrap_err().error;
        assert_eq!(error, GitHubError::Gone { status, message: "Too old".to_owned() });
    }
}

#[tokio::test]
async fn what_is_not_the_api_closes_nothing() {
    let html = [("Content-Type", "text/html; charset=utf-8")];
    let server = Server::start(|_| {
        vec![
            reply(404, &html, "<!DOCTYPE html>"),
            reply(200, &html, "<!DOCTYPE html>"),
            reply(200, &[], r#"{"current_user_url":"x"}"#),
            reply(404, &[], r#"{"message":"Not Found"}"#),
            reply(410, &[], r#"{"message":"This API version is retired"}"#),
            reply(301, &[("Location", "https://user:pw@github.example/login?x=1")], ""),
        ]
    })
    .await;
    let client = client(&server.origin);
    let mut errors = vec![client.redeliver(attempt(5)).await.unwrap_err().error];
    for _ in 0..4 {
        errors.push(client.list_attempts(&PageRef::Head).await.unwrap_err().error);
    }
    for error in &errors {
        assert!(matches!(error, GitHubError::Refused { .. }), "{error}");
    }
    assert!(errors[1].to_string().contains("an HTML page; check api_url http://127.0.0.1"));
    assert!(errors[2].to_string().contains("no list of deliveries; check api_url"));
    assert!(errors[3].to_string().contains("app 4242 has no webhook"));
    let error = client.list_attempts(&PageRef::Head).await.unwrap_err().error.to_string();
    assert!(error.contains("redirects to https://github.example, "), "{error}");
    assert!(!error.contains("pw"), "{error}");
    // The redirect was not followed.
    assert_eq!(server.asked().len(), 6);
}

#[tokio::test]
async fn a_detail_keeps_every_digit_of_the_payload() {
    let body = r#"{"id":17,"guid":"g-1","event":"push","action":null,"status":"OK","request":{
        "headers":{"X-GitHub-Delivery":"g-1","X-Hub-Signature-256":"sha256=00","odd":7},
        "payload":{"id":9007199254740993.10,"big":123456789012345678901234567890,"s":"é\u0000"}},
        "response":{"headers":null,"payload":null}}"#;
    let server = Server::start(|_| vec![reply(200, &[], body)]).await;
    let (detail, _) = client(&server.origin).detail(attempt(17)).await.unwrap();
    assert_eq!(server.lines(), ["GET /app/hook/deliveries/17"]);
    assert_eq!((detail.guid.as_str(), detail.event.as_str()), ("g-1", "push"));
    assert_eq!(
        String::from_utf8(detail.payload.clone()).unwrap(),
        r#"{"id":9007199254740993.10,"big":123456789012345678901234567890,"s":"é\u0000"}"#
    );
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        detail.headers,
        [pair("X-GitHub-Delivery", "g-1"), pair("X-Hub-Signature-256", "sha256=00")]
    );
    let shown = format!("{detail:?}");
    assert!(!shown.contains("sha256") && !shown.contains("9007199254740993"), "{shown}");
}

// L23
#[tokio::test]
async fn a_detail_without_payload_or_unknown_is_gone() {
    let server = Server::start(|_| {
        vec![
            reply(
                200,
                &[],
                r#"{"guid":"g","event":"push","request":{"headers":null,"payload":null}}"#,
            ),
            reply(200, &[], r#"{"guid":"g","event":"push","request":null}"#),
            reply(404, &[], r#"{"message":"Not Found"}"#),
        ]
    })
    .await;
    let client = client(&server.origin);
    for status in [200, 200, 404] {
        let error = client.detail(attempt(17)).await.unwrap_err().error;
        assert!(matches!(error, GitHubError::Gone { status: s, .. } if s == status), "{error}");
    }
}

#[tokio::test]
async fn a_page_beyond_the_limit_is_refused_and_a_huge_error_is_cut() {
    let server = Server::start(|_| {
        let huge = format!("[{}]", " ".repeat(33 << 20));
        vec![reply(200, &[], &huge), reply(404, &[], &"x".repeat(1 << 20))]
    })
    .await;
    let client = client(&server.origin);
    let error = client.list_attempts(&PageRef::Head).await.unwrap_err().error;
    let GitHubError::Refused { message, .. } = error else { panic!("{error}") };
    assert_eq!(message, "more than 32 MiB");
    let error = client.list_attempts(&PageRef::Head).await.unwrap_err().error;
    let GitHubError::Refused { message, .. } = error else { panic!("{error}") };
    assert_eq!(message.chars().count(), 301);
}

#[tokio::test]
async fn the_app_and_its_webhook_are_read_and_the_url_stays_out_of_debug() {
    let server = Server::start(|_| {
        vec![
            reply(200, &[], r#"{"id":4242,"slug":"ci","client_id":"Iv23li","name":"CI","owner":null}"#),
            reply(
                200,
                &[],
                r#"{"url":"https://u:hidden@h.example/webhook","content_type":"form","insecure_ssl":"1","secret":"********"}"#,
            ),
            reply(200, &[], r#"{"url":"","content_type":null,"insecure_ssl":0}"#),
        ]
    })
    .await;
    let client = client(&server.origin);
    let (app, _) = client.app().await.unwrap();
    assert_eq!((app.id, app.client_id.as_deref(), app.name.as_str()), (4242, Some("Iv23li"), "CI"));
    let (hook, _) = client.hook_config().await.unwrap();
    assert_eq!(hook.url.as_deref(), Some("https://u:hidden@h.example/webhook"));
    assert_eq!(hook.content_type.as_deref(), Some("form"));
    assert!(!hook.verifies_tls && hook.has_secret);
    assert!(!format!("{hook:?}").contains("hidden"));
    let (bare, _) = client.hook_config().await.unwrap();
    assert_eq!((bare.url, bare.content_type), (None, None));
    assert!(bare.verifies_tls && !bare.has_secret);
    assert_eq!(server.lines(), ["GET /app", "GET /app/hook/config", "GET /app/hook/config"]);
}
