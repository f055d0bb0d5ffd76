//! The two signature headers, over the body as sent (GITHUB.md section 5).

use aws_lc_rs::hmac::{self, Algorithm, HMAC_SHA1_FOR_LEGACY_USE_ONLY, HMAC_SHA256, Key};

/// The value of `X-Hub-Signature-256`.
pub(super) fn sha256(secret: &str, body: &[u8]) -> String {
    format!("sha256={}", hex_hmac(HMAC_SHA256, secret, body))
}

/// The value of the legacy header `X-Hub-Signature`.
pub(super) fn sha1(secret: &str, body: &[u8]) -> String {
    format!("sha1={}", hex_hmac(HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret, body))
}

fn hex_hmac(algorithm: Algorithm, secret: &str, body: &[u8]) -> String {
    hex::encode(hmac::sign(&Key::new(algorithm, secret.as_bytes()), body))
}
