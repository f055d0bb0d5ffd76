//! `[alerts]`: when operators are told, and through which channels.

use std::time::Duration;

use chrono::TimeDelta;
use secrecy::SecretString;
use url::Url;

use super::{
    checker::{Check, delta},
    kinds::PingUrl,
    raw,
    read::At,
    web,
};
use crate::domain::delivery::words;

/// `[alerts]`
#[derive(Debug, Clone)]
pub struct Alerts {
    /// How often conditions are assessed, beside after every sweep.
    pub check_every: Duration,
    /// How long something may be missing.
    pub missing_after: TimeDelta,
    /// How close to the end of its window a missing delivery may come.
    pub closing_within: TimeDelta,
    /// When a condition that still holds is told again.
    pub repeat_every: TimeDelta,
    /// How long no delivery at all may come; `None`: for ever.
    pub silence_after: Option<TimeDelta>,
    /// Requested after each complete sweep. The URL is often a secret in itself.
    pub heartbeat_url: Option<SecretString>,
    /// Whom to tell, beside the log.
    pub channels: Vec<Channel>,
}

/// One way to tell operators.
#[derive(Debug, Clone)]
pub enum Channel {
    /// All peers of a Prometheus Alertmanager.
    Alertmanager {
        /// Their base URLs; never empty.
        urls: Vec<Url>,
    },
    /// A Slack-compatible incoming webhook.
    Slack {
        /// Where to post; whoever knows it may post.
        url: SecretString,
    },
    /// `PagerDuty` Events v2.
    PagerDuty {
        /// The integration's key.
        routing_key: SecretString,
        /// Where to post.
        url: Url,
    },
    /// JSON by POST, signed as Standard Webhooks specifies.
    Webhook {
        /// Where to post.
        url: Url,
        /// The signing secret.
        secret: SecretString,
    },
    /// E-mail.
    Email {
        /// The server, with credentials.
        smtp_url: SecretString,
        /// Sender.
        from: String,
        /// Recipient.
        to: String,
        /// How the connection is encrypted.
        tls: Tls,
    },
}

/// Which kind of channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelKind {
    /// [`Channel::Alertmanager`]
    Alertmanager,
    /// [`Channel::Slack`]
    Slack,
    /// [`Channel::PagerDuty`]
    PagerDuty,
    /// [`Channel::Webhook`]
    Webhook,
    /// [`Channel::Email`]
    Email,
}

/// How a connection to a mail server is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// Begins in the clear, and switches before anything is said.
    StartTls,
    /// From the first byte.
    Tls,
}

words!(ChannelKind {
    Alertmanager = "alertmanager",
    Slack = "slack",
    PagerDuty = "pagerduty",
    Webhook = "webhook",
    Email = "email",
});
words!(Tls { StartTls = "starttls", Tls = "tls" });

const PAGERDUTY: &str = "https://events.pagerduty.com/v2/enqueue";

pub(super) fn alerts(check: &mut Check<'_>, at: &At, raw: raw::Alerts) -> Option<Alerts> {
    let check_every = check.positive(at, "check_every", raw.check_every);
    let missing_after = check.positive(at, "missing_after", raw.missing_after);
    let closing_within = check.positive(at, "closing_within", raw.closing_within);
    let repeat_every = check.positive(at, "repeat_every", raw.repeat_every);
    let silence_after =
        raw.silence_after.and_then(|span| check.positive(at, "silence_after", Some(span)));
    let heartbeat_url = raw.heartbeat_url.and_then(|PingUrl(url)| match web::target(&url) {
        Ok(()) => Some(url),
        Err(wrong) => check.wrong(at, "heartbeat_url", None, wrong),
    });
    let channels: Vec<_> = raw
        .channels
        .unwrap_or_default()
        .into_iter()
        .enumerate()
        .filter_map(|(index, raw)| channel(check, &at.key("channels").item(index), raw))
        .collect();
    Some(Alerts {
        check_every: check_every?,
        missing_after: delta(missing_after?),
        closing_within: delta(closing_within?),
        repeat_every: delta(repeat_every?),
        silence_after: silence_after.map(delta),
        heartbeat_url: heartbeat_url.map(|url| url.to_string().into()),
        channels,
    })
}

fn channel(check: &mut Check<'_>, at: &At, raw: raw::Channel) -> Option<Channel> {
    let kind = check.need(at, "kind", raw.kind)?;
    let usable = keys_of(kind);
    for (key, set) in [
        ("urls", raw.urls.is_some()),
        ("url", raw.url.is_some()),
        ("url_file", raw.url_file.is_some()),
        ("secret_file", raw.secret_file.is_some()),
        ("routing_key_file", raw.routing_key_file.is_some()),
        ("smtp_url_file", raw.smtp_url_file.is_some()),
        ("from", raw.from.is_some()),
        ("to", raw.to.is_some()),
        ("tls", raw.tls.is_some()),
    ] {
        if set && !usable.contains(&key) {
            let message = format!("is not a key of kind = \"{}\"", kind.as_str());
            check.error(at, key, &message, &format!("its keys are {}", usable.join(", ")));
        }
    }
    match kind {
        ChannelKind::Alertmanager => {
            let urls = check.need(at, "urls", raw.urls)?;
            if urls.is_empty() {
                check.error(at, "urls", "is empty", "name every peer");
            }
            let count = urls.len();
            let urls: Vec<_> =
                urls.into_iter().filter_map(|url| check.target(at, "urls", Some(url))).collect();
            (urls.len() == count).then_some(Channel::Alertmanager { urls })
        }
        ChannelKind::Slack => {
            let url =
                check.secret(at, ("secret_url", raw.secret_url), ("url_file", raw.url_file))?;
            match Url::parse(secrecy::ExposeSecret::expose_secret(&url)).map(|u| web::target(&u)) {
                Ok(Ok(())) => Some(Channel::Slack { url }),
                Ok(Err(wrong)) => check.wrong(at, "url_file", None, wrong),
                Err(_) => check.refuse(at, "url_file", "holds no URL", "one line, https://..."),
            }
        }
        ChannelKind::PagerDuty => {
            let file = ("routing_key_file", raw.routing_key_file);
            let routing_key = check.secret(at, ("routing_key", raw.routing_key), file);
            let url = raw.url.or_else(|| Url::parse(PAGERDUTY).ok());
            let url = check.target(at, "url", url);
            Some(Channel::PagerDuty { routing_key: routing_key?, url: url? })
        }
        ChannelKind::Webhook => {
            let url = check.target(at, "url", raw.url);
            let file = ("secret_file", raw.secret_file);
            let secret = check.secret(at, ("secret", raw.secret), file);
            Some(Channel::Webhook { url: url?, secret: secret? })
        }
        ChannelKind::Email => {
            let file = ("smtp_url_file", raw.smtp_url_file);
            let smtp_url = check.secret(at, ("smtp_url", raw.smtp_url), file);
            let from = mailbox(check, at, "from", raw.from);
            let to = mailbox(check, at, "to", raw.to);
            let tls = check.need(at, "tls", raw.tls);
            Some(Channel::Email { smtp_url: smtp_url?, from: from?, to: to?, tls: tls? })
        }
    }
}

fn keys_of(kind: ChannelKind) -> &'static [&'static str] {
    match kind {
        ChannelKind::Alertmanager => &["urls"],
        ChannelKind::Slack => &["url_file"],
        ChannelKind::PagerDuty => &["routing_key_file", "url"],
        ChannelKind::Webhook => &["url", "secret_file"],
        ChannelKind::Email => &["smtp_url_file", "from", "to", "tls"],
    }
}

fn mailbox(check: &mut Check<'_>, at: &At, key: &str, text: Option<String>) -> Option<String> {
    let text = check.need(at, key, text)?;
    let plain = !text.contains(['\r', '\n'])
        && text.split_once('@').is_some_and(|(l, r)| !l.is_empty() && !r.is_empty());
    if plain {
        Some(text)
    } else {
        check.refuse(at, key, "is no address", "for example a@b.example")
    }
}
