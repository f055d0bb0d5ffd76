//! JSON by POST, signed as Standard Webhooks specifies, for programs.

use aws_lc_rs::{digest, hmac};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use chrono::SecondsFormat;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::Url;

use super::{Notice, Notifier, Told, http};
use crate::domain::ids::HookName;

/// What secrets of Standard Webhooks begin with; the rest is base64 of the key.
const PREFIX: &str = "whsec_";

/// One endpoint.
#[derive(Debug)]
pub(super) struct Webhook {
    client: reqwest::Client,
    url: Url,
    key: hmac::Key,
}

impl Webhook {
    /// A secret without the standard's prefix is the key itself.
    pub(super) fn new(url: Url, secret: &SecretString) -> Result<Self, String> {
        let secret = secret.expose_secret();
        let key = match secret.strip_prefix(PREFIX) {
            Some(encoded) => STANDARD
                .decode(encoded)
                .map_err(|_| format!("what follows {PREFIX} in the secret is not base64"))?,
            None => secret.as_bytes().to_vec(),
        };
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        Ok(Self { client: http::client(&url)?, url, key })
    }

    fn signature(&self, id: &str, timestamp: i64, body: &str) -> String {
        let tag = hmac::sign(&self.key, format!("{id}.{timestamp}.{body}").as_bytes());
        format!("v1,{}", STANDARD.encode(tag))
    }
}

impl Notifier for Webhook {
    fn tell<'a>(&'a self, notice: &'a Notice) -> Told<'a> {
        let (id, timestamp, body) = (id(notice), notice.at.timestamp(), body(notice));
        let request = self
            .client
            .post(self.url.clone())
            .header("content-type", "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", self.signature(&id, timestamp, &body))
            .body(body);
        Box::pin(http::send(request, notice.at))
    }
}

/// The same for every try at the same notice, so that the other side can drop what it has.
fn id(notice: &Notice) -> String {
    let turn = notice.turn.to_rfc3339_opts(SecondsFormat::Micros, true);
    let text = format!("{} {} {turn}", notice.key(), notice.why.as_str());
    let hash = hex::encode(digest::digest(&digest::SHA256, text.as_bytes()));
    format!("msg_{}", hash.chars().take(32).collect::<String>())
}

fn body(notice: &Notice) -> String {
    let time = |at: chrono::DateTime<chrono::Utc>| at.to_rfc3339_opts(SecondsFormat::Secs, true);
    let state = match (notice.name, notice.is_resolved()) {
        ("test", _) => "test",
        (_, true) => "resolved",
        (_, false) => "firing",
    };
    json!({
        "type": format!("condition.{state}"),
        "timestamp": time(notice.at),
        "data": {
            "condition": notice.name,
            "hook": notice.hook.as_ref().map(HookName::as_str),
            "state": state,
            "why": notice.why.as_str(),
            "severity": notice.severity.as_str(),
            "summary": notice.summary,
            "since": time(notice.since),
            "count": notice.count,
            "oldest": notice.oldest.map(time),
            "guids": notice.guids.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "command": notice.command,
        },
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the standard's own verification libraries.
    #[tokio::test]
    async fn the_signature_is_the_one_of_the_standard() {
        let secret = SecretString::from("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let webhook = Webhook::new("https://a.example".parse().unwrap(), &secret).unwrap();
        let signature = webhook.signature(
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
