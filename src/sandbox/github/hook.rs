//! One App and its webhook, as GitHub has them configured.

use std::fmt;

use secrecy::SecretString;

use super::{auth::AppKey, log::Log};

/// Names one hook of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HookRef(pub(super) usize);

/// What a new App with a webhook is made of.
#[derive(Debug, Clone)]
pub struct HookSetup {
    /// Its name, for people and the control interface; also the App's slug.
    pub name: String,
    /// The App's id: the JWT's issuer, and the target id the sender names.
    pub app_id: u64,
    /// The App's client id, the other issuer GitHub accepts.
    pub client_id: String,
    /// The App's key; only its public part checks JWTs.
    pub key: AppKey,
    /// The webhook itself.
    pub config: HookConfig,
}

/// The part of a webhook that its owner can change at any time.
#[derive(Debug, Clone)]
pub struct HookConfig {
    /// Where deliveries go. Redeliveries go to the URL of now (GITHUB.md section 3).
    pub url: String,
    /// Signs deliveries; an empty one leaves the signature headers out. Whether GitHub signs a
    /// redelivery with the secret of now is unknown; here it does.
    pub secret: SecretString,
    /// How the payload is sent.
    pub content_type: ContentType,
    /// Whether the certificate of the URL is left unchecked. It is only shown: the sender speaks plain
    /// http.
    pub insecure_ssl: bool,
}

/// How the payload is sent (GITHUB.md section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    /// The raw JSON.
    Json,
    /// `application/x-www-form-urlencoded` with the one field `payload`.
    Form,
}

impl ContentType {
    /// GitHub's word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Form => "form",
        }
    }

    /// The type GitHub's word stands for; `None` for another word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "json" => Some(Self::Json),
            "form" => Some(Self::Form),
            _ => None,
        }
    }

    /// The value of the `Content-Type` header.
    #[must_use]
    pub fn header(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Form => "application/x-www-form-urlencoded",
        }
    }
}

impl fmt::Display for ContentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A hook with its delivery log.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) setup: HookSetup,
    pub(super) log: Log,
    /// The page that the last list call asked for, counted from the head: 1 is the head.
    pub(super) page: u32,
}

impl Hook {
    /// GitHub's numeric id of the webhook; any fixed function of the App will do.
    pub(super) fn hook_id(&self) -> u64 {
        400_000_000 + self.setup.app_id
    }
}
