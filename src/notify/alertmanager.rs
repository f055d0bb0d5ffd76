//! Alertmanager's API v2: labels that never change, everything that does in annotations.
//!
//! Alertmanager takes an alert for ended when it hears nothing for a while, and reminds people by
//! its own rules, so a firing one is sent again every minute. Peers share what they told, not what
//! they were sent, so each gets everything.

use chrono::{SecondsFormat, TimeDelta};
use serde_json::{Map, Value, json};
use url::Url;

use super::{Failure, Notice, Notifier, Told, format, http};
use crate::domain::notice::Why;

/// How often a firing alert is sent again.
const RESEND: TimeDelta = TimeDelta::minutes(1);

/// How long an alert holds without being sent again: a daemon that died claims nothing for ever.
const HOLDS: TimeDelta = TimeDelta::minutes(5);

/// All peers of one Alertmanager.
#[derive(Debug)]
pub(super) struct Alertmanager {
    client: reqwest::Client,
    peers: Vec<Url>,
}

impl Alertmanager {
    pub(super) fn new(urls: &[Url]) -> Result<Self, String> {
        let first = urls.first().ok_or("urls is empty")?;
        let peers = urls
            .iter()
            .map(|base| {
                let mut url = base.clone();
                url.path_segments_mut()
                    .map_err(|()| "urls: not a web address".to_owned())?
                    .pop_if_empty()
                    .extend(["api", "v2", "alerts"]);
                Ok(url)
            })
            .collect::<Result<_, String>>()?;
        Ok(Self { client: http::client(first)?, peers })
    }
}

impl Notifier for Alertmanager {
    /// Fails when no peer took it: one that did tells people.
    fn tell<'a>(&'a self, notice: &'a Notice) -> Told<'a> {
        Box::pin(async move {
            let alerts = json!([alert(notice)]);
            let mut told = Err(Failure::new("there is no peer"));
            for peer in &self.peers {
                let request = self.client.post(peer.clone()).json(&alerts);
                let sent = http::send(request, notice.at).await;
                if let (Err(failure), true) = (&sent, self.peers.len() > 1) {
                    let peer = peer.host_str().unwrap_or_default();
                    tracing::warn!(peer, error = %failure, "an Alertmanager peer took no alert");
                }
                if told.is_err() {
                    told = sent;
                }
            }
            told
        })
    }

    fn repeat_every(&self, configured: TimeDelta) -> TimeDelta {
        configured.min(RESEND)
    }
}

fn alert(notice: &Notice) -> Value {
    let time = |at: chrono::DateTime<chrono::Utc>| at.to_rfc3339_opts(SecondsFormat::Millis, true);
    let mut labels = Map::new();
    labels.insert("alertname".to_owned(), notice.name.into());
    labels.insert("service".to_owned(), "redeliverd".into());
    labels.insert("severity".to_owned(), notice.severity.as_str().into());
    if let Some(hook) = &notice.hook {
        labels.insert("hook".to_owned(), hook.as_str().into());
    }
    let mut annotations = Map::new();
    annotations.insert("summary".to_owned(), notice.summary.as_str().into());
    annotations.insert("command".to_owned(), notice.command.as_str().into());
    if notice.count > 0 {
        annotations.insert("count".to_owned(), notice.count.to_string().into());
    }
    if let Some(oldest) = notice.oldest {
        annotations.insert("oldest".to_owned(), time(oldest).into());
    }
    if !notice.guids.is_empty() {
        annotations.insert("guids".to_owned(), format::guids(notice).into());
    }
    let ends_at = match notice.why {
        Why::Resolved => notice.at,
        Why::Test => notice.at + RESEND,
        Why::New | Why::Grown | Why::Reminder => notice.at + HOLDS,
    };
    json!({
        "labels": labels,
        "annotations": annotations,
        "startsAt": time(notice.since),
        "endsAt": time(ends_at),
    })
}
