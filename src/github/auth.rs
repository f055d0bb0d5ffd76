//! The App's JSON web token: signed here, cached, renewed in time, and shifted to GitHub's clock.

use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use http::HeaderValue;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use super::error::SetupError;
use crate::clock::SharedClock;

/// `iat` lies this far back, so that a clock slightly ahead is no problem (GITHUB.md section 6).
const BACKDATE: TimeDelta = TimeDelta::seconds(60);
/// `exp - iat`. GitHub allows ten minutes from *its* now; nine from a back-dated `iat` leave room.
const LIFETIME: TimeDelta = TimeDelta::seconds(540);
/// A token is not used any more when it has less than this to live.
const RENEW_BEFORE: TimeDelta = TimeDelta::seconds(60);

/// Signs for one App. Has no `Debug`, because it holds the private key.
pub(super) struct Signer {
    issuer: String,
    key: EncodingKey,
    clock: SharedClock,
    state: Mutex<State>,
}

struct State {
    /// GitHub's clock minus ours, as measured when GitHub last refused a token for its times.
    offset: TimeDelta,
    token: Option<Token>,
}

struct Token {
    header: HeaderValue,
    issued_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
}

#[derive(Serialize)]
struct Claims<'a> {
    iat: i64,
    exp: i64,
    iss: &'a str,
}

impl Signer {
    /// Reads the key and signs once, so that a key that cannot sign is found at start.
    pub(super) fn new(
        issuer: &str,
        private_key: &SecretString,
        clock: SharedClock,
    ) -> Result<Self, SetupError> {
        let key = EncodingKey::from_rsa_pem(private_key.expose_secret().as_bytes())
            .map_err(|e| SetupError::Key(e.to_string()))?;
        let state = Mutex::new(State { offset: TimeDelta::zero(), token: None });
        let signer = Self { issuer: issuer.to_owned(), key, clock, state };
        signer.authorization()?;
        Ok(signer)
    }

    /// The value of `Authorization`: the cached token while it has a minute to live, else a new one.
    pub(super) fn authorization(&self) -> Result<HeaderValue, SetupError> {
        let mut state = self.state();
        let now = self.clock.now() + state.offset;
        if let Some(token) = &state.token
            // A clock that was set back would make the token one from the future.
            && token.issued_at <= now
            && now + RENEW_BEFORE < token.expires_at
        {
            return Ok(token.header.clone());
        }
        let token = self.sign(now)?;
        let header = token.header.clone();
        state.token = Some(token);
        Ok(header)
    }

    /// Takes over GitHub's clock, as its `Date` header told it; the next token is a new one.
    /// Returns the offset, GitHub's clock minus ours.
    pub(super) fn follow_clock(&self, github_now: DateTime<Utc>) -> TimeDelta {
        let mut state = self.state();
        state.offset = github_now - self.clock.now();
        state.token = None;
        state.offset
    }

    /// How far GitHub's clock can really be from ours at `received_at`, when it has just accepted our
    /// token: its times bound GitHub's. A `Date` beyond them is not GitHub's word but that of something
    /// between, and believed it would move the boundary of the list past rows that are not listed yet.
    pub(super) fn proven(&self, told: TimeDelta, received_at: DateTime<Utc>) -> TimeDelta {
        let state = self.state();
        let Some(token) = &state.token else { return told };
        told.clamp(token.issued_at - received_at, token.expires_at - received_at)
    }

    fn sign(&self, now: DateTime<Utc>) -> Result<Token, SetupError> {
        let issued_at = now - BACKDATE;
        let expires_at = issued_at + LIFETIME;
        let claims =
            Claims { iat: issued_at.timestamp(), exp: expires_at.timestamp(), iss: &self.issuer };
        let jwt = jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &self.key)
            .map_err(|e| SetupError::Key(e.to_string()))?;
        let mut header = HeaderValue::try_from(format!("Bearer {jwt}"))
            .map_err(|e| SetupError::Key(e.to_string()))?;
        header.set_sensitive(true);
        Ok(Token { header, issued_at, expires_at })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a 401 is about the times in the token, that is about our clock (GITHUB.md section 6).
pub(super) fn is_about_time(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["'exp'", "'iat'", "expiration time", "issued at"].iter().any(|sign| message.contains(sign))
}
