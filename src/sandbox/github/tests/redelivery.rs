//! Asking for one more attempt.

use serde_json::Value;

use super::{
    super::{Answer, Redelivering, signature},
    Receiver, Stage, event, minutes,
};

#[tokio::test]
async fn a_redelivery_is_a_new_row_with_the_same_guid_and_leaves_the_old_one_failed() {
    let stage = Stage::new().await;
    stage.receiver.codes.lock().unwrap().push_back(503);
    let guid = stage.world.emit(stage.hook, event("push")).await;
    let first = stage.newest_id();
    stage.clock.advance(minutes(5));
    let answer = stage.redeliver(first).await;
    assert_eq!(answer.status(), 202);
    assert_eq!(answer.json::<Value>().await.unwrap(), serde_json::json!({}));
    stage.world.settled().await;
    let rows = stage.rows("/app/hook/deliveries").await;
    let facts: Vec<_> = rows
        .iter()
        .map(|r| {
            (
                r["guid"].as_str().unwrap(),
                r["redelivery"].as_bool().unwrap(),
                r["status_code"].as_i64().unwrap(),
            )
        })
        .collect();
    assert_eq!(facts, [(guid.as_str(), true, 202), (guid.as_str(), false, 503)]);
    assert!(rows[0]["id"].as_i64().unwrap() > first);
    assert_eq!(rows[0]["delivered_at"], "2026-11-02T10:05:00.250Z");
    let got = stage.receiver.got();
    assert_eq!(got[0].1, got[1].1);
    assert_eq!(got[0].0["x-github-delivery"], got[1].0["x-github-delivery"]);
    assert_eq!(stage.world.redelivery_posts(&guid), 1);
    assert_eq!(stage.world.counters().redelivery_posts_of_attempt[&first], 1);
}

#[tokio::test]
async fn a_redelivery_goes_to_the_url_of_now_signed_with_the_secret_of_now() {
    let stage = Stage::new().await;
    stage.world.emit(stage.hook, event("push")).await;
    let moved = Receiver::default();
    let url = moved.start().await;
    stage.world.configure(stage.hook, |config| {
        config.url = url;
        config.secret = "rotated".into();
    });
    stage.redeliver(stage.newest_id()).await;
    stage.world.settled().await;
    assert_eq!(stage.receiver.got().len(), 1);
    let (headers, body) = moved.got().remove(0);
    assert_eq!(
        headers["x-hub-signature-256"].to_str().unwrap(),
        signature::sha256("rotated", &body)
    );
}

#[tokio::test]
async fn an_unknown_id_is_a_404_and_is_counted() {
    let stage = Stage::new().await;
    assert_eq!(stage.redeliver(12345).await.status(), 404);
    let counters = stage.world.counters();
    assert_eq!(counters.redelivery_posts, 1);
    assert_eq!(counters.redelivery_posts_of_attempt[&12345], 1);
    assert!(counters.redelivery_posts_of_guid.is_empty());
}

#[tokio::test]
async fn a_lost_answer_was_taken_all_the_same() {
    let stage = Stage::new().await;
    let guid = stage.world.emit(stage.hook, event("push")).await;
    stage.world.faults(|f| {
        f.api.redeliver_next.extend([
            Redelivering::TakeAndAnswer(Answer::Drop),
            Redelivering::TakeAndAnswer(Answer::Status(500)),
        ]);
    });
    let url = format!("/app/hook/deliveries/{}/attempts", stage.newest_id());
    let lost = stage.call(reqwest::Method::POST, &url, &stage.good_jwt()).await;
    assert!(lost.is_err());
    let broken = stage.call(reqwest::Method::POST, &url, &stage.good_jwt()).await.unwrap();
    assert_eq!(broken.status(), 500);
    stage.world.settled().await;
    assert_eq!(stage.world.posts(&guid).len(), 3);
    assert_eq!(stage.world.redelivery_posts(&guid), 2);
}

#[tokio::test]
async fn a_request_can_be_refused_forgotten_or_held() {
    // W10
    let stage = Stage::new().await;
    let guid = stage.world.emit(stage.hook, event("push")).await;
    let id = stage.newest_id();
    let refuse = Redelivering::Refuse(Answer::Status(422));
    stage.world.faults(|f| f.api.redeliver_by_id.insert(id, refuse));
    assert_eq!(stage.redeliver(id).await.status(), 422);
    for treatment in [Redelivering::Forget, Redelivering::Hold] {
        stage.world.faults(|f| f.api.redeliver_by_id.insert(id, treatment));
        assert_eq!(stage.redeliver(id).await.status(), 202);
    }
    stage.world.settled().await;
    assert_eq!(stage.world.posts(&guid).len(), 1);
    stage.clock.advance(minutes(90));
    stage.world.release();
    stage.world.settled().await;
    assert_eq!(stage.world.posts(&guid).len(), 2);
    assert_eq!(stage.world.redelivery_posts(&guid), 3);
}
