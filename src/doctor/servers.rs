//! Who takes connections: the application, the alert channels, the heartbeat's server.
//!
//! They are connected to and sent nothing: an event, an alert or a beat would mean something.

use secrecy::ExposeSecret;
use tokio::{net::TcpStream, time::timeout};
use url::Url;

use super::{Check, reach::PATIENCE};
use crate::{
    config::{Alerts, Channel, Forward, Tls},
    notify,
};

/// Whether the application takes connections.
pub(super) async fn application(forward: &Forward) -> Check {
    const NAME: &str = "handover";
    match connect(&forward.url, 443).await {
        Ok(at) => Check::pass(NAME, format!("the application takes connections at {at}")),
        Err(why) => Check::fail(
            NAME,
            why,
            "start the application, or correct hooks.forward.url; events wait until then",
        ),
    }
}

/// Whether each alert channel is usable and its server takes connections.
pub(super) async fn channels(alerts: &Alerts) -> Vec<Check> {
    const NAME: &str = "channel";
    const TEST: &str = "redeliverd test-alert tries it, with a marked alert";
    let named = match notify::channels(alerts) {
        Ok(named) => named,
        Err(error) => {
            return vec![Check::fail(
                NAME,
                error.to_string(),
                "correct it: serve does not start so",
            )];
        }
    };
    let mut checks = Vec::new();
    // The log comes first among the named ones.
    for (channel, named) in alerts.channels.iter().zip(named.iter().skip(1)) {
        let (urls, port) = servers(channel);
        for url in urls {
            checks.push(match url {
                Some(url) => server(NAME, &named.name, &url, port, TEST).await,
                None => Check::fail(NAME, format!("{}: its file holds no URL", named.name), TEST),
            });
        }
    }
    if checks.is_empty() {
        let advice = "add [[alerts.channels]], or have Prometheus alert on the metrics";
        checks.push(Check::warn(NAME, "there is none: alerts go to the log only", advice));
    }
    checks
}

/// Whether the server of `heartbeat_url` takes connections; `None`: there is no such URL. No beat is
/// sent, for it would tell that a sweep was complete.
pub(super) async fn heartbeat(alerts: &Alerts) -> Option<Check> {
    const NAME: &str = "heartbeat";
    const ADVICE: &str =
        "correct alerts.heartbeat_url, or the way there: a dead man's switch fires";
    let url = Url::parse(alerts.heartbeat_url.as_ref()?.expose_secret()).ok()?;
    Some(server(NAME, NAME, &url, 443, ADVICE).await)
}

/// One server that is told something now and then. `who`: what it is called for people.
async fn server(name: &'static str, who: &str, url: &Url, port: u16, advice: &str) -> Check {
    match connect(url, port).await {
        Ok(at) => Check::pass(name, format!("{who}: {at} takes connections")),
        Err(why) if url.scheme() == "https" && behind_proxy() => {
            Check::unknown(name, format!("{who}: only a proxy leads there ({why})"), advice)
        }
        Err(why) => Check::fail(name, format!("{who}: {why}"), advice),
    }
}

/// Where a channel connects to, and the port where the URL names none and its scheme has none.
fn servers(channel: &Channel) -> (Vec<Option<Url>>, u16) {
    match channel {
        Channel::Alertmanager { urls } => (urls.iter().cloned().map(Some).collect(), 443),
        Channel::Slack { url } => (vec![Url::parse(url.expose_secret()).ok()], 443),
        Channel::PagerDuty { url, .. } | Channel::Webhook { url, .. } => {
            (vec![Some(url.clone())], 443)
        }
        Channel::Email { smtp_url, tls, .. } => {
            let port = match tls {
                Tls::StartTls => 587,
                Tls::Tls => 465,
            };
            (vec![Url::parse(smtp_url.expose_secret()).ok()], port)
        }
    }
}

fn behind_proxy() -> bool {
    ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .into_iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Connects and hangs up; gives host and port, which are no secret even where the path is.
async fn connect(url: &Url, port: u16) -> Result<String, String> {
    let host = url.host_str().ok_or("its URL names no host")?;
    let port = url.port_or_known_default().unwrap_or(port);
    let at = format!("{host}:{port}");
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match timeout(PATIENCE, TcpStream::connect((bare, port))).await {
        Ok(Ok(_)) => Ok(at),
        Ok(Err(error)) => Err(format!("{at} cannot be reached: {error}")),
        Err(_) => Err(format!("{at} does not answer within {} s", PATIENCE.as_secs())),
    }
}
