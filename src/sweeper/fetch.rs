//! Takes in a payload that was read through the API as if it had arrived: a receipt `via: api`.

use aws_lc_rs::hmac;
use bytes::Bytes;
use secrecy::{ExposeSecret, SecretString};

use super::Sweeper;
use crate::{
    domain::{
        delivery::{Delivery, Via},
        filter::Interest,
        headers::STORED,
        ids::EventName,
    },
    github::{Detail, GitHubError},
    store::{StoreError, types::Arrival},
};

/// What is made anew: because the bytes are, and because the detail may lack its headers, or have others'.
const REMADE: [&str; 5] = [
    "content-type",
    "x-github-delivery",
    "x-github-event",
    "x-hub-signature-256",
    "x-hub-signature",
];

impl Sweeper {
    /// Records the payload. The inner error is about this one delivery.
    pub(super) async fn take_in(
        &self,
        delivery: &Delivery,
        detail: Detail,
    ) -> Result<Result<(), GitHubError>, StoreError> {
        if detail.guid != delivery.guid {
            return Ok(Err(GitHubError::Refused {
                status: 200,
                message: "the answer is about another delivery".to_owned(),
                hint: "check api_url".to_owned(),
            }));
        }
        let hook = &self.settings.hook;
        let event = if delivery.event.is_unnamed() { &detail.event } else { &delivery.event };
        let event = event.clone();
        let interest = hook.policy.filter.wants(
            &event,
            delivery.action.as_deref(),
            delivery.installation_id,
            delivery.repository_id,
        );
        let headers = headers(&detail, &event, hook.secrets.first());
        let arrival = Arrival {
            hook: hook.name.clone(),
            guid: delivery.guid.clone(),
            event,
            action: delivery.action.clone(),
            installation_id: delivery.installation_id,
            repository_id: delivery.repository_id,
            via: Via::Api,
            received_at: self.clock.now(),
            wanted: interest == Interest::Wanted,
            forward: interest == Interest::Wanted && hook.forward.is_some(),
            headers,
            body: Bytes::from(detail.payload),
        };
        self.store.record(arrival).await?;
        Ok(Ok(()))
    }
}

/// The headers for the hand-over, with the GUID and the event in any case. The bytes are JSON serialised anew, so the content type is JSON
/// and the recorded signature, which no longer fits, is replaced by one with the newest secret.
fn headers(
    detail: &Detail,
    event: &EventName,
    secret: Option<&SecretString>,
) -> Vec<(String, String)> {
    let mut headers: Vec<_> = detail
        .headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
        .filter(|(name, _)| STORED.contains(&name.as_str()) && !REMADE.contains(&name.as_str()))
        .collect();
    for (name, value) in [
        ("x-github-delivery", detail.guid.as_str()),
        ("x-github-event", event.as_str()),
        ("content-type", "application/json"),
    ] {
        headers.push((name.to_owned(), value.to_owned()));
    }
    if let Some(secret) = secret {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes());
        let signature = hex::encode(hmac::sign(&key, &detail.payload));
        headers.push(("x-hub-signature-256".to_owned(), format!("sha256={signature}")));
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Guid;

    #[test]
    fn only_known_headers_stay_and_the_signature_fits_the_new_bytes() {
        let pairs = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("X-GitHub-Event", "pull"),
            ("X-GitHub-Hook-ID", "55"),
            ("X-Hub-Signature-256", "sha256=old"),
            ("X-Github-Encoded-Secret", "c2VjcmV0"), // O34
            ("Authorization", "Bearer x"),
        ];
        let detail = Detail {
            guid: Guid::new("g-1").unwrap(),
            event: EventName::new("push").unwrap(),
            headers: pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            payload: b"Hello, World!".to_vec(),
        };
        // GitHub's published test vector (GITHUB.md section 5).
        let secret = SecretString::from("It's a Secret to Everybody");
        let event = EventName::new("push").unwrap();
        let kept = headers(&detail, &event, Some(&secret));
        let kept: Vec<_> = kept.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(
            kept,
            [
                ("x-github-hook-id", "55"),
                ("x-github-delivery", "g-1"),
                ("x-github-event", "push"),
                ("content-type", "application/json"),
                (
                    "x-hub-signature-256",
                    "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
                ),
            ]
        );
    }
}
