//! Which URLs are acceptable, what host an API URL means, and how a URL is shown.

use std::time::Duration;

use chrono::TimeDelta;
use url::{Host, Url};

use super::read::Wrong;

/// What a GitHub API URL points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApiHost {
    /// github.com or GHE.com.
    Cloud,
    /// A GitHub Enterprise Server.
    Server,
    /// A simulation or a tunnel on this machine.
    Loopback,
}

impl ApiHost {
    pub(super) fn of(url: &Url) -> Self {
        match url.domain() {
            _ if is_loopback(url) => Self::Loopback,
            Some(name) if name == "api.github.com" || name.ends_with(".ghe.com") => Self::Cloud,
            Some(_) | None => Self::Server,
        }
    }

    /// After this such a host gives a delivery up (GITHUB.md section 5).
    fn patience(self) -> Duration {
        match self {
            Self::Server => Duration::from_secs(30),
            Self::Cloud | Self::Loopback => Duration::from_secs(10),
        }
    }

    /// How far back such a host lists and redelivers (GITHUB.md section 3).
    pub(super) fn window(self) -> TimeDelta {
        match self {
            Self::Cloud => TimeDelta::days(3),
            Self::Server | Self::Loopback => TimeDelta::days(7),
        }
    }
}

/// How long GitHub keeps deliveries at the host of an API (GITHUB.md section 3); `None`: the host is
/// this machine, so that nobody can say.
#[must_use]
pub fn host_window(api: &Url) -> Option<TimeDelta> {
    match ApiHost::of(api) {
        ApiHost::Loopback => None,
        host @ (ApiHost::Cloud | ApiHost::Server) => Some(host.window()),
    }
}

/// After how long the host of an API gives a delivery up (GITHUB.md section 5); a simulation counts
/// as github.com.
#[must_use]
pub fn host_patience(api: &Url) -> Duration {
    ApiHost::of(api).patience()
}

/// Whether the URL names this machine: 127.0.0.0/8, `::1` or `localhost`.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// A URL that we may send something to: https, or http on loopback; no user info, no fragment.
pub(super) fn target(url: &Url) -> Result<(), Wrong> {
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(url) => {}
        "http" => {
            return Err(Wrong::new("is plain http to another machine")
                .hint("use https; http is for 127.0.0.0/8, [::1] and localhost only"));
        }
        _ => return Err(Wrong::new("is neither https nor http").hint("begin it with https://")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Wrong::new("holds a user name or password").hint("remove the part before @"));
    }
    if url.fragment().is_some() {
        return Err(Wrong::new("has a fragment").hint("remove # and what follows"));
    }
    Ok(())
}

/// The base of GitHub's API: a [`target`] without query; a trailing slash is dropped where a URL
/// can do without.
pub(super) fn api_base(mut url: Url) -> Result<Url, Wrong> {
    target(&url)?;
    if url.query().is_some() {
        return Err(Wrong::new("has a query").hint("remove ? and what follows"));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    let api = |host: &str| Wrong::new("is not the API").hint(format!("use https://{host}"));
    match url.domain().map(str::to_owned) {
        Some(name) if name == "github.com" || name == "www.github.com" => {
            Err(api("api.github.com"))
        }
        Some(name) if name == "api.github.com" && !path.is_empty() => Err(api("api.github.com")),
        Some(name) if name.ends_with(".ghe.com") && !name.starts_with("api.") => {
            Err(api(&format!("api.{name}")))
        }
        Some(name) if name.ends_with(".ghe.com") && !path.is_empty() => Err(api(&name)),
        Some(_) | None => Ok(url),
    }
}

/// The URL for people: password and query hidden, and over HTTP the user name too, which may be a
/// token.
pub(super) fn masked(url: &Url) -> String {
    let mut shown = url.clone();
    if !shown.username().is_empty() && matches!(shown.scheme(), "http" | "https") {
        let _ = shown.set_username("***");
    }
    if shown.password().is_some() {
        // Refused only where there can be no user info at all.
        let _ = shown.set_password(Some("***"));
    }
    if shown.query().is_some() {
        shown.set_query(Some("***"));
    }
    shown.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> Result<String, String> {
        match api_base(text.parse().unwrap()) {
            Ok(url) => Ok(url.to_string()),
            Err(wrong) => Err(format!("{}; {}", wrong.message, wrong.hint.unwrap_or_default())),
        }
    }

    #[test]
    fn an_api_base_loses_its_trailing_slash() {
        assert_eq!(base("https://ghes.example/api/v3/").unwrap(), "https://ghes.example/api/v3");
        // A URL without any path is always written with a slash.
        assert_eq!(base("https://api.github.com").unwrap(), "https://api.github.com/");
    }

    #[test]
    fn plain_http_is_for_loopback_only() {
        for ok in
            ["http://127.0.0.1:1/", "http://127.9.8.7/", "http://[::1]:2/", "http://LOCALHOST/"]
        {
            assert!(base(ok).is_ok(), "{ok}");
        }
        for bad in ["http://10.0.0.1/", "http://localhost.example/", "http://[::2]/", "ftp://a/"] {
            assert!(base(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_not_the_api_gets_the_right_address() {
        for (wrong, right) in [
            ("https://github.com", "https://api.github.com"),
            ("https://github.com/acme", "https://api.github.com"),
            ("https://api.github.com/api/v3", "https://api.github.com"),
            ("https://acme.ghe.com", "https://api.acme.ghe.com"),
            ("https://api.acme.ghe.com/api/v3", "https://api.acme.ghe.com"),
        ] {
            let refusal = base(wrong).unwrap_err();
            assert!(refusal.ends_with(&format!("use {right}")), "{wrong}: {refusal}");
        }
    }

    #[test]
    fn user_info_query_and_fragment_are_refused() {
        for bad in [
            "https://u@h.example/",
            "https://u:p@h.example/",
            "https://h.example/?a",
            "https://h.example/#a",
        ] {
            assert!(base(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_window_is_the_hosts() {
        for (url, days) in [
            ("https://api.github.com", 3),
            ("https://api.acme.ghe.com", 3),
            ("https://github.acme.example/api/v3", 7),
        ] {
            assert_eq!(ApiHost::of(&url.parse().unwrap()).window(), TimeDelta::days(days), "{url}");
        }
    }

    #[test]
    fn a_shown_url_has_no_password_no_token_and_no_query() {
        assert_eq!(
            masked(&"https://token@h.example/a".parse().unwrap()),
            "https://***@h.example/a"
        );
        let url = "postgres://user:hunter2@host/db?password=hunter2".parse().unwrap();
        assert_eq!(masked(&url), "postgres://user:***@host/db?***");
    }
}
