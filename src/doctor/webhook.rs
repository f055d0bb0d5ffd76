//! The webhook's settings as GitHub has them, compared with what is configured here.

use url::{Host, Url};

use super::{Check, reach};
use crate::{
    config::{Hook, host_window},
    domain::policy::Trust,
    github::{HookConfig, scrub},
};

/// `works`: the newest attempt came through, whatever can be seen from here.
pub(super) async fn settings(hook: &Hook, config: &HookConfig, works: bool) -> Vec<Check> {
    let Some(url) = &config.url else {
        return vec![Check::fail(
            "webhook_url",
            "the App has none: GitHub sends nothing",
            "set it in the App's settings, and see that the webhook is active",
        )];
    };
    let mut checks = vec![content_type(config), secret(config)];
    match Url::parse(url) {
        Ok(url) => {
            let ours = match hook.policy.trust {
                Trust::Receipt | Trust::Both => true,
                // The URL is the application's.
                Trust::Github => false,
            };
            checks.push(address(hook, &url, ours));
            checks.push(tls(config, &url));
            checks.push(reach::webhook(url, ours, works).await);
        }
        Err(_) => checks.push(Check::fail(
            "webhook_url",
            "GitHub has something that is no URL",
            "correct it in the App's settings",
        )),
    }
    checks
}

fn address(hook: &Hook, url: &Url, ours: bool) -> Check {
    const NAME: &str = "webhook_url";
    let shown = scrub(url.as_str());
    // GitHub takes no such URL (GITHUB.md section 5); a simulation on this machine does.
    if is_loopback(url) && host_window(&hook.api.base).is_some() {
        let advice = "give the address by which GitHub reaches this machine from outside";
        return Check::fail(NAME, format!("{shown} leads GitHub to itself"), advice);
    }
    if !ours || url.path() == hook.path {
        return Check::pass(NAME, shown);
    }
    Check::warn(
        NAME,
        format!("{shown} has another path than hooks.path, {}", hook.path),
        "fine if a proxy maps the one to the other; else correct the URL in the App's settings, or path",
    )
}

fn content_type(config: &HookConfig) -> Check {
    const NAME: &str = "webhook_content_type";
    match config.content_type.as_deref() {
        Some("json") => Check::pass(NAME, "json"),
        Some(other) => Check::warn(
            NAME,
            scrub(other),
            "it works; application/json in the App's settings spares the application the decoding",
        ),
        None => Check::unknown(NAME, "GitHub does not tell", "see the App's settings"),
    }
}

fn secret(config: &HookConfig) -> Check {
    const NAME: &str = "webhook_secret";
    if config.has_secret {
        return Check::pass(NAME, "GitHub has one, and shows it to nobody");
    }
    Check::fail(
        NAME,
        "GitHub has none: what it sends is not signed, and is refused here",
        "set in the App's settings what the file in webhook_secret_files holds",
    )
}

fn tls(config: &HookConfig, url: &Url) -> Check {
    const NAME: &str = "webhook_tls";
    match (url.scheme(), config.verifies_tls) {
        ("https", true) => Check::pass(NAME, "GitHub checks the certificate"),
        ("https", false) => Check::warn(
            NAME,
            "GitHub does not check the certificate (insecure_ssl)",
            "enable SSL verification in the App's settings",
        ),
        _ if is_loopback(url) => Check::pass(NAME, "plain http, within this machine"),
        _ => Check::warn(
            NAME,
            "plain http: payloads travel in the clear",
            "put TLS before the receiver, and https in the App's settings",
        ),
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
