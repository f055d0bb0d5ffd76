//! The App's key pair, and the check of the JWT with GitHub's words of refusal (GITHUB.md section 6).

use std::fmt;

use aws_lc_rs::{
    encoding::AsDer,
    rsa::{KeyPair, KeySize},
    signature::KeyPair as _,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use chrono::{DateTime, TimeDelta, Utc};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// GitHub refuses a JWT that expires later than this.
const LONGEST_LIFE: TimeDelta = TimeDelta::minutes(10);

/// An App's RSA key. Its `Debug` shows nothing of it.
#[derive(Clone)]
pub struct AppKey {
    pem: SecretString,
    public: Vec<u8>,
}

/// Why a key cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum KeyError {
    /// Generating failed.
    #[error("the RSA key could not be generated")]
    Generate,
    /// Not an unencrypted RSA private key.
    #[error("not a PEM file with an unencrypted RSA private key")]
    Pem,
}

/// Why a call is not let in: status and message as GitHub gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) message: &'static str,
}

const UNDECODABLE: Refusal =
    Refusal { status: 401, message: "A JSON web token could not be decoded" };
const UNKNOWN_APP: Refusal = Refusal { status: 404, message: "Integration not found" };
const TOO_FAR: Refusal =
    Refusal { status: 401, message: "'Expiration time' claim ('exp') is too far in the future" };
const EXPIRED: Refusal = Refusal {
    status: 401,
    message: "'Expiration time' claim ('exp') must be a numeric value representing the future \
              time at which the assertion expires",
};
const ISSUED: Refusal = Refusal {
    status: 401,
    message: "'Issued at' claim ('iat') must be an Integer representing the time that the \
              assertion was issued",
};

/// The claims, loosely typed: a wrong type has its own refusal.
#[derive(Deserialize)]
pub(super) struct Claims {
    #[serde(default)]
    iss: Value,
    #[serde(default)]
    iat: Value,
    #[serde(default)]
    exp: Value,
}

impl AppKey {
    /// A new 2048-bit key.
    ///
    /// # Errors
    /// [`KeyError::Generate`] when the system has no randomness to give.
    pub fn generate() -> Result<Self, KeyError> {
        let pair = KeyPair::generate(KeySize::Rsa2048).map_err(|_| KeyError::Generate)?;
        let der = pair.as_der().map_err(|_| KeyError::Generate)?;
        Ok(Self {
            pem: pem("PRIVATE KEY", der.as_ref()).into(),
            public: pair.public_key().as_ref().to_vec(),
        })
    }

    /// Reads a private key: PKCS#1, as GitHub hands it out, or PKCS#8.
    ///
    /// # Errors
    /// [`KeyError::Pem`] for anything else.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let body: String = text.lines().filter(|l| !l.contains("-----")).map(str::trim).collect();
        let der = STANDARD.decode(body).map_err(|_| KeyError::Pem)?;
        let pair = if text.contains("BEGIN RSA PRIVATE KEY") {
            KeyPair::from_der(&der)
        } else {
            KeyPair::from_pkcs8(&der)
        };
        let public = pair.map_err(|_| KeyError::Pem)?.public_key().as_ref().to_vec();
        Ok(Self { pem: text.to_owned().into(), public })
    }

    /// The private key as PEM, for whoever is to call the API.
    #[must_use]
    pub fn private_pem(&self) -> &SecretString {
        &self.pem
    }

    fn verify(&self, token: &str) -> bool {
        let mut rules = Validation::new(Algorithm::RS256);
        // Times are checked against the world's clock, with GitHub's own words.
        rules.required_spec_claims.clear();
        rules.validate_exp = false;
        rules.validate_aud = false;
        jsonwebtoken::decode::<Value>(token, &DecodingKey::from_rsa_der(&self.public), &rules)
            .is_ok()
    }
}

impl fmt::Debug for AppKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AppKey")
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in STANDARD.encode(der).as_bytes().chunks(64) {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    text + "-----END " + label + "-----\n"
}

/// Takes the token out of an `Authorization` header and reads its issuer, unverified.
pub(super) fn unverified(authorization: Option<&str>) -> Result<(&str, String, Claims), Refusal> {
    let (scheme, token) = authorization.and_then(|v| v.split_once(' ')).ok_or(UNDECODABLE)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(UNDECODABLE);
    }
    let claims =
        jsonwebtoken::dangerous::insecure_decode::<Claims>(token).map_err(|_| UNDECODABLE)?.claims;
    let issuer = match &claims.iss {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            return Err(UNDECODABLE);
        }
    };
    Ok((token, issuer, claims))
}

/// Checks signature and times of a token against the key of the App it names.
pub(super) fn check(
    token: &str,
    claims: &Claims,
    key: Option<&AppKey>,
    now: DateTime<Utc>,
) -> Result<(), Refusal> {
    if !key.ok_or(UNKNOWN_APP)?.verify(token) {
        return Err(UNDECODABLE);
    }
    let exp = moment(&claims.exp).ok_or(EXPIRED)?;
    if exp <= now {
        return Err(EXPIRED);
    }
    if exp > now + LONGEST_LIFE {
        return Err(TOO_FAR);
    }
    if moment(&claims.iat).ok_or(ISSUED)? > now {
        return Err(ISSUED);
    }
    Ok(())
}

/// The refusal for a key that was deleted from the App.
pub(super) fn revoked() -> Refusal {
    UNDECODABLE
}

fn moment(seconds: &Value) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(seconds.as_i64()?, 0)
}
