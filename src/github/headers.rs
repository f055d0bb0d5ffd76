//! Numbers and times in the headers of an answer; what cannot be read is absent.

use chrono::{DateTime, Utc};
use http::{HeaderMap, header};

/// A whole number in a header.
pub(super) fn number(headers: &HeaderMap, name: &str) -> Option<i64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// GitHub's clock as the `Date` header tells it, in whole seconds.
pub(super) fn date(headers: &HeaderMap) -> Option<DateTime<Utc>> {
    http_date(headers.get(header::DATE)?.to_str().ok()?)
}

/// A date as HTTP writes it (RFC 9110, section 5.6.7).
pub(super) fn http_date(text: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc2822(text.trim()).ok().map(|date| date.to_utc())
}
