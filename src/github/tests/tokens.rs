//! The token: its times, its renewal, and the cure for a wrong clock.

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use chrono::TimeDelta;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::Value;

use super::{
    KEY, api, attempt, client, client_with, noon,
    server::{Asked, Reply, Server, reply},
    timing,
};
use crate::{
    clock::ManualClock,
    config::Credential,
    github::{Client, GitHubError, PageRef, SetupError, auth::Signer},
};

const TOO_FAR: &str = r#"{"message":"'Expiration time' claim ('exp') is too far in the future"}"#;
const IN_FUTURE: &str = r#"{"message":"'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"}"#;

/// GitHub's clock is 90 s behind ours.
const GITHUB_NOON_MINUS_90: (&str, &str) = ("Date", "Mon, 30 Nov 2026 11:58:30 GMT");

fn claims(asked: &Asked) -> Value {
    claims_of(asked.all("authorization")[0])
}

fn claims_of(authorization: &str) -> Value {
    let jwt = authorization.strip_prefix("Bearer ").unwrap();
    let payload = jwt.split('.').nth(1).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

fn signer(clock: &Arc<ManualClock>) -> Signer {
    Signer::new("4242", &KEY.into(), Arc::<ManualClock>::clone(clock)).unwrap()
}

// A2, A4, A11, A15
#[test]
fn a_token_is_back_dated_by_a_minute_and_lives_nine() {
    let clock = Arc::new(ManualClock::new(noon()));
    let header = signer(&clock).authorization().unwrap();
    assert!(header.is_sensitive());
    let claims = claims_of(header.to_str().unwrap());
    let noon = noon().timestamp();
    assert_eq!(claims["iss"], "4242");
    assert_eq!(claims["iat"], noon - 60);
    assert_eq!(claims["exp"], noon + 480);
}

#[test]
fn the_signature_is_rs256_by_the_key() {
    let clock = Arc::new(ManualClock::new(noon()));
    let header = signer(&clock).authorization().unwrap();
    let public = include_bytes!("../../../tests/fixtures/app-key.pub.pem");
    let mut rules = Validation::new(Algorithm::RS256);
    rules.validate_exp = false;
    let jwt = header.to_str().unwrap().strip_prefix("Bearer ").unwrap();
    let key = DecodingKey::from_rsa_pem(public).unwrap();
    jsonwebtoken::decode::<Value>(jwt, &key, &rules).unwrap();
}

// A6
#[test]
fn a_token_is_reused_and_renewed_a_minute_before_it_ends() {
    let clock = Arc::new(ManualClock::new(noon()));
    let signer = signer(&clock);
    let first = signer.authorization().unwrap();
    clock.advance(TimeDelta::seconds(419));
    assert_eq!(signer.authorization().unwrap(), first);
    clock.advance(TimeDelta::seconds(1));
    let second = signer.authorization().unwrap();
    assert_eq!(claims_of(second.to_str().unwrap())["iat"], noon().timestamp() + 420 - 60);
}

#[test]
fn a_clock_set_back_makes_a_new_token() {
    let clock = Arc::new(ManualClock::new(noon()));
    let signer = signer(&clock);
    signer.authorization().unwrap();
    clock.advance(TimeDelta::seconds(-120));
    let token = signer.authorization().unwrap();
    assert_eq!(claims_of(token.to_str().unwrap())["iat"], noon().timestamp() - 180);
}

// A1
#[tokio::test]
async fn a_clock_ahead_is_cured_by_githubs_date_and_the_cure_lasts() {
    for refusal in [TOO_FAR, IN_FUTURE] {
        let server = Server::start(|_| {
            vec![
                reply(401, &[GITHUB_NOON_MINUS_90], refusal),
                reply(200, &[GITHUB_NOON_MINUS_90], "[]"),
                reply(202, &[GITHUB_NOON_MINUS_90], "{}"),
            ]
        })
        .await;
        let client = client(&server.origin);
        let page = client.list_attempts(&PageRef::Head).await.unwrap();
        assert_eq!(page.meta.calls, 2);
        client.redeliver(attempt(5)).await.unwrap();
        let asked = server.asked();
        let noon = noon().timestamp();
        assert_eq!(claims(&asked[0])["iat"], noon - 60);
        assert_eq!(claims(&asked[1])["iat"], noon - 90 - 60);
        assert_eq!(claims(&asked[1])["exp"], noon - 90 + 480);
        assert_eq!(asked[2].all("authorization"), asked[1].all("authorization"));
    }
}

// A1, for the request that may act: a 401 was not acted upon.
#[tokio::test]
async fn a_redelivery_refused_for_its_times_is_sent_once_more_and_not_twice() {
    let refusals = |n: usize| -> Vec<Reply> {
        (0..n).map(|_| reply(401, &[GITHUB_NOON_MINUS_90], TOO_FAR)).collect()
    };
    let server = Server::start(|_| {
        let mut script = refusals(1);
        script.push(reply(202, &[], "{}"));
        script
    })
    .await;
    let meta = client(&server.origin).redeliver(attempt(5)).await.unwrap();
    assert_eq!((meta.calls, server.asked().len()), (2, 2));

    let server = Server::start(|_| refusals(3)).await;
    let error = client(&server.origin).redeliver(attempt(5)).await.unwrap_err().error;
    let GitHubError::Unauthorized { status: 401, hint, .. } = error else { panic!("{error}") };
    assert_eq!(hint, "this machine's clock is wrong; our clock is 90 s ahead of GitHub's");
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn another_refusal_of_the_credential_is_not_retried_and_has_a_hint() {
    let server = Server::start(|_| {
        vec![
            reply(401, &[], r#"{"message":"A JSON web token could not be decoded"}"#),
            reply(401, &[], TOO_FAR),
            reply(403, &[], r#"{"message":"Resource not accessible by integration"}"#),
        ]
    })
    .await;
    let client = client(&server.origin);
    let mut hints = Vec::new();
    for _ in 0..3 {
        let error = client.list_attempts(&PageRef::Head).await.unwrap_err().error;
        let GitHubError::Unauthorized { hint, .. } = error else { panic!("{error}") };
        hints.push(hint);
    }
    assert!(
        hints[0].starts_with("the private key does not belong to app 4242, or api_url http://")
    );
    assert!(hints[1].starts_with("this machine's clock is wrong"));
    assert!(hints[2].starts_with("app 4242 may not"));
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn a_key_that_cannot_sign_is_found_at_once() {
    let pkcs8 = include_str!("../../../tests/fixtures/app-key.pkcs8.pem");
    let public = include_str!("../../../tests/fixtures/app-key.pub.pem");
    let damaged = "-----BEGIN RSA PRIVATE KEY-----\nMAAA\n-----END RSA PRIVATE KEY-----\n";
    let build = |pem: &str| {
        let mut api = api("http://127.0.0.1:1");
        api.credential = Credential::App { issuer: "Iv23li".to_owned(), private_key: pem.into() };
        Client::new(&api, Arc::new(ManualClock::new(noon())))
    };
    build(pkcs8).unwrap();
    for bad in ["", "no key", damaged, public] {
        let error = build(bad).unwrap_err();
        assert!(matches!(error, SetupError::Key(_)));
        assert!(error.to_string().starts_with("the private key cannot be used: "), "{error}");
    }
}

#[tokio::test]
async fn a_client_shows_neither_key_nor_token() {
    let client = client_with("http://127.0.0.1:1", Arc::new(ManualClock::new(noon())), timing());
    let shown = format!("{client:?}");
    assert!(shown.contains("4242") && !shown.contains("eyJ") && !shown.contains("BEGIN"));
}

/// The token says 11:59 to 12:08.
#[tokio::test]
async fn a_date_that_denies_an_accepted_token_is_believed_no_further_than_the_token() {
    for (date, seconds) in [
        ("Tue, 01 Dec 2026 12:00:00 GMT", 480),
        ("Sun, 29 Nov 2026 12:00:00 GMT", -60),
        ("Mon, 30 Nov 2026 12:07:59 GMT", 479),
    ] {
        let server = Server::start(|_| vec![reply(200, &[("Date", date)], "[]")]).await;
        let page = client(&server.origin).list_attempts(&PageRef::Head).await.unwrap();
        assert_eq!(page.meta.clock_offset, Some(TimeDelta::seconds(seconds)), "{date}");
    }
}
