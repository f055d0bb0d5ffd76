//! What can be wrong with lists and details, and the control interface.

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    super::{Answer, Link, PageFault, Unsettled},
    Stage, event, minutes, next,
};

#[tokio::test]
async fn the_next_list_calls_can_be_answered_with_anything() {
    let stage = Stage::new().await;
    let limit = Answer::SecondaryLimit { status: 403, retry_after: Some(60) };
    stage.world.faults(|f| {
        f.api.list_next.extend([Answer::Status(502), limit, Answer::WebPage, Answer::Drop]);
    });
    assert_eq!(stage.get("/app/hook/deliveries").await.status(), 502);
    let limited = stage.get("/app/hook/deliveries").await;
    assert_eq!(
        (limited.status().as_u16(), &limited.headers()["retry-after"]),
        (403, &"60".parse().unwrap())
    );
    let page = stage.get("/app/hook/deliveries").await;
    assert!(page.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    let dropped = stage.call(Method::GET, "/app/hook/deliveries", &stage.good_jwt()).await;
    assert!(dropped.is_err());
    assert_eq!(stage.get("/app/hook/deliveries").await.status(), 200);
    assert_eq!(stage.world.counters().list_calls, 5);
}

#[tokio::test]
async fn page_two_can_fail_twice() {
    // W21
    let stage = Stage::new().await;
    for _ in 0..3 {
        stage.world.emit(stage.hook, event("push")).await;
    }
    let fault = PageFault { page: 2, times: 2, answer: Answer::Status(502) };
    stage.world.faults(|f| f.api.pages.push(fault));
    let head = stage.get("/app/hook/deliveries?per_page=1").await;
    let link = next(&head).unwrap();
    let mut codes = Vec::new();
    for _ in 0..3 {
        codes.push(stage.get(&link).await.status().as_u16());
    }
    assert_eq!(codes, [502, 502, 200]);
}

#[tokio::test]
async fn links_can_loop_lead_away_or_be_missing_and_cursors_be_refused() {
    // L10, L13
    let stage = Stage::new().await;
    for _ in 0..4 {
        stage.world.emit(stage.hook, event("push")).await;
    }
    stage.world.faults(|f| f.api.link = Link::Looping);
    let second = next(&stage.get("/app/hook/deliveries?per_page=1").await).unwrap();
    assert_eq!(next(&stage.get(&second).await), Some(second.clone()));
    let foreign = "http://elsewhere.test/app/hook/deliveries?cursor=v1_1".to_owned();
    stage.world.faults(|f| f.api.link = Link::Foreign(foreign.clone()));
    assert_eq!(next(&stage.get("/app/hook/deliveries?per_page=1").await), Some(foreign));
    stage.world.faults(|f| f.api.link = Link::Missing);
    assert_eq!(next(&stage.get("/app/hook/deliveries?per_page=1").await), None);
    stage.world.faults(|f| f.api.cursor = Some(400));
    assert_eq!(stage.get(&second).await.status(), 400);
    assert_eq!(stage.get("/app/hook/deliveries").await.status(), 200);
}

#[tokio::test]
async fn rows_can_be_late_hidden_disordered_and_amid_garbage() {
    let stage = Stage::new().await;
    stage.world.faults(|f| f.list_lag = minutes(2));
    let late = stage.world.emit(stage.hook, event("push")).await;
    stage.world.faults(|f| f.list_lag = TimeDelta::zero());
    let early = stage.world.emit(stage.hook, event("push")).await;
    let guids = |rows: Vec<Value>| {
        rows.iter().map(|r| r["guid"].as_str().unwrap_or("?").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(guids(stage.rows("/app/hook/deliveries").await), [early.as_str()]);
    stage.clock.advance(minutes(2));
    assert_eq!(guids(stage.rows("/app/hook/deliveries").await), [early.as_str(), late.as_str()]);
    stage.world.faults(|f| {
        f.api.disordered = true;
        f.api.garbage.push(json!({ "id": "x" }));
    });
    assert_eq!(
        guids(stage.rows("/app/hook/deliveries").await),
        [late.as_str(), "?", early.as_str()]
    );
    stage.world.faults(|f| f.hidden.insert(late.clone()));
    assert_eq!(guids(stage.rows("/app/hook/deliveries").await), [early.as_str(), "?"]);
}

#[tokio::test]
async fn an_outcome_can_be_unknown_for_a_while() {
    // W17
    let stage = Stage::new().await;
    for unsettled in [Unsettled::Null, Unsettled::Zero] {
        stage.world.faults(|f| f.unsettled = Some((minutes(1), unsettled)));
        stage.world.emit(stage.hook, event("push")).await;
    }
    let codes =
        |rows: Vec<Value>| rows.iter().map(|r| r["status_code"].as_i64()).collect::<Vec<_>>();
    assert_eq!(codes(stage.rows("/app/hook/deliveries").await), [Some(0), None]);
    stage.clock.advance(minutes(1));
    assert_eq!(codes(stage.rows("/app/hook/deliveries").await), [Some(202), Some(202)]);
}

#[tokio::test]
async fn a_fresh_detail_can_be_unknown_at_first() {
    // L23
    let stage = Stage::new().await;
    stage.world.faults(|f| f.api.detail_lag = TimeDelta::seconds(5));
    stage.world.emit(stage.hook, event("push")).await;
    let url = format!("/app/hook/deliveries/{}", stage.newest_id());
    assert_eq!(stage.get(&url).await.status(), 404);
    stage.clock.advance(TimeDelta::seconds(5));
    assert_eq!(stage.get(&url).await.status(), 200);
    assert_eq!(stage.world.counters().detail_calls, 2);
}

#[tokio::test]
async fn the_date_header_can_lie_without_the_clock() {
    let stage = Stage::new().await;
    stage.world.faults(|f| f.api.date_offset = minutes(3));
    let answer = stage.get("/app").await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["date"], "Mon, 02 Nov 2026 10:03:00 GMT");
}

#[tokio::test]
async fn people_can_emit_break_and_look_without_credentials() {
    let stage = Stage::new().await;
    let post = async |path: &str, body: Value| {
        let url = format!("{}/_sandbox/{path}", stage.github.origin);
        stage.http.post(url).json(&body).send().await.unwrap()
    };
    assert_eq!(post("faults", json!({ "sender": "swallow", "next": 1 })).await.status(), 204);
    let emitted =
        post("emit", json!({ "count": 3, "event": "workflow_job", "action": "queued" })).await;
    assert_eq!(emitted.status(), 202);
    stage.world.settled().await;
    assert_eq!(stage.receiver.got().len(), 2);
    let url = format!("{}/_sandbox/log", stage.github.origin);
    let log: Value = stage.http.get(url).send().await.unwrap().json().await.unwrap();
    let attempts = log["hooks"][0]["attempts"].as_array().unwrap();
    assert_eq!(attempts.iter().filter(|a| a["really_sent"] == true).count(), 2);
    assert!(attempts.iter().all(|a| a["status_code"].is_u64() && a["action"] == "queued"));
    assert_eq!(post("hook", json!({ "hook": "ci", "secret": "new" })).await.status(), 204);
    assert_eq!(post("hook", json!({ "hook": "none" })).await.status(), 404);
    assert_eq!(post("emit", json!({ "event": "nonsense" })).await.status(), 422);
    assert_eq!(post("faults", json!({ "sendr": "swallow" })).await.status(), 422);
}

#[tokio::test]
async fn a_stopped_world_refuses_connections_and_keeps_its_log() {
    let stage = Stage::new().await;
    stage.world.emit(stage.hook, event("push")).await;
    let Stage { github, world, hook, http, .. } = stage;
    let url = format!("{}/app", github.base_url);
    github.shutdown().await;
    assert!(http.get(url).send().await.is_err());
    assert_eq!(world.attempts(hook).len(), 1);
}
