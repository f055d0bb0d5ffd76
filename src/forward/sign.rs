//! The signature that GitHub would have made over these bytes.

use aws_lc_rs::hmac;
use secrecy::{ExposeSecret, SecretString};

/// The value of `X-Hub-Signature-256`.
pub(super) fn signature(secret: &SecretString, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes());
    format!("sha256={}", hex::encode(hmac::sign(&key, body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn github_s_own_example_comes_out() {
        // GITHUB.md section 5
        let secret = SecretString::from("It's a Secret to Everybody");
        assert_eq!(
            signature(&secret, b"Hello, World!"),
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        );
    }
}
