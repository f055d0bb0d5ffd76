//! Who is let in, and in which words others are not; limits; what the App and its hook look like.

use chrono::TimeDelta;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::{
    super::{AppKey, Primary, Secondary},
    Stage, at, key, minutes, sign,
};

async fn refusal(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["status"], status.to_string());
    assert!(body["documentation_url"].as_str().unwrap().starts_with("https://docs.github.com"));
    (status, body["message"].as_str().unwrap().to_owned())
}

async fn try_claims(stage: &Stage, claims: &Value) -> (u16, String) {
    let token = sign(&key(), claims);
    refusal(stage.call(Method::GET, "/app", &token).await.unwrap()).await
}

#[tokio::test]
async fn app_id_and_client_id_are_both_issuers() {
    let stage = Stage::new().await;
    let now = stage.world.now().timestamp();
    for issuer in [json!("4242"), json!(4242), json!("Iv23li4242")] {
        let token = sign(&key(), &json!({ "iat": now, "exp": now + 600, "iss": issuer }));
        assert_eq!(stage.call(Method::GET, "/app", &token).await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn jwt_times_are_refused_in_githubs_words() {
    // A1, A4
    let stage = Stage::new().await;
    let now = stage.world.now().timestamp();
    let claims = |iat: i64, exp: i64| json!({ "iat": now + iat, "exp": now + exp, "iss": "4242" });
    let far = "'Expiration time' claim ('exp') is too far in the future";
    assert_eq!(try_claims(&stage, &claims(-60, 602)).await, (401, far.to_owned()));
    let expired = "'Expiration time' claim ('exp') must be a numeric value representing the \
                   future time at which the assertion expires";
    assert_eq!(try_claims(&stage, &claims(-600, -1)).await, (401, expired.to_owned()));
    let issued = "'Issued at' claim ('iat') must be an Integer representing the time that the \
                  assertion was issued";
    assert_eq!(try_claims(&stage, &claims(30, 300)).await, (401, issued.to_owned()));
    assert_eq!(stage.world.counters().unauthorized, 3);
    assert_eq!(stage.world.counters().list_calls, 0);
}

#[tokio::test]
async fn a_skewed_github_judges_by_its_own_clock_and_tells_it() {
    let stage = Stage::new().await;
    stage.world.faults(|f| f.clock_skew = TimeDelta::seconds(-90));
    let local = at("2026-11-02T10:00:00Z").timestamp();
    let token = sign(&key(), &json!({ "iat": local - 60, "exp": local + 540, "iss": "4242" }));
    let answer = stage.call(Method::GET, "/app", &token).await.unwrap();
    assert_eq!(answer.headers()["date"], "Mon, 02 Nov 2026 09:58:30 GMT");
    assert_eq!(answer.status(), 401);
}

#[tokio::test]
async fn a_foreign_key_no_token_and_an_unknown_app_are_refused() {
    let stage = Stage::new().await;
    let now = stage.world.now().timestamp();
    let claims = json!({ "iat": now - 60, "exp": now + 540, "iss": "4242" });
    let undecodable = (401, "A JSON web token could not be decoded".to_owned());
    let foreign = sign(&AppKey::generate().unwrap(), &claims);
    for token in [foreign.as_str(), "ghs_notajwt", "a.b.c"] {
        let answer = stage.call(Method::GET, "/app/hook/deliveries", token).await.unwrap();
        assert_eq!(refusal(answer).await, undecodable);
    }
    let url = format!("{}/app", stage.github.base_url);
    assert_eq!(refusal(stage.http.get(url).send().await.unwrap()).await, undecodable);
    let unknown = try_claims(&stage, &json!({ "iat": now, "exp": now + 60, "iss": "1" })).await;
    assert_eq!(unknown, (404, "Integration not found".to_owned()));
    stage.world.faults(|f| f.api.revoked.insert("ci".to_owned()));
    assert_eq!(refusal(stage.get("/app").await).await, undecodable);
}

#[tokio::test]
async fn an_exhausted_budget_is_a_403_until_it_is_refilled() {
    let stage = Stage::new().await;
    let reset = at("2026-11-02T10:30:00Z");
    stage.world.limits(|l| l.primary = Some(Primary::new(5000, 1, reset)));
    let last = stage.get("/app").await;
    assert_eq!(
        (last.status().as_u16(), &last.headers()["x-ratelimit-remaining"]),
        (200, &"0".parse().unwrap())
    );
    let refused = stage.get("/app").await;
    assert_eq!(refused.status(), 403);
    assert_eq!(refused.headers()["x-ratelimit-remaining"], "0");
    assert_eq!(refused.headers()["x-ratelimit-reset"], reset.timestamp().to_string());
    stage.clock.advance(minutes(30));
    let refilled = stage.get("/app").await;
    assert_eq!(refilled.headers()["x-ratelimit-remaining"], "4999");
    assert_eq!(stage.world.counters().limited, 1);
}

#[tokio::test]
async fn a_post_costs_five_points_of_the_secondary_limit() {
    let stage = Stage::new().await;
    stage.world.limits(|l| l.secondary = Some(Secondary::new(6, 429, Some(30))));
    assert_eq!(stage.redeliver(1).await.status(), 404);
    assert_eq!(stage.get("/app").await.status(), 200);
    let refused = stage.get("/app").await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (429, &"30".parse().unwrap())
    );
    stage.clock.advance(minutes(1));
    assert_eq!(stage.get("/app").await.status(), 200);
}

#[tokio::test]
async fn a_patch_of_the_hook_changes_only_what_it_names() {
    let stage = Stage::new().await;
    let url = format!("{}/app/hook/config", stage.github.base_url);
    let patch = stage.http.patch(url).bearer_auth(stage.good_jwt());
    let answer = patch.json(&json!({ "content_type": "form" })).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let config: Value = stage.get("/app/hook/config").await.json().await.unwrap();
    assert_eq!(config["content_type"], "form");
    assert_eq!(config["secret"], "********");
    assert_eq!(config["insecure_ssl"], "0");
    assert!(config["url"].as_str().unwrap().ends_with("/webhook"));
}

#[test]
fn a_key_can_be_read_back_from_its_own_pem() {
    use secrecy::ExposeSecret;
    let text = key().private_pem().expose_secret().to_owned();
    let again = AppKey::from_pem(&text.replace('\n', "\r\n")).unwrap();
    assert_eq!(format!("{again:?}"), "AppKey");
    assert!(
        AppKey::from_pem("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----").is_err()
    );
}
