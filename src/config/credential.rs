//! Whose delivery log a hook reads, and with which App id and key.

use secrecy::{ExposeSecret, SecretString};

use super::{
    Credential,
    checker::Check,
    key,
    kinds::{FilePath, HookKind, Literal},
    problem::Problem,
    raw,
    read::{At, Wrong},
    secret,
};

pub(super) fn credential(
    check: &mut Check<'_>,
    at: &At,
    raw: &mut raw::HookEntry,
) -> Option<Credential> {
    match check.need(at, "kind", raw.kind)? {
        HookKind::App => {}
        kind @ (HookKind::Organization | HookKind::Repository) => {
            let wrong = Wrong::new("is not supported yet; only kind = \"app\" is");
            return check.wrong(at, "kind", Some(kind.as_str()), wrong);
        }
    }
    for (key, set) in [
        ("organization", raw.organization.is_some()),
        ("repository", raw.repository.is_some()),
        ("hook_id", raw.hook_id.is_some()),
        ("token_file", raw.token_file.is_some()),
    ] {
        if set {
            check.error(at, key, "is for organizations and repositories only", "");
        }
    }
    let issuer = issuer(check, at, raw);
    let private_key = private_key(check, at, raw.private_key.take(), raw.private_key_file.take());
    Some(Credential::App { issuer: issuer?, private_key: private_key? })
}

fn issuer(check: &mut Check<'_>, at: &At, raw: &raw::HookEntry) -> Option<String> {
    match (raw.app_id, &raw.client_id) {
        (Some(id), None) => Some(id.0.to_string()),
        (None, Some(id)) => client_id(check, at, id),
        (Some(_), Some(_)) => {
            check.refuse(at, "client_id", "stands beside app_id, but one of them is enough", "")
        }
        (None, None) => {
            let said = ["app_id", "client_id"]
                .iter()
                .any(|key| check.problems.mention(at.key(key).as_str()));
            if said {
                return None;
            }
            let hint = "both stand on the App's page: app_id = 4242 or client_id = \"Iv23li...\"";
            check.refuse(at, "app_id", "is missing, and so is client_id", hint)
        }
    }
}

fn client_id(check: &mut Check<'_>, at: &At, id: &str) -> Option<String> {
    if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()) {
        let wrong = Wrong::new("looks like an App id").hint(format!("write app_id = {id}"));
        return check.wrong(at, "client_id", Some(id), wrong);
    }
    let sane = (8..=64).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
    if !sane {
        let wrong = Wrong::new("is no client id").hint("it looks like Iv23li... or Iv1....");
        return check.wrong(at, "client_id", None, wrong);
    }
    if !id.starts_with("Iv") {
        let message = "does not look like an App's client id, which begins with Iv";
        check.problems.push(Problem::warning(at.key("client_id").as_str(), message));
    }
    Some(id.to_owned())
}

fn private_key(
    check: &mut Check<'_>,
    at: &At,
    literal: Option<Literal>,
    file: Option<FilePath>,
) -> Option<SecretString> {
    let literal_at = at.key("private_key");
    let (text, source, at) = match literal {
        Some(Literal(text)) => (text, "environment".to_owned(), literal_at),
        None if check.problems.mention(literal_at.as_str()) => return None,
        None => {
            let FilePath(path) = check.need(at, "private_key_file", file)?;
            let at = at.key("private_key_file");
            let (text, found) = secret::read(&path, check.places, at.as_str(), check.problems)?;
            (text.into(), found.display().to_string(), at)
        }
    };
    match key::normalise(text.expose_secret()) {
        Ok(pem) => {
            let length = pem.expose_secret().len();
            secret::note(length, false, &source, at.as_str(), &mut check.notes);
            Some(pem)
        }
        Err(refusal) => {
            let problem = Problem::error(at.as_str(), refusal.to_string()).hint(refusal.hint());
            check.problems.push(problem);
            None
        }
    }
}
