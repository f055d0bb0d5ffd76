//! The checks that many keys share: present, positive, within bounds, reachable, secret.

use std::time::Duration;

use chrono::TimeDelta;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::{
    kinds::{FilePath, Literal, Size},
    problem::{Problem, Problems},
    read::{At, Read as _, Wrong},
    secret::{self, Places, SecretNote},
    span::Span,
    web,
};

/// What every check needs.
pub(super) struct Check<'a> {
    pub(super) problems: &'a mut Problems,
    pub(super) places: &'a Places,
    pub(super) notes: Vec<SecretNote>,
}

/// Spans are at most ten years, so the conversion cannot fail.
pub(super) fn delta(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}

impl Check<'_> {
    /// Notes an error at a key; an empty hint is none.
    pub(super) fn error(&mut self, at: &At, key: &str, message: &str, hint: &str) {
        let problem = Problem::error(at.key(key).as_str(), message);
        self.problems.push(if hint.is_empty() { problem } else { problem.hint(hint) });
    }

    /// Notes an error that leaves the caller without a value.
    pub(super) fn refuse<T>(&mut self, at: &At, key: &str, message: &str, hint: &str) -> Option<T> {
        self.error(at, key, message, hint);
        None
    }

    /// Notes why a value is wrong; the value only where it cannot be a secret.
    pub(super) fn wrong<T>(
        &mut self,
        at: &At,
        key: &str,
        value: Option<&str>,
        Wrong { message, hint }: Wrong,
    ) -> Option<T> {
        let problem = Problem { hint, ..Problem::error(at.key(key).as_str(), message) };
        self.problems.push(match value {
            Some(value) => problem.value(format!("\"{value}\"")),
            None => problem,
        });
        None
    }

    /// The value, or a complaint that it is missing, unless one about this key was noted before.
    pub(super) fn need<T>(&mut self, at: &At, key: &str, value: Option<T>) -> Option<T> {
        if value.is_none() && !self.problems.mention(at.key(key).as_str()) {
            self.error(at, key, "is missing", "");
        }
        value
    }

    /// A duration that may be zero.
    pub(super) fn span(&mut self, at: &At, key: &str, value: Option<Span>) -> Option<Duration> {
        self.need(at, key, value).map(|span| span.0)
    }

    /// A duration longer than zero.
    pub(super) fn positive(&mut self, at: &At, key: &str, value: Option<Span>) -> Option<Duration> {
        let span = self.need(at, key, value)?;
        if span.0.is_zero() {
            let wrong = Wrong::new("must be longer than zero");
            let shown = span.show();
            return self.wrong(at, key, shown.as_str(), wrong);
        }
        Some(span.0)
    }

    pub(super) fn size(&mut self, at: &At, key: &str, value: Option<Size>) -> Option<u64> {
        match self.need(at, key, value)? {
            Size(0) => self.refuse(at, key, "must be more than zero", ""),
            Size(bytes) => Some(bytes),
        }
    }

    pub(super) fn between(
        &mut self,
        at: &At,
        key: &str,
        value: Option<u32>,
        least: u32,
        most: u32,
    ) -> Option<u32> {
        let number = self.need(at, key, value)?;
        if (least..=most).contains(&number) {
            return Some(number);
        }
        let message = if number < least {
            format!("must be at least {least}")
        } else {
            format!("must be at most {most}")
        };
        self.problems.push(Problem::error(at.key(key).as_str(), message).value(number));
        None
    }

    /// The key `backoff`: a list of positive waits, not empty.
    pub(super) fn backoff(&mut self, at: &At, waits: Option<Vec<Span>>) -> Option<Vec<Duration>> {
        let waits = self.need(at, "backoff", waits)?;
        if waits.is_empty() {
            return self.refuse(
                at,
                "backoff",
                "is empty",
                "its last value repeats, so one will do",
            );
        }
        if waits.iter().any(|wait| wait.0.is_zero()) {
            return self.refuse(at, "backoff", "has a wait of zero", "");
        }
        Some(waits.into_iter().map(|wait| wait.0).collect())
    }

    /// A secret: from the environment, or else from its file.
    pub(super) fn secret(
        &mut self,
        at: &At,
        (literal_key, literal): (&str, Option<Literal>),
        (file_key, file): (&str, Option<FilePath>),
    ) -> Option<SecretString> {
        if let Some(Literal(text)) = literal {
            let key = at.key(literal_key);
            let text = text.expose_secret();
            return secret::from_text(
                text,
                "environment",
                key.as_str(),
                self.problems,
                &mut self.notes,
            );
        }
        if self.problems.mention(at.key(literal_key).as_str()) {
            return None;
        }
        let FilePath(path) = self.need(at, file_key, file)?;
        let key = at.key(file_key);
        secret::from_file(&path, self.places, key.as_str(), self.problems, &mut self.notes)
    }

    /// A URL that something is sent to.
    pub(super) fn target(&mut self, at: &At, key: &str, url: Option<Url>) -> Option<Url> {
        let url = self.need(at, key, url)?;
        match web::target(&url) {
            Ok(()) => Some(url),
            Err(wrong) => self.wrong(at, key, Some(&web::masked(&url)), wrong),
        }
    }
}
