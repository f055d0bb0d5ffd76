//! What the request head decides, before a byte of the body is read.

use http::{
    HeaderMap, Method,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};

use super::{
    answer::Answer,
    headers::{DELIVERY, EVENT, single},
};
use crate::domain::ids::{EventName, Guid};

/// A head that passed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// `X-GitHub-Delivery`
    pub(super) guid: Guid,
    /// `X-GitHub-Event`
    pub(super) event: EventName,
    /// How the payload is wrapped.
    pub(super) wrapping: Wrapping,
}

/// The two content types GitHub knows (GITHUB.md section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrapping {
    /// `application/json`: the body is the payload.
    Json,
    /// `application/x-www-form-urlencoded`: the payload is the field `payload`.
    Form,
}

/// Checks method, content type and GitHub's headers, in this order.
pub(super) fn check(method: &Method, headers: &HeaderMap) -> Result<Head, Answer> {
    if method != Method::POST {
        return Err(Answer::WrongMethod);
    }
    let wrapping = wrapping(headers).ok_or(Answer::WrongContentType)?;
    let guid = single(headers, &DELIVERY).and_then(|text| Guid::new(text).ok());
    let guid = guid.ok_or(Answer::BadGuid)?;
    let event = single(headers, &EVENT).and_then(|text| EventName::new(text).ok());
    let event = event.ok_or(Answer::BadEvent)?;
    Ok(Head { guid, event, wrapping })
}

/// `None` for anything GitHub does not send: the signature covers the body as sent, so a body that
/// somebody compressed on the way could not be handed over as it was.
fn wrapping(headers: &HeaderMap) -> Option<Wrapping> {
    let plain = |encoding: &http::HeaderValue| {
        encoding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity")
    };
    if !headers.get_all(CONTENT_ENCODING).iter().all(plain) {
        return None;
    }
    let media_type = single(headers, &CONTENT_TYPE)?.split(';').next()?.trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        Some(Wrapping::Json)
    } else if media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        Some(Wrapping::Form)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        map
    }

    const SOUND: [(&str, &str); 3] = [
        ("content-type", "application/json"),
        ("x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"),
        ("x-github-event", "workflow_job"),
    ];

    fn refusal(method: &Method, pairs: &[(&'static str, &'static str)]) -> Answer {
        check(method, &headers(pairs)).unwrap_err()
    }

    #[test]
    fn a_sound_head_passes_with_its_values() {
        let head = check(&Method::POST, &headers(&SOUND)).unwrap();
        assert_eq!(head.guid.as_str(), "72d3162e-cc78-11e3-81ab-4c9367dc0958");
        assert_eq!(head.event.as_str(), "workflow_job");
        assert_eq!(head.wrapping, Wrapping::Json);
    }

    #[test]
    fn content_types_match_without_case_and_parameters() {
        // R24
        for (text, expected) in [
            ("application/json; charset=utf-8", Some(Wrapping::Json)),
            ("Application/JSON ;charset=utf-8", Some(Wrapping::Json)),
            ("application/x-www-form-urlencoded", Some(Wrapping::Form)),
            ("application/x-www-form-urlencoded;charset=UTF-8", Some(Wrapping::Form)),
            ("text/plain", None),
            ("application/jsonp", None),
            ("multipart/form-data; boundary=json", None),
            ("", None),
        ] {
            let map = headers(&[("content-type", text)]);
            assert_eq!(wrapping(&map), expected, "{text}");
        }
        assert_eq!(wrapping(&HeaderMap::new()), None);
    }

    #[test]
    fn a_compressed_body_is_refused() {
        let gzip = headers(&[("content-type", "application/json"), ("content-encoding", "gzip")]);
        assert_eq!(wrapping(&gzip), None);
        let plain =
            headers(&[("content-type", "application/json"), ("content-encoding", "identity")]);
        assert_eq!(wrapping(&plain), Some(Wrapping::Json));
    }

    #[test]
    fn the_first_fault_in_the_order_of_the_table_answers() {
        assert_eq!(refusal(&Method::GET, &[]), Answer::WrongMethod);
        assert_eq!(refusal(&Method::POST, &[]), Answer::WrongContentType);
        assert_eq!(refusal(&Method::POST, &SOUND[..1]), Answer::BadGuid);
        assert_eq!(refusal(&Method::POST, &SOUND[..2]), Answer::BadEvent);
    }

    #[test]
    fn an_insane_or_repeated_identifier_is_refused() {
        for guid in ["", "a b", "a/b", "a\u{7f}", "../../etc", "{}"] {
            let Ok(value) = HeaderValue::from_str(guid) else { continue };
            let mut map = headers(&SOUND);
            map.insert("x-github-delivery", value);
            assert_eq!(check(&Method::POST, &map).unwrap_err(), Answer::BadGuid, "{guid}");
        }
        let mut twice = SOUND.to_vec();
        twice.push(("x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"));
        assert_eq!(refusal(&Method::POST, &twice), Answer::BadGuid);
        let mut twice = SOUND.to_vec();
        twice.push(("x-github-event", "push"));
        assert_eq!(refusal(&Method::POST, &twice), Answer::BadEvent);
    }
}
