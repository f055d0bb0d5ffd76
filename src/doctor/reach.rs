//! What answers a GET: the webhook's own URL, and the daemon of this configuration.
//!
//! Our receiver answers a GET 405 before it looks at anything else, and records nothing but a count.

use std::{
    error::Error,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use reqwest::StatusCode;
use url::Url;

use super::Check;

/// How long anything here is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

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

/// Whether the daemon of this configuration runs.
pub(super) async fn daemon(address: SocketAddr) -> Check {
    const NAME: &str = "daemon";
    match healthy(address, Probe::Alive).await {
        Ok(()) => Check::pass(NAME, format!("it answers at {address}")),
        Err(why) => Check::warn(
            NAME,
            format!("it does not answer at {address}: {why}"),
            "start it with systemctl start redeliverd; fine where only redeliverd sweep is used",
        ),
    }
}

/// What a daemon is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// Whether it answers at all.
    Alive,
    /// Whether it can also store what arrives; sweeps may be overdue.
    Ready,
}

/// Whether the daemon that listens at `address` says yes. An address that stands for all is asked
/// for by loopback.
///
/// # Errors
/// Says what came instead.
pub async fn healthy(address: SocketAddr, probe: Probe) -> Result<(), String> {
    let path = match probe {
        Probe::Alive => "/healthz",
        Probe::Ready => "/readyz",
    };
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    let url = format!("http://{}{path}", SocketAddr::new(ip, address.port()));
    let url = Url::parse(&url).map_err(|error| error.to_string())?;
    match get(url).await? {
        StatusCode::OK => Ok(()),
        other => Err(format!("{path} is answered {}", other.as_u16())),
    }
}
