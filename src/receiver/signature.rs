//! Whether one of the hook's secrets made the signature, compared in constant time.

use aws_lc_rs::hmac::{self, HMAC_SHA1_FOR_LEGACY_USE_ONLY, HMAC_SHA256, Key};
use http::HeaderMap;
use secrecy::{ExposeSecret, SecretString};

use super::headers::{SIGNATURE_1, SIGNATURE_256, single};

/// The keys of one hook, made once. They have no `Debug`.
pub(super) struct Secrets {
    sha256: Vec<Key>,
    /// Empty unless SHA-1 is allowed.
    sha1: Vec<Key>,
}

/// Why a signature does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unverified {
    /// No signature that we accept.
    Absent,
    /// Repeated, or not of GitHub's form.
    Malformed,
    /// Of the right form, made with another secret or over other bytes.
    Mismatch,
}

impl Unverified {
    /// The word for the log.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Malformed => "malformed",
            Self::Mismatch => "mismatch",
        }
    }
}

impl Secrets {
    /// Prepares the keys, in the order given.
    pub(super) fn new(secrets: &[SecretString], allow_sha1: bool) -> Self {
        let keys = |algorithm| {
            secrets
                .iter()
                .map(|secret| Key::new(algorithm, secret.expose_secret().as_bytes()))
                .collect::<Vec<_>>()
        };
        Self {
            sha256: keys(HMAC_SHA256),
            sha1: if allow_sha1 { keys(HMAC_SHA1_FOR_LEGACY_USE_ONLY) } else { Vec::new() },
        }
    }

    /// Checks the body exactly as sent; returns the position of the secret that matches. SHA-1
    /// counts only where it is allowed and the SHA-256 header is absent.
    pub(super) fn verify(&self, headers: &HeaderMap, body: &[u8]) -> Result<usize, Unverified> {
        if headers.contains_key(SIGNATURE_256) {
            let tag = single(headers, &SIGNATURE_256).and_then(|text| tag::<32>(text, "sha256="));
            matching(&self.sha256, body, &tag.ok_or(Unverified::Malformed)?)
        } else if !self.sha1.is_empty() && headers.contains_key(SIGNATURE_1) {
            let tag = single(headers, &SIGNATURE_1).and_then(|text| tag::<20>(text, "sha1="));
            matching(&self.sha1, body, &tag.ok_or(Unverified::Malformed)?)
        } else {
            Err(Unverified::Absent)
        }
    }
}

/// `prefix` and exactly `N` bytes in hexadecimal.
fn tag<const N: usize>(text: &str, prefix: &str) -> Option<[u8; N]> {
    let mut tag = [0; N];
    hex::decode_to_slice(text.strip_prefix(prefix)?, &mut tag).ok()?;
    Some(tag)
}

fn matching(keys: &[Key], body: &[u8], tag: &[u8]) -> Result<usize, Unverified> {
    keys.iter().position(|key| hmac::verify(key, body, tag).is_ok()).ok_or(Unverified::Mismatch)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    /// GitHub's published example (GITHUB.md section 5).
    const SECRET: &str = "It's a Secret to Everybody";
    const BODY: &[u8] = b"Hello, World!";
    const TAG_256: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    /// Made with `openssl dgst -sha1 -hmac`.
    const TAG_1: &str = "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59";

    fn secrets(texts: &[&str], allow_sha1: bool) -> Secrets {
        let texts: Vec<_> = texts.iter().map(|text| SecretString::from(*text)).collect();
        Secrets::new(&texts, allow_sha1)
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        map
    }

    #[test]
    fn githubs_own_example_verifies() {
        let signed = headers(&[("x-hub-signature-256", TAG_256)]);
        assert_eq!(secrets(&[SECRET], false).verify(&signed, BODY), Ok(0));
    }

    #[test]
    fn one_changed_byte_in_body_or_secret_does_not_verify() {
        let signed = headers(&[("x-hub-signature-256", TAG_256)]);
        let mismatch = Err(Unverified::Mismatch);
        assert_eq!(secrets(&[SECRET], false).verify(&signed, b"Hello, World?"), mismatch);
        assert_eq!(secrets(&[SECRET], false).verify(&signed, b"Hello, World!\n"), mismatch);
        assert_eq!(secrets(&["it's a Secret to Everybody"], false).verify(&signed, BODY), mismatch);
    }

    #[test]
    fn any_secret_of_a_rotation_verifies_and_tells_its_position() {
        // R33, R34
        let signed = headers(&[("x-hub-signature-256", TAG_256)]);
        assert_eq!(secrets(&["new", SECRET], false).verify(&signed, BODY), Ok(1));
        assert_eq!(secrets(&[SECRET, "old"], false).verify(&signed, BODY), Ok(0));
        assert_eq!(secrets(&["new"], false).verify(&signed, BODY), Err(Unverified::Mismatch));
    }

    #[test]
    fn a_tag_that_is_not_exactly_github_s_form_is_malformed() {
        let bare = TAG_256.trim_start_matches("sha256=");
        let long = format!("{TAG_256}00");
        let short = TAG_256.get(..TAG_256.len() - 2).unwrap();
        let sha1_tag_in_place = TAG_1.replace("sha1", "sha256");
        for text in ["", "sha256=", bare, &long, short, "sha512=00", &sha1_tag_in_place] {
            let signed = headers(&[("x-hub-signature-256", text)]);
            let result = secrets(&[SECRET], true).verify(&signed, BODY);
            assert_eq!(result, Err(Unverified::Malformed), "{text}");
        }
        let twice = headers(&[("x-hub-signature-256", TAG_256), ("x-hub-signature-256", TAG_256)]);
        assert_eq!(secrets(&[SECRET], false).verify(&twice, BODY), Err(Unverified::Malformed));
    }

    #[test]
    fn sha_1_counts_only_where_allowed_and_without_a_sha_256_header() {
        let old = headers(&[("x-hub-signature", TAG_1)]);
        assert_eq!(secrets(&["new", SECRET], true).verify(&old, BODY), Ok(1));
        assert_eq!(secrets(&[SECRET], false).verify(&old, BODY), Err(Unverified::Absent));
        let wrong = format!("sha256={}", "0".repeat(64));
        let both = headers(&[("x-hub-signature", TAG_1), ("x-hub-signature-256", &wrong)]);
        assert_eq!(secrets(&[SECRET], true).verify(&both, BODY), Err(Unverified::Mismatch));
    }

    #[test]
    fn an_unsigned_request_does_not_verify() {
        let none = HeaderMap::new();
        assert_eq!(secrets(&[SECRET], true).verify(&none, BODY), Err(Unverified::Absent));
    }
}
