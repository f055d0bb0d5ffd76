//! One hook as GitHub sees it: clock, key, App, the webhook's settings, its latest attempts.

use chrono::{DateTime, TimeDelta, Utc};

use super::{Check, webhook};
use crate::{
    config::{Credential, Hook},
    domain::clock_offset::ClockOffset,
    github::{AppInfo, Client, Failure, GitHubError, Page, PageRef},
};

/// From here on a clock is remarked on, and from here on called wrong: a token is dated back by a
/// minute, and GitHub takes none from the future (GITHUB.md section 6).
const CLOCK_WARN_SECONDS: i64 = 10;
const CLOCK_FAIL_SECONDS: i64 = 60;

/// So long a delivery is taken for a sign that the webhook is still switched on.
const ACTIVE_HOURS: i64 = 1;

/// The checks that need GitHub, in the order in which they are shown.
const NAMES: [&str; 10] = [
    "clock",
    "key",
    "app",
    "webhook_url",
    "webhook_content_type",
    "webhook_secret",
    "webhook_tls",
    "webhook_reachable",
    "webhook_active",
    "attempts",
];

/// All of them, and whether GitHub refused the credential.
pub(super) async fn checks(hook: &Hook, client: &Client, now: DateTime<Utc>) -> (Vec<Check>, bool) {
    let Credential::App { issuer, .. } = &hook.api.credential;
    let (app, meta) = match client.app().await {
        Ok(known) => known,
        Err(failure) => {
            let key = failed("key", &failure.error);
            if !is_refusal(&failure) {
                let why = "GitHub gives no usable answer";
                return (rest_unknown(vec![key], why, "see key, and try again later"), false);
            }
            // The refusal has GitHub's time, and a wrong clock is a likely cause.
            let found = vec![clock(failure.clock_offset), key];
            return (
                rest_unknown(found, "GitHub refuses the key", "put the key right first"),
                true,
            );
        }
    };
    let mut checks = vec![
        clock(meta.clock_offset),
        Check::pass("key", "GitHub accepts it"),
        same_app(issuer, &app),
    ];
    let mut refused = false;
    let page = client.list_attempts(&PageRef::Head).await;
    match client.hook_config().await {
        Ok((config, _)) => {
            let newest = page.as_ref().ok().and_then(|page| page.rows.first());
            let works = newest.is_some_and(|row| row.attempt.succeeded());
            checks.extend(webhook::settings(hook, &config, works).await);
        }
        Err(failure) => {
            refused |= is_refusal(&failure);
            checks.push(failed("webhook_url", &failure.error));
        }
    }
    match &page {
        Ok(page) => {
            // GitHub's time is compared with GitHub's.
            let now = ClockOffset::measured(meta.clock_offset.unwrap_or_default()).to_githubs(now);
            checks.extend([active(page, now), attempts(page)]);
        }
        Err(failure) => {
            refused |= is_refusal(failure);
            checks.push(failed("attempts", &failure.error));
        }
    }
    let advice = "put right what failed, or try again later";
    (rest_unknown(checks, "GitHub did not tell", advice), refused)
}

fn is_refusal(failure: &Failure) -> bool {
    matches!(failure.error, GitHubError::Unauthorized { .. })
}

/// Nothing is asked before `until`, when GitHub's rate limit ends that a sweep met: to ask more would
/// lengthen it.
pub(super) fn limited(until: DateTime<Utc>) -> Vec<Check> {
    let why =
        format!("GitHub's rate limit is reached until {}", until.format("%Y-%m-%d %H:%M:%SZ"));
    rest_unknown(Vec::new(), &why, "try again after that")
}

/// What was found, with every other check that needs GitHub as unknown: a check that could not be
/// made is not left out.
pub(super) fn rest_unknown(found: Vec<Check>, why: &str, advice: &str) -> Vec<Check> {
    let missing: Vec<Check> = NAMES
        .into_iter()
        .filter(|name| found.iter().all(|check| check.name != *name))
        .map(|name| Check::unknown(name, why, advice))
        .collect();
    let mut all: Vec<Check> = found.into_iter().chain(missing).collect();
    all.sort_by_key(|check| NAMES.iter().position(|name| *name == check.name));
    all
}

fn failed(name: &'static str, error: &GitHubError) -> Check {
    match error {
        GitHubError::Unauthorized { status, message, hint } => {
            Check::fail(name, format!("GitHub refused it ({status}: {message})"), hint)
        }
        GitHubError::Refused { status, message, hint } => {
            Check::fail(name, format!("GitHub answered {status}: {message}"), hint)
        }
        GitHubError::RateLimited { .. } => {
            Check::unknown(name, error.to_string(), "try again after that")
        }
        GitHubError::Gone { .. }
        | GitHubError::BadCursor { .. }
        | GitHubError::Ambiguous { .. }
        | GitHubError::Failing { .. }
        | GitHubError::Unavailable { .. }
        | GitHubError::ForeignLink { .. } => Check::unknown(
            name,
            error.to_string(),
            "check the network, the proxy and api_url, then GitHub's own status; try again later",
        ),
    }
}

/// `offset`: GitHub's clock minus ours.
fn clock(offset: Option<TimeDelta>) -> Check {
    const NAME: &str = "clock";
    let Some(offset) = offset.map(|offset| offset.num_seconds()) else {
        let advice = "a proxy may have removed it; compare the clock by hand";
        return Check::unknown(NAME, "GitHub's answer carries no Date", advice);
    };
    let detail = match offset {
        -1..=1 => "agrees with GitHub's".to_owned(),
        2.. => format!("{offset} s behind GitHub's"),
        _ => format!("{} s ahead of GitHub's", offset.unsigned_abs()),
    };
    let advice =
        "set this machine's clock and keep it by NTP: GitHub refuses tokens by a clock far off";
    match i64::try_from(offset.unsigned_abs()).unwrap_or(i64::MAX) {
        CLOCK_FAIL_SECONDS.. => Check::fail(NAME, detail, advice),
        CLOCK_WARN_SECONDS.. => Check::warn(NAME, detail, advice),
        _ => Check::pass(NAME, detail),
    }
}

fn same_app(issuer: &str, app: &AppInfo) -> Check {
    let detail = format!("{} (App id {})", app.name, app.id);
    if issuer == app.id.to_string() || app.client_id.as_deref() == Some(issuer) {
        return Check::pass("app", detail);
    }
    let advice = format!("the key is that App's, but app_id or client_id says {issuer}");
    Check::fail("app", detail, advice)
}

/// GitHub's API has no word for whether a webhook is switched on (GITHUB.md section 1); a delivery
/// shows that it was when it was sent. `now` is by GitHub's clock.
fn active(page: &Page, now: DateTime<Utc>) -> Check {
    const NAME: &str = "webhook_active";
    const SILENT: &str = "its API does not tell whether the webhook is switched on";
    const ADVICE: &str =
        "see that the App's settings have Active ticked and that it subscribes to events";
    let Some(newest) = page.rows.first() else {
        return Check::unknown(NAME, format!("GitHub lists no delivery, and {SILENT}"), ADVICE);
    };
    let age = (now - newest.attempt.delivered_at).max(TimeDelta::zero());
    let sent = format!("GitHub last sent something {} s ago", age.num_seconds());
    if age > TimeDelta::hours(ACTIVE_HOURS) {
        return Check::unknown(NAME, format!("{sent}, and {SILENT}"), ADVICE);
    }
    Check::pass(NAME, sent)
}

/// O10: whether anything has come through at all.
fn attempts(page: &Page) -> Check {
    const NAME: &str = "attempts";
    let codes: Vec<i32> = page.rows.iter().filter_map(|row| row.attempt.code).collect();
    let good = page.rows.iter().filter(|row| row.attempt.succeeded()).count();
    match (codes.first(), good) {
        (None, _) => Check::unknown(
            NAME,
            "GitHub lists no attempt with an outcome",
            "fine for a quiet App; the App's page can send its ping again",
        ),
        (Some(newest), 0) => Check::fail(
            NAME,
            format!("each of the last {} attempts failed, the newest with {newest}", codes.len()),
            match newest {
                401 => "the webhook secrets differ: compare the App's with webhook_secret_files",
                404 => "the path differs: compare the URL in the App's settings with hooks.path",
                502..=504 => "GitHub, or a proxy, cannot reach the receiver: DNS, firewall, proxy",
                _ => "compare the URL in the App's settings, the proxy and the secret with ours",
            },
        ),
        (Some(_), good) => {
            Check::pass(NAME, format!("{good} of the last {} attempts succeeded", codes.len()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Ending;

    #[test]
    fn the_app_of_the_key_is_the_configured_one_by_either_name() {
        let app = |client_id: Option<&str>| AppInfo {
            id: 4242,
            client_id: client_id.map(str::to_owned),
            name: "CI".to_owned(),
        };
        let table = [
            ("4242", None, Ending::Pass),
            ("Iv23li", Some("Iv23li"), Ending::Pass),
            ("4243", Some("Iv23li"), Ending::Fail),
            ("Iv23li", None, Ending::Fail),
        ];
        for (issuer, client_id, result) in table {
            let check = same_app(issuer, &app(client_id));
            assert_eq!(
                (check.result, check.detail.as_str()),
                (result, "CI (App id 4242)"),
                "{issuer}"
            );
        }
    }

    #[test]
    fn a_clock_is_doubtful_from_ten_seconds_on_and_wrong_from_a_minute_on() {
        let of = |seconds| {
            let check = clock(Some(TimeDelta::seconds(seconds)));
            (check.result, check.detail)
        };
        let said = |result, text: &str| (result, text.to_owned());
        assert_eq!(of(1), said(Ending::Pass, "agrees with GitHub's"));
        assert_eq!(of(9), said(Ending::Pass, "9 s behind GitHub's"));
        assert_eq!(of(-10), said(Ending::Warn, "10 s ahead of GitHub's"));
        assert_eq!(of(60), said(Ending::Fail, "60 s behind GitHub's"));
        assert_eq!(clock(None).result, Ending::Unknown);
    }
}
