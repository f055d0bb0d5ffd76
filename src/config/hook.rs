//! `[[hooks]]`: turns each entry into a hook with its path, its secrets and its policy.

use secrecy::SecretString;
use url::Url;

use super::{
    Api, Hook,
    checker::{Check, delta},
    credential::credential,
    forward::forward,
    kinds::{FilePath, ids},
    problem::Problem,
    raw,
    read::{At, Wrong},
    secret,
    sweep::SweepRules,
    web::{self, ApiHost},
};
use crate::domain::{
    filter::Filter,
    policy::{Policy, Repair, Trust},
};

/// The hooks without problems, in their order.
pub(super) fn hooks(
    check: &mut Check<'_>,
    at: &At,
    raw: Vec<raw::HookEntry>,
    rules: Option<&SweepRules>,
) -> Vec<Hook> {
    duplicates(check, at, &raw);
    raw.into_iter()
        .enumerate()
        .filter_map(|(index, raw)| {
            let at = match &raw.name {
                Some(name) => at.item(name),
                None => at.item(index),
            };
            hook(check, &at, raw, rules)
        })
        .collect()
}

fn duplicates(check: &mut Check<'_>, at: &At, hooks: &[raw::HookEntry]) {
    for (index, hook) in hooks.iter().enumerate() {
        let earlier = hooks.iter().take(index);
        if let Some(name) = &hook.name
            && earlier.clone().any(|other| other.name.as_ref() == Some(name))
        {
            let at = at.item(index);
            let wrong = Wrong::new("is the name of another hook too");
            check.wrong::<()>(&at, "name", Some(name.as_str()), wrong);
        }
        if let Some(path) = &hook.path
            && earlier.clone().any(|other| other.path.as_ref() == Some(path))
        {
            let at = at.item(index);
            let wrong = Wrong::new("is the path of another hook too")
                .hint("each hook needs its own, such as \"/webhook/NAME\"");
            check.wrong::<()>(&at, "path", Some(path), wrong);
        }
    }
}

fn hook(
    check: &mut Check<'_>,
    at: &At,
    mut raw: raw::HookEntry,
    rules: Option<&SweepRules>,
) -> Option<Hook> {
    let name = check.need(at, "name", raw.name.take());
    let api_url = check.need(at, "api_url", raw.api_url.take());
    let base = api_url.and_then(|url| api_base(check, at, url));
    let credential = credential(check, at, &mut raw);
    let path = check.need(at, "path", raw.path.take()).and_then(|path| hook_path(check, at, path));
    let secrets = webhook_secrets(check, at, &mut raw);
    let allow_sha1 = check.need(at, "allow_sha1", raw.allow_sha1);
    let first_run = check.span(at, "first_run", raw.first_run).map(delta);
    let forward = match raw.forward.take() {
        Some(raw) => forward(check, &at.key("forward"), raw).map(Some),
        None => Some(None),
    };
    let policy = policy(check, at, raw, base.as_ref(), rules);
    if let (Some(first_run), Some(policy)) = (first_run, &policy)
        && first_run > policy.window
    {
        let key = at.key("first_run");
        let message = "is longer than the window: what is older cannot be redelivered";
        check.problems.push(Problem::warning(key.as_str(), message));
    }
    Some(Hook {
        name: name?,
        api: Api { base: base?, credential: credential? },
        path: path?,
        secrets: secrets?,
        allow_sha1: allow_sha1?,
        first_run: first_run?,
        forward: forward?,
        policy: policy?,
    })
}

fn api_base(check: &mut Check<'_>, at: &At, url: Url) -> Option<Url> {
    let shown = web::masked(&url);
    match web::api_base(url) {
        Ok(base) => {
            if ApiHost::of(&base) == ApiHost::Server && base.path() != "/api/v3" {
                check.problems.push(
                    Problem::warning(
                        at.key("api_url").as_str(),
                        "names a GitHub Enterprise Server, whose API is under /api/v3",
                    )
                    .value(&shown)
                    .hint("https://HOST/api/v3"),
                );
            }
            Some(base)
        }
        Err(wrong) => check.wrong(at, "api_url", Some(&shown), wrong),
    }
}

fn hook_path(check: &mut Check<'_>, at: &At, path: String) -> Option<String> {
    let wrong = if !path.starts_with('/') {
        Wrong::new("must begin with /")
    } else if path.contains(['?', '#']) {
        Wrong::new("must not contain ? or #")
    } else if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        Wrong::new("must not contain spaces or characters outside ASCII")
            .hint("write them percent-encoded")
    } else if path.contains(['{', '}']) {
        Wrong::new("must not contain { or }")
    } else {
        return Some(path);
    };
    check.wrong(at, "path", Some(&path), wrong)
}

/// Newest first: the environment's, the environment's old one, the files'.
fn webhook_secrets(
    check: &mut Check<'_>,
    at: &At,
    raw: &mut raw::HookEntry,
) -> Option<Vec<SecretString>> {
    let mut secrets = Vec::new();
    let mut failed = ["webhook_secret", "webhook_secret_old", "webhook_secret_files"]
        .iter()
        .any(|key| check.problems.mention(at.key(key).as_str()));
    let literals = [
        ("webhook_secret", raw.webhook_secret.take()),
        ("webhook_secret_old", raw.webhook_secret_old.take()),
    ];
    let files = raw.webhook_secret_files.take().unwrap_or_default();
    for (key, literal) in literals {
        if let Some(literal) = literal {
            keep(&mut secrets, &mut failed, check.secret(at, (key, Some(literal)), (key, None)));
        }
    }
    for (index, FilePath(path)) in files.iter().enumerate() {
        let key = at.key("webhook_secret_files").item(index);
        let key = key.as_str();
        let found = secret::from_file(path, check.places, key, check.problems, &mut check.notes);
        keep(&mut secrets, &mut failed, found);
    }
    if failed {
        return None;
    }
    if secrets.is_empty() {
        return check.refuse(
            at,
            "webhook_secret_files",
            "is missing: without a secret anybody could send anything",
            "put the webhook's secret into a file and name it here",
        );
    }
    let repeated = secrets
        .iter()
        .enumerate()
        .any(|(index, one)| secrets.iter().take(index).any(|other| secret::same(one, other)));
    if repeated {
        let message = "holds the same secret twice";
        check.problems.push(Problem::warning(at.key("webhook_secret_files").as_str(), message));
    }
    Some(secrets)
}

fn keep(secrets: &mut Vec<SecretString>, failed: &mut bool, secret: Option<SecretString>) {
    match secret {
        Some(secret) => secrets.push(secret),
        None => *failed = true,
    }
}

fn policy(
    check: &mut Check<'_>,
    at: &At,
    raw: raw::HookEntry,
    base: Option<&Url>,
    rules: Option<&SweepRules>,
) -> Option<Policy> {
    let trust = check.need(at, "trust", raw.trust);
    let repair = check.need(at, "repair", raw.repair);
    let window = check.positive(at, "window", raw.window).map(delta);
    let filter = raw.filter.map(filter).unwrap_or_default();
    if let (Some(Repair::Fetch), Some(Trust::Github | Trust::Both)) = (repair, trust) {
        let wrong = Wrong::new("needs trust = \"receipt\": what is fetched becomes a receipt")
            .hint("or repair = \"redeliver\"");
        check.wrong::<()>(at, "repair", Some(Repair::Fetch.as_str()), wrong);
    }
    if let (Some(window), Some(base)) = (window, base) {
        let limit = ApiHost::of(base).window();
        if window > limit {
            // W20
            check.problems.push(
                Problem::warning(
                    at.key("window").as_str(),
                    format!(
                        "is longer than GitHub keeps deliveries there: {} days",
                        limit.num_days()
                    ),
                )
                .hint("what is older is refused by GitHub and reported as expired"),
            );
        }
    }
    let rules = rules?.clone();
    Some(Policy {
        trust: trust?,
        repair: repair?,
        filter,
        window: window?,
        settle: rules.settle,
        confirm_within: rules.confirm_within,
        backoff: rules.backoff,
        max_redeliveries: rules.max_redeliveries,
        probes: rules.probes,
        max_requests: rules.max_requests,
    })
}

fn filter(raw: raw::Filter) -> Filter {
    Filter {
        include: raw.include.unwrap_or_default(),
        exclude: raw.exclude.unwrap_or_default(),
        installations: ids(&raw.installations.unwrap_or_default()),
        repositories: ids(&raw.repositories.unwrap_or_default()),
    }
}

/// Stable text over the rules that decide which deliveries are wanted and settled: trust, filter
/// and window. Another text than last time means that stored verdicts are to be judged anew.
#[must_use]
pub fn rules_fingerprint(hook: &Hook) -> String {
    let Policy { trust, filter, window, .. } = &hook.policy;
    let patterns = |patterns: &[crate::domain::filter::EventPattern]| {
        let mut texts: Vec<_> = patterns
            .iter()
            .map(|pattern| match &pattern.action {
                Some(action) => format!("{}.{action}", pattern.event),
                None => pattern.event.clone(),
            })
            .collect();
        texts.sort();
        texts.dedup();
        texts.join(",")
    };
    let ids = |ids: &std::collections::BTreeSet<i64>| {
        ids.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
    };
    format!(
        "trust={} window={}ms include={} exclude={} installations={} repositories={}",
        trust.as_str(),
        window.num_milliseconds(),
        patterns(&filter.include),
        patterns(&filter.exclude),
        ids(&filter.installations),
        ids(&filter.repositories),
    )
}
