//! The webhook's settings as GitHub has them, compared with what is configured here.

use url::Url;

use super::{Check, reach};
use crate::{
    config::{Hook, host_window, is_loopback},
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
            let on_this_machine = host_window(&hook.api.base).is_none();
            checks.push(address(&hook.path, &url, ours, on_this_machine));
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

/// `ours`: the receiver behind it is ours, at `path`; `on_this_machine`: so is the GitHub that is asked.
fn address(path: &str, url: &Url, ours: bool, on_this_machine: bool) -> Check {
    const NAME: &str = "webhook_url";
    let shown = scrub(url.as_str());
    // GitHub takes no such URL (GITHUB.md section 5); a simulation on this machine does.
    if is_loopback(url) && !on_this_machine {
        let advice = "give the address by which GitHub reaches this machine from outside";
        return Check::fail(NAME, format!("{shown} leads GitHub to itself"), advice);
    }
    if !ours || url.path() == path {
        return Check::pass(NAME, shown);
    }
    Check::warn(
        NAME,
        format!("{shown} has another path than hooks.path, {path}"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Ending;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn a_url_is_ours_by_its_path_and_never_on_githubs_own_machine() {
        let of = |text, ours| address("/webhook", &url(text), ours, false).result;
        assert_eq!(of("https://h.example/webhook?a=b", true), Ending::Pass);
        assert_eq!(of("https://h.example/webhook/", true), Ending::Warn);
        assert_eq!(of("https://h.example/app", false), Ending::Pass);
        for itself in
            ["https://localhost/webhook", "http://127.0.0.2/webhook", "http://[::1]/webhook"]
        {
            assert_eq!(of(itself, true), Ending::Fail, "{itself}");
            assert_eq!(address("/webhook", &url(itself), true, true).result, Ending::Pass);
        }
    }

    #[test]
    fn payloads_are_private_only_with_a_certificate_that_is_checked() {
        let of = |text, verifies_tls| {
            let config =
                HookConfig { url: None, content_type: None, verifies_tls, has_secret: true };
            tls(&config, &url(text)).result
        };
        assert_eq!(of("https://h.example/", true), Ending::Pass);
        assert_eq!(of("https://h.example/", false), Ending::Warn);
        assert_eq!(of("http://h.example/", true), Ending::Warn);
        assert_eq!(of("http://127.0.0.1/", true), Ending::Pass);
    }
}
