//! The simulation against the facts it simulates.

mod access;
mod events;
mod faults;
mod listing;
mod redelivery;
mod schema;
mod sending;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use chrono::{DateTime, TimeDelta, Utc};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::{Method, Response};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{
    AppKey, ContentType, Event, HookConfig, HookRef, HookSetup, Settings, SimulatedGithub, World,
    events::Generator,
};
use crate::clock::ManualClock;

const SECRET: &str = "It's a Secret to Everybody";

fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// One key for all tests: making one takes a while.
fn key() -> AppKey {
    static KEY: OnceLock<AppKey> = OnceLock::new();
    KEY.get_or_init(|| AppKey::generate().unwrap()).clone()
}

fn event(name: &str) -> Event {
    Generator::new(7).of(name, None).unwrap()
}

/// Answers POSTs with the queued codes, then with 202, and keeps what it got.
#[derive(Clone, Default)]
struct Receiver {
    got: Arc<Mutex<Vec<(HeaderMap, Bytes)>>>,
    codes: Arc<Mutex<VecDeque<u16>>>,
    delay: Arc<Mutex<Duration>>,
}

impl Receiver {
    async fn start(&self) -> String {
        async fn take(
            State(receiver): State<Receiver>,
            headers: HeaderMap,
            body: Bytes,
        ) -> StatusCode {
            receiver.got.lock().unwrap().push((headers, body));
            let delay = *receiver.delay.lock().unwrap();
            tokio::time::sleep(delay).await;
            let code = receiver.codes.lock().unwrap().pop_front().unwrap_or(202);
            StatusCode::from_u16(code).unwrap()
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/webhook", listener.local_addr().unwrap());
        let router = Router::new().route("/webhook", post(take)).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }

    fn got(&self) -> Vec<(HeaderMap, Bytes)> {
        self.got.lock().unwrap().clone()
    }
}

/// A world with one hook, its server, a receiver and a client.
struct Stage {
    clock: Arc<ManualClock>,
    world: World,
    hook: HookRef,
    github: SimulatedGithub,
    receiver: Receiver,
    http: reqwest::Client,
}

impl Stage {
    async fn new() -> Self {
        Self::with(Settings { time_limit: Duration::from_secs(5), ..Settings::cloud() }).await
    }

    async fn with(settings: Settings) -> Self {
        let clock = Arc::new(ManualClock::new(at("2026-11-02T10:00:00.250Z")));
        let world = World::new(clock.clone(), settings).unwrap();
        let receiver = Receiver::default();
        let hook = world.add_hook(setup("ci", 4242, &receiver.start().await));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let github = SimulatedGithub::start(world.clone(), listener).unwrap();
        Self { clock, world, hook, github, receiver, http: reqwest::Client::new() }
    }

    fn good_jwt(&self) -> String {
        let now = self.world.now().timestamp();
        sign(&key(), &json!({ "iat": now - 60, "exp": now + 540, "iss": "4242" }))
    }

    async fn call(
        &self,
        method: Method,
        url: &str,
        token: &str,
    ) -> Result<Response, reqwest::Error> {
        let url = if url.starts_with("http") {
            url.to_owned()
        } else {
            format!("{}{url}", self.github.base_url)
        };
        self.http.request(method, url).bearer_auth(token).send().await
    }

    async fn get(&self, url: &str) -> Response {
        self.call(Method::GET, url, &self.good_jwt()).await.unwrap()
    }

    async fn rows(&self, url: &str) -> Vec<Value> {
        let response = self.get(url).await;
        assert_eq!(response.status(), 200);
        response.json().await.unwrap()
    }

    async fn redeliver(&self, id: i64) -> Response {
        let url = format!("/app/hook/deliveries/{id}/attempts");
        self.call(Method::POST, &url, &self.good_jwt()).await.unwrap()
    }

    fn newest_id(&self) -> i64 {
        self.world.attempts(self.hook).first().unwrap().id
    }
}

fn setup(name: &str, app_id: u64, url: &str) -> HookSetup {
    HookSetup {
        name: name.to_owned(),
        app_id,
        client_id: format!("Iv23li{app_id}"),
        key: key(),
        config: HookConfig {
            url: url.to_owned(),
            secret: SECRET.into(),
            content_type: ContentType::Json,
            insecure_ssl: false,
        },
    }
}

fn sign(key: &AppKey, claims: &Value) -> String {
    let key = EncodingKey::from_rsa_pem(key.private_pem().expose_secret().as_bytes()).unwrap();
    jsonwebtoken::encode(&Header::new(Algorithm::RS256), claims, &key).unwrap()
}

/// The next link of an answer, if any.
fn next(response: &Response) -> Option<String> {
    let link = response.headers().get("link")?.to_str().unwrap();
    let (url, rel) = link.split_once("; ").unwrap();
    assert_eq!(rel, "rel=\"next\"");
    Some(url.strip_prefix('<').unwrap().strip_suffix('>').unwrap().to_owned())
}

fn minutes(n: i64) -> TimeDelta {
    TimeDelta::minutes(n)
}
