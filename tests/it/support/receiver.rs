//! A receiver that records every POST in the store, or answers what it is told to.

use std::sync::{
    Arc,
    atomic::{AtomicU16, Ordering},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use redeliverd::{
    clock::SharedClock,
    domain::{
        delivery::Via,
        ids::{EventName, Guid, HookName},
    },
    store::{Store, types::Arrival},
};
use tokio::net::TcpListener;

/// The state of one receiver.
#[derive(Clone)]
pub struct Receiver {
    pub store: Store,
    pub clock: SharedClock,
    pub hook: HookName,
    /// Answered instead of recording; 0: record.
    pub refuse_with: Arc<AtomicU16>,
}

impl Receiver {
    /// Serves on loopback until the test ends; returns the URL.
    pub async fn start(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/webhook", listener.local_addr().unwrap());
        let app = Router::new().route("/webhook", post(take)).with_state(self);
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        url
    }
}

async fn take(State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let refusal = receiver.refuse_with.load(Ordering::Relaxed);
    if refusal != 0 {
        return StatusCode::from_u16(refusal).unwrap();
    }
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    let arrival = Arrival {
        hook: receiver.hook.clone(),
        guid: Guid::new(&header("x-github-delivery")).unwrap(),
        event: EventName::new(&header("x-github-event")).unwrap(),
        action: None,
        installation_id: None,
        repository_id: None,
        via: Via::Delivery,
        received_at: receiver.clock.now(),
        wanted: true,
        forward: false,
        headers: Vec::new(),
        body,
    };
    receiver.store.record(arrival).await.unwrap();
    StatusCode::ACCEPTED
}
