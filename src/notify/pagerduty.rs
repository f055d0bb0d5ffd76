//! `PagerDuty` Events v2: one incident per condition and hook, by a key that never changes.

use chrono::SecondsFormat;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::Url;

use super::{Notice, Notifier, Told, format, http};
use crate::domain::{ids::HookName, notice::Why};

/// `PagerDuty` refuses longer summaries.
const SUMMARY: usize = 1024;

/// One integration of a service.
#[derive(Debug)]
pub(super) struct PagerDuty {
    client: reqwest::Client,
    routing_key: SecretString,
    url: Url,
    source: String,
}

impl PagerDuty {
    pub(super) fn new(routing_key: SecretString, url: Url) -> Result<Self, String> {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let source = if host.trim().is_empty() { "redeliverd" } else { host.trim() }.to_owned();
        Ok(Self { client: http::client(&url)?, routing_key, url, source })
    }

    fn event(&self, notice: &Notice) -> Value {
        let mut event = json!({
            "routing_key": self.routing_key.expose_secret(),
            "event_action": if notice.is_resolved() { "resolve" } else { "trigger" },
            "dedup_key": notice.key(),
        });
        if notice.is_resolved() {
            return event;
        }
        let severity = if notice.why == Why::Test { "info" } else { notice.severity.as_str() };
        let time =
            |at: chrono::DateTime<chrono::Utc>| at.to_rfc3339_opts(SecondsFormat::Secs, true);
        event["payload"] = json!({
            "summary": summary(notice),
            "source": self.source,
            "severity": severity,
            "timestamp": time(notice.since),
            "component": "redeliverd",
            "group": notice.hook.as_ref().map(HookName::as_str),
            "class": notice.name,
            "custom_details": {
                "count": notice.count,
                "oldest": notice.oldest.map(time),
                "guids": notice.guids.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "command": notice.command,
            },
        });
        event
    }
}

impl Notifier for PagerDuty {
    fn tell<'a>(&'a self, notice: &'a Notice) -> Told<'a> {
        let request = self.client.post(self.url.clone()).json(&self.event(notice));
        Box::pin(http::send(request, notice.at))
    }
}

fn summary(notice: &Notice) -> String {
    let text = if notice.why == Why::Test {
        format!("{}: {}", format::title(notice), notice.summary)
    } else {
        notice.summary.clone()
    };
    text.chars().take(SUMMARY).collect()
}
