//! The kinds of single values: sizes, words, addresses, paths, URLs and secrets.

use std::{collections::BTreeSet, net::SocketAddr, path::PathBuf};

use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::Url;

use super::{
    LogFormat, Migrate,
    alerts::{ChannelKind, Tls},
    forward::Order,
    read::{Kind, Wrong},
    suggest::did_you_mean,
    web,
};
use crate::domain::{
    delivery::words,
    filter::EventPattern,
    ids::{EventName, HookName},
    policy::{Repair, Trust},
};

/// Bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(pub(super) u64);

/// The id of an installation or a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumericId(pub(super) i64);

/// The path of a file, never its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilePath(pub(super) PathBuf);

/// A secret itself. Comes from the environment only.
#[derive(Debug, Clone)]
pub(super) struct Literal(pub(super) SecretString);

/// A text that may hold a password, such as a database URL.
#[derive(Debug, Clone)]
pub(super) struct Delicate(pub(super) SecretString);

/// A web address that is a secret from its path on, such as a ping URL.
#[derive(Debug, Clone)]
pub(super) struct PingUrl(pub(super) Url);

/// Whose webhook an entry of `hooks` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookKind {
    /// A GitHub App's own webhook.
    App,
    /// An organisation's webhook.
    Organization,
    /// A repository's webhook.
    Repository,
}

words!(HookKind { App = "app", Organization = "organization", Repository = "repository" });

impl Kind for Size {
    const WANTED: &'static str = "a size";
    const EXAMPLE: &'static str = "\"25MiB\"";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        match text.trim().parse::<bytesize::ByteSize>() {
            Ok(size) if i64::try_from(size.as_u64()).is_ok() => Ok(Self(size.as_u64())),
            Ok(_) => Err(Wrong::new("is too large")),
            Err(_) => Err(Wrong::unreadable::<Self>()),
        }
    }

    fn show(&self) -> toml::Value {
        const MIB: u64 = 1 << 20;
        match self.0 {
            whole if whole > 0 && whole.is_multiple_of(MIB) => format!("{}MiB", whole / MIB).into(),
            bytes => format!("{bytes}B").into(),
        }
    }
}

impl Kind for String {
    const WANTED: &'static str = "a text";
    const EXAMPLE: &'static str = "\"...\"";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        Ok(text.to_owned())
    }

    fn show(&self) -> toml::Value {
        self.clone().into()
    }
}

impl Kind for bool {
    const WANTED: &'static str = "true or false";
    const EXAMPLE: &'static str = "true";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        text.trim().parse().map_err(|_| Wrong::unreadable::<Self>())
    }

    fn from_value(value: &toml::Value) -> Result<Self, Wrong> {
        value.as_bool().ok_or_else(Wrong::unreadable::<Self>)
    }

    fn show(&self) -> toml::Value {
        (*self).into()
    }

    fn schema() -> serde_json::Value {
        json!({ "type": "boolean" })
    }
}

impl Kind for u32 {
    const WANTED: &'static str = "a whole number from 0 to 4294967295";
    const EXAMPLE: &'static str = "200, without quotes";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        text.trim().parse().map_err(|_| Wrong::unreadable::<Self>())
    }

    fn from_value(value: &toml::Value) -> Result<Self, Wrong> {
        let number = value.as_integer().and_then(|number| Self::try_from(number).ok());
        number.ok_or_else(Wrong::unreadable::<Self>)
    }

    fn show(&self) -> toml::Value {
        i64::from(*self).into()
    }

    fn schema() -> serde_json::Value {
        json!({ "type": "integer", "minimum": 0 })
    }
}

impl Kind for NumericId {
    const WANTED: &'static str = "a positive whole number";
    const EXAMPLE: &'static str = "4242, without quotes";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        match text.trim().parse() {
            Ok(id) if id > 0 => Ok(Self(id)),
            Ok(_) | Err(_) => Err(Wrong::unreadable::<Self>()),
        }
    }

    fn from_value(value: &toml::Value) -> Result<Self, Wrong> {
        match value {
            toml::Value::Integer(id) if *id > 0 => Ok(Self(*id)),
            toml::Value::String(text) if text.parse::<i64>().is_err() => {
                Err(Wrong::unreadable::<Self>()
                    .hint("the delivery list has ids only, no names: write the id"))
            }
            toml::Value::Integer(_)
            | toml::Value::String(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_)
            | toml::Value::Table(_) => Err(Wrong::unreadable::<Self>()),
        }
    }

    fn show(&self) -> toml::Value {
        self.0.into()
    }

    fn schema() -> serde_json::Value {
        json!({ "type": "integer", "minimum": 1 })
    }
}

impl Kind for SocketAddr {
    const WANTED: &'static str = "an address with a port";
    const EXAMPLE: &'static str = "\"127.0.0.1:8080\" or \"[::1]:8080\"";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        let text = text.trim();
        let wrong = Wrong::unreadable::<Self>();
        text.parse().map_err(|_| match text.strip_prefix("localhost:") {
            Some(port) => wrong.hint(format!("write \"127.0.0.1:{port}\"")),
            None => wrong,
        })
    }

    fn show(&self) -> toml::Value {
        self.to_string().into()
    }
}

impl Kind for FilePath {
    const WANTED: &'static str = "the path of a file";
    const EXAMPLE: &'static str = "\"ci.pem\"";
    const MAY_BE_SHOWN: bool = false;

    fn from_text(text: &str) -> Result<Self, Wrong> {
        if text.is_empty() {
            return Err(Wrong::new("is empty").hint("give the path of a file"));
        }
        if text.contains("-----BEGIN") || text.contains(['\n', '\0']) || text.len() > 1024 {
            return Err(Wrong::new("is not a path")
                .hint("put the content into a file and give the file's path here"));
        }
        Ok(Self(PathBuf::from(text)))
    }

    fn show(&self) -> toml::Value {
        self.0.display().to_string().into()
    }
}

impl Kind for Literal {
    const WANTED: &'static str = "a secret from the environment";
    const EXAMPLE: &'static str = "a variable";
    const MAY_BE_SHOWN: bool = false;

    fn from_text(text: &str) -> Result<Self, Wrong> {
        Ok(Self(text.into()))
    }

    fn from_value(_: &toml::Value) -> Result<Self, Wrong> {
        Err(Wrong::new("is a secret and must not stand in the configuration file")
            .hint("put it into a file and name that in the _file key, or set it by environment"))
    }

    fn show(&self) -> toml::Value {
        "***".into()
    }

    /// Nothing is valid: the schema is the file's, and there it must not stand.
    fn schema() -> serde_json::Value {
        json!({ "not": {} })
    }
}

impl Kind for Delicate {
    const WANTED: &'static str = "a URL";
    const EXAMPLE: &'static str = "\"sqlite:redeliverd.db\" or \"postgres://user@host/database\"";
    const MAY_BE_SHOWN: bool = false;

    fn from_text(text: &str) -> Result<Self, Wrong> {
        Ok(Self(text.trim().into()))
    }

    fn show(&self) -> toml::Value {
        let text = self.0.expose_secret();
        match text.split_once(':') {
            Some(("sqlite", _)) => text.into(),
            Some(_) | None => Url::parse(text).map_or("***".into(), |url| web::masked(&url).into()),
        }
    }
}

impl Kind for Url {
    const WANTED: &'static str = "a URL";
    const EXAMPLE: &'static str = "\"https://api.github.com\"";
    const MAY_BE_SHOWN: bool = false;

    fn from_text(text: &str) -> Result<Self, Wrong> {
        Self::parse(text.trim()).map_err(|_| Wrong::unreadable::<Self>())
    }

    fn show(&self) -> toml::Value {
        web::masked(self).into()
    }
}

impl Kind for PingUrl {
    const WANTED: &'static str = "a URL";
    const EXAMPLE: &'static str = "\"https://heartbeat.example/ping\"";
    const MAY_BE_SHOWN: bool = false;

    fn from_text(text: &str) -> Result<Self, Wrong> {
        Url::parse(text.trim()).map(Self).map_err(|_| Wrong::unreadable::<Self>())
    }

    fn show(&self) -> toml::Value {
        format!("{}/***", self.0.origin().ascii_serialization()).into()
    }
}

impl Kind for HookName {
    const WANTED: &'static str = "a name";
    const EXAMPLE: &'static str = "\"ci\"";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        Self::new(text).map_err(|error| Wrong::new(error.to_string()).hint("for example \"ci\""))
    }

    fn show(&self) -> toml::Value {
        self.as_str().into()
    }
}

impl Kind for EventPattern {
    const WANTED: &'static str = "an event or an event with its action";
    const EXAMPLE: &'static str = "\"push\" or \"workflow_job.queued\"";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        let (event, action) = match text.split_once('.') {
            Some((event, action)) => (event, Some(action)),
            None => (text, None),
        };
        let sane = |part: &str| EventName::new(part).is_ok() && !part.contains('.');
        if sane(event) && action.is_none_or(sane) {
            Ok(Self { event: event.to_owned(), action: action.map(str::to_owned) })
        } else if text.contains('*') {
            Err(Wrong::new("has a wildcard, but patterns have none")
                .hint("the event alone stands for all its actions, an empty list for all events"))
        } else {
            Err(Wrong::unreadable::<Self>())
        }
    }

    fn show(&self) -> toml::Value {
        match &self.action {
            Some(action) => format!("{}.{action}", self.event).into(),
            None => self.event.clone().into(),
        }
    }
}

macro_rules! word_kinds {
    ($($kind:ty),+) => {$(
        impl Kind for $kind {
            const WANTED: &'static str = "one of the known words";
            const EXAMPLE: &'static str = "the first of them";

            fn from_text(text: &str) -> Result<Self, Wrong> {
                Self::from_word(text).ok_or_else(|| not_among(text, &words_of(Self::ALL, Self::as_str)))
            }

            fn from_value(value: &toml::Value) -> Result<Self, Wrong> {
                Self::from_text(value.as_str().unwrap_or_default())
            }

            fn show(&self) -> toml::Value {
                self.as_str().into()
            }

            fn schema() -> serde_json::Value {
                json!({ "type": "string", "enum": words_of(Self::ALL, Self::as_str) })
            }
        }
    )+};
}
word_kinds!(Trust, Repair, Migrate, LogFormat, Order, ChannelKind, Tls, HookKind);

fn words_of<T: Copy>(all: &[T], word: fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().copied().map(word).collect()
}

fn not_among(text: &str, known: &[&str]) -> Wrong {
    let wrong = Wrong::new(format!("must be one of {}", known.join(", ")));
    Wrong { hint: did_you_mean(text, known), ..wrong }
}

/// Ids as the filter wants them.
pub(super) fn ids(ids: &[NumericId]) -> BTreeSet<i64> {
    ids.iter().map(|id| id.0).collect()
}
