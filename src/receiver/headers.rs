//! The request headers that the receiver looks at, and those it stores.

use http::{HeaderMap, HeaderName};

use crate::domain::headers::STORED;

/// `X-GitHub-Delivery`
pub(super) const DELIVERY: HeaderName = HeaderName::from_static("x-github-delivery");
/// `X-GitHub-Event`
pub(super) const EVENT: HeaderName = HeaderName::from_static("x-github-event");
/// `X-Hub-Signature-256`
pub(super) const SIGNATURE_256: HeaderName = HeaderName::from_static("x-hub-signature-256");
/// `X-Hub-Signature`, SHA-1
pub(super) const SIGNATURE_1: HeaderName = HeaderName::from_static("x-hub-signature");

/// The allow-listed headers in the order of the list, names in lower case, values as sent. Values
/// that are not UTF-8 are left out.
pub(super) fn stored(headers: &HeaderMap) -> Vec<(String, String)> {
    let mut kept = Vec::with_capacity(headers.len().min(STORED.len()));
    for name in STORED {
        for value in headers.get_all(name) {
            if let Ok(text) = std::str::from_utf8(value.as_bytes()) {
                kept.push((name.to_owned(), text.to_owned()));
            }
        }
    }
    kept
}

/// The value of a header that must be there exactly once. `None`: absent, repeated, or not text.
pub(super) fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, header};

    use super::*;

    #[test]
    fn only_listed_headers_are_stored_and_the_leaked_secret_is_not() {
        // O34
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("user-agent", "GitHub-Hookshot/0a1b2c3"),
            ("x-github-encoded-secret", "c2VjcmV0"),
            ("authorization", "Basic eA=="),
            ("cookie", "session=1"),
            ("x-forwarded-for", "192.0.2.7"),
            ("x-github-hook-id", "55"),
            ("x-hub-signature-256", "sha256=00"),
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let expected = [
            ("user-agent", "GitHub-Hookshot/0a1b2c3"),
            ("x-github-hook-id", "55"),
            ("x-hub-signature-256", "sha256=00"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(stored(&headers), expected);
    }

    #[test]
    fn a_value_in_utf_8_is_kept_and_other_bytes_are_left_out() {
        let mut headers = HeaderMap::new();
        headers.append(header::USER_AGENT, HeaderValue::from_bytes("näh".as_bytes()).unwrap());
        headers.append(header::USER_AGENT, HeaderValue::from_bytes(b"\xff\xfe").unwrap());
        assert_eq!(stored(&headers), [("user-agent".to_owned(), "näh".to_owned())]);
    }

    #[test]
    fn a_repeated_header_has_no_single_value() {
        let mut headers = HeaderMap::new();
        assert_eq!(single(&headers, &DELIVERY), None);
        headers.append(DELIVERY, HeaderValue::from_static("a"));
        assert_eq!(single(&headers, &DELIVERY), Some("a"));
        headers.append(DELIVERY, HeaderValue::from_static("a"));
        assert_eq!(single(&headers, &DELIVERY), None);
    }
}
