//! What is wrong with a configuration: every problem with its key, its value and what would be right.

use std::fmt;

use thiserror::Error;

/// Said of a secret that everybody may use; `doctor` looks at permissions itself and leaves it out.
pub(crate) const OPEN_TO_ALL: &str = "can be read or written by every user of this machine";

/// Why a file could not be read, in words for people.
pub(super) fn unreadable(error: &std::io::Error) -> String {
    let kind = error.kind();
    if kind == std::io::ErrorKind::NotFound {
        "there is no such file".to_owned()
    } else if kind == std::io::ErrorKind::Other {
        // Our own words.
        error.to_string()
    } else {
        kind.to_string()
    }
}

/// One thing that is wrong, or merely doubtful, in what the operator wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key, such as `hooks[ci].private_key_file`; or a file, or an environment variable.
    pub key: String,
    /// What stands there, on one line; `None` when there is nothing, or when it could be a secret.
    pub value: Option<String>,
    /// What is wrong with it.
    pub message: String,
    /// What would be right.
    pub hint: Option<String>,
    /// Whether it prevents the start.
    pub severity: Severity,
}

/// Whether a problem prevents the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Nothing starts with it.
    Error,
    /// Worth a look; everything starts.
    Warning,
}

/// Problems in the order in which they were found; displays as one line each.
#[derive(Debug, Clone, PartialEq, Eq, Default, Error)]
pub struct Problems {
    /// All of them.
    pub all: Vec<Problem>,
}

impl Problem {
    pub(super) fn error(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: None,
            message: message.into(),
            hint: None,
            severity: Severity::Error,
        }
    }

    pub(super) fn warning(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(key, message) }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Keeps the value on one line and short.
    pub(super) fn value(mut self, value: impl fmt::Display) -> Self {
        let line: String = value.to_string().escape_debug().to_string().replace("\\\"", "\"");
        let mut short: String = line.chars().take(80).collect();
        if short.len() < line.len() {
            short.push_str("...");
        }
        self.value = Some(short);
        self
    }
}

impl Problems {
    pub(super) fn push(&mut self, problem: Problem) {
        self.all.push(problem);
    }

    /// Whether anything prevents the start.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.all.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// Whether something was already said about a key or about a part of it.
    pub(super) fn mention(&self, key: &str) -> bool {
        self.all.iter().any(|problem| {
            problem
                .key
                .strip_prefix(key)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.key)?;
        if let Some(value) = &self.value {
            write!(f, " = {value}")?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.all.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}
