//! E-mail by SMTP, always encrypted.

use std::time::Duration;

use lettre::{
    AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor,
    message::{Mailbox, header::ContentType},
    transport::smtp::authentication::Credentials,
};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::{Failure, Notice, Notifier, Told, format};
use crate::config::Tls;

/// How long one command to the server may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a whole message may take.
const TOTAL: Duration = Duration::from_secs(30);

/// One sender, one recipient, one server.
pub(super) struct Email {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    to: Mailbox,
}

impl std::fmt::Debug for Email {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Email")
            .field("from", &self.from)
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}

impl Email {
    /// `url` is `smtp://USER:PASSWORD@HOST:PORT`; user and port may be left out. How the connection
    /// is encrypted stands in `tls` alone, whatever the scheme.
    pub(super) fn new(url: &SecretString, from: &str, to: &str, tls: Tls) -> Result<Self, String> {
        const FORM: &str = "smtp_url_file must hold smtp://USER:PASSWORD@HOST:PORT";
        let url = Url::parse(url.expose_secret()).map_err(|_| FORM)?;
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(FORM)?;
        let relay = match tls {
            Tls::StartTls => AsyncSmtpTransport::<Tokio1Executor>::starttls_relay(host),
            Tls::Tls => AsyncSmtpTransport::<Tokio1Executor>::relay(host),
        };
        let mut relay = relay
            .map_err(|error| format!("TLS cannot be set up: {error}"))?
            .timeout(Some(PATIENCE));
        if let Some(port) = url.port() {
            relay = relay.port(port);
        }
        if !url.username().is_empty() {
            let password = url.password().unwrap_or_default();
            relay = relay.credentials(Credentials::new(decode(url.username()), decode(password)));
        }
        let mailbox = |key: &str, text: &str| {
            text.parse::<Mailbox>().map_err(|error| format!("{key} is no address: {error}"))
        };
        Ok(Self { transport: relay.build(), from: mailbox("from", from)?, to: mailbox("to", to)? })
    }

    async fn send(&self, notice: &Notice) -> Result<(), Failure> {
        let message = Message::builder()
            .from(self.from.clone())
            .to(self.to.clone())
            .subject(format!("[redeliverd] {}", format::title(notice)))
            .date(notice.at.into())
            .message_id(None)
            .header(ContentType::TEXT_PLAIN)
            .body(format!("{}\n", format::lines(notice).join("\n\n")))
            .map_err(|error| Failure::new(format!("the message cannot be made: {error}")))?;
        match tokio::time::timeout(TOTAL, self.transport.send(message)).await {
            Ok(Ok(_accepted)) => Ok(()),
            Ok(Err(error)) => Err(Failure::new(reason(&error))),
            Err(_) => Err(Failure::new(format!("not sent within {} s", TOTAL.as_secs()))),
        }
    }
}

impl Notifier for Email {
    fn tell<'a>(&'a self, notice: &'a Notice) -> Told<'a> {
        Box::pin(self.send(notice))
    }
}

/// User and password as they were meant: a URL carries them percent-encoded.
fn decode(text: &str) -> String {
    // In a form `+` is a space; in a URL's user info it is itself.
    let pair = format!("={}", text.replace('+', "%2B"));
    form_urlencoded::parse(pair.as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

fn reason(error: &lettre::transport::smtp::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
