//! What answers at an address: the webhook's own URL, the application, the alert channels, ourselves.
//!
//! The webhook's URL gets a GET, which our receiver answers 405 before it looks at anything else; it
//! records nothing but a count. Applications and channels are connected to, and sent nothing.

use std::{
    error::Error,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use reqwest::StatusCode;
use secrecy::ExposeSecret;
use tokio::{net::TcpStream, time::timeout};
use url::Url;

use super::Check;
use crate::{
    config::{Alerts, Channel, Forward, Tls},
    notify,
};

/// How long anything here is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The status of a plain GET, without following a redirect.
async fn get(url: Url) -> Result<StatusCode, String> {
    let builder = reqwest::Client::builder()
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("redeliverd/", env!("CARGO_PKG_VERSION"), " doctor"));
    // Plain http is for this machine, or near it: no proxy belongs there.
    let builder = if url.scheme() == "http" { builder.no_proxy() } else { builder };
    let client = builder.build().map_err(|error| root(&error))?;
    client.get(url).send().await.map(|answer| answer.status()).map_err(|error| root(&error))
}

/// The innermost cause, which names no URL.
fn root(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", PATIENCE.as_secs());
    }
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if cause.is::<reqwest::Error>() { "the request failed".to_owned() } else { cause.to_string() }
}

/// Whether a receiver answers at the URL that GitHub uses, `ours` or the application's. `works`: the
/// newest attempt came through, so that GitHub can reach it even where this machine cannot.
pub(super) async fn webhook(url: Url, ours: bool, works: bool) -> Check {
    const NAME: &str = "webhook_reachable";
    let status = match get(url).await {
        Ok(status) => status,
        Err(why) if works => {
            let detail =
                format!("not from here ({why}), though GitHub's newest attempt got through");
            return Check::warn(
                NAME,
                detail,
                "fine if this machine cannot reach its own outer address",
            );
        }
        Err(why) => {
            let advice = "is redeliverd serve running, and do DNS, firewall and proxy lead to it?";
            return Check::fail(NAME, format!("nobody answers a GET from here: {why}"), advice);
        }
    };
    let code = status.as_u16();
    match code {
        400 | 401 | 405 => {
            Check::pass(NAME, format!("a GET is answered {code}, as a receiver does"))
        }
        404 => Check::fail(
            NAME,
            "something answers a GET with 404: it knows no such path",
            "compare the URL in the App's settings with hooks.path and the proxy's rules",
        ),
        300..=399 => Check::fail(
            NAME,
            format!("a GET is answered {code}, a redirect, which GitHub does not follow"),
            "give the final address in the App's settings",
        ),
        500.. => Check::fail(
            NAME,
            format!("a GET is answered {code} by a proxy in front, or by a receiver in trouble"),
            "is redeliverd serve running, and does the proxy point at receiver.listen?",
        ),
        _ if ours => Check::fail(
            NAME,
            format!("a GET is answered {code}; our receiver would answer 405"),
            "something else answers there: compare the address, and look at the proxy's rules",
        ),
        _ => Check::pass(NAME, format!("a GET is answered {code}")),
    }
}

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
                Some(url) => match connect(&url, port).await {
                    Ok(at) => Check::pass(NAME, format!("{}: {at} takes connections", named.name)),
                    Err(why) if url.scheme() == "https" && behind_proxy() => {
                        let detail = format!("{}: only a proxy leads there ({why})", named.name);
                        Check::unknown(NAME, detail, TEST)
                    }
                    Err(why) => Check::fail(NAME, format!("{}: {why}", named.name), TEST),
                },
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

/// Whether the daemon of this configuration runs.
pub(super) async fn daemon(address: SocketAddr) -> Check {
    const NAME: &str = "daemon";
    match healthy(address).await {
        Ok(()) => Check::pass(NAME, format!("it answers at {address}")),
        Err(why) => Check::warn(
            NAME,
            format!("it does not answer at {address}: {why}"),
            "start it with systemctl start redeliverd; fine where only redeliverd sweep is used",
        ),
    }
}

/// Whether the daemon that listens at `address` says that it is alive. An address that stands for
/// all is asked for by loopback.
///
/// # Errors
/// Says what came instead.
pub async fn healthy(address: SocketAddr) -> Result<(), String> {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    let url = format!("http://{}/healthz", SocketAddr::new(ip, address.port()));
    let url = Url::parse(&url).map_err(|error| error.to_string())?;
    match get(url).await? {
        StatusCode::OK => Ok(()),
        other => Err(format!("/healthz is answered {}", other.as_u16())),
    }
}
