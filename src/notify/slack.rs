//! Slack's incoming webhooks, and what understands the same: one message per notice.

use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::Url;

use super::{Notice, Notifier, Told, format, http};

/// One incoming webhook.
#[derive(Debug)]
pub(super) struct Slack {
    client: reqwest::Client,
    url: SecretString,
}

impl Slack {
    pub(super) fn new(url: SecretString) -> Result<Self, String> {
        let parsed = Url::parse(url.expose_secret()).map_err(|_| "url_file holds no URL")?;
        Ok(Self { client: http::client(&parsed)?, url })
    }
}

impl Notifier for Slack {
    fn tell<'a>(&'a self, notice: &'a Notice) -> Told<'a> {
        let request =
            self.client.post(self.url.expose_secret()).json(&json!({ "text": text(notice) }));
        Box::pin(http::send(request, notice.at))
    }
}

fn text(notice: &Notice) -> String {
    let mut text = format!("*{}*", escape(&format::title(notice)));
    for line in format::lines(notice) {
        text.push('\n');
        text.push_str(&escape(&line));
    }
    text
}

/// The three characters that mean something in a message.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
