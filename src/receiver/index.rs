//! What indexing and filters want from a body; best effort, and never a reason to refuse it.

use form_urlencoded::parse;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::head::Wrapping;

/// What a payload says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Index {
    /// `action`, where it is a sane token.
    pub(super) action: Option<String>,
    /// `installation.id`
    pub(super) installation_id: Option<i64>,
    /// `repository.id`
    pub(super) repository_id: Option<i64>,
}

/// The fields of interest, not yet looked into, so that an odd one does not hide the others.
#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    action: Option<&'a RawValue>,
    #[serde(borrow)]
    installation: Option<&'a RawValue>,
    #[serde(borrow)]
    repository: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Entity {
    id: i64,
}

/// Reads the index from a body as sent. `None`: the payload is no JSON object, so nothing is known.
pub(super) fn read(body: &[u8], wrapping: Wrapping) -> Option<Index> {
    match wrapping {
        Wrapping::Json => from_json(body),
        Wrapping::Form => {
            let (_, payload) = parse(body).find(|(name, _)| name == "payload")?;
            from_json(payload.as_bytes())
        }
    }
}

fn from_json(text: &[u8]) -> Option<Index> {
    // A list would otherwise pass as the fields in their order.
    if !text.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let payload: Payload<'_> = serde_json::from_slice(text).ok()?;
    Some(Index {
        action: payload.action.and_then(action),
        installation_id: payload.installation.and_then(id),
        repository_id: payload.repository.and_then(id),
    })
}

/// An action is a short word. Anything else (NUL included, which `PostgreSQL` cannot hold in a text)
/// is left to the body.
fn action(value: &RawValue) -> Option<String> {
    let text: String = serde_json::from_str(value.get()).ok()?;
    let sane = (1..=128).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    sane.then_some(text)
}

fn id(value: &RawValue) -> Option<i64> {
    let entity: Entity = serde_json::from_str(value.get()).ok()?;
    Some(entity.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(action: &str, installation: i64, repository: i64) -> Index {
        Index {
            action: Some(action.to_owned()),
            installation_id: Some(installation),
            repository_id: Some(repository),
        }
    }

    #[test]
    fn the_three_fields_are_found_among_unknown_ones() {
        // R18
        let body = br#" {"later":[{"action":"no"}],"repository":{"name":"w","id":7,"x":{}},
            "action":"queued","sender":{"id":1},"installation":{"id":9007199254740993}}"#;
        assert_eq!(read(body, Wrapping::Json), Some(index("queued", 9_007_199_254_740_993, 7)));
    }

    #[test]
    fn the_payload_of_a_form_is_decoded_first() {
        // R24
        let body =
            b"a=1&payload=%7B%22action%22%3A%22opened%22%2C%22installation%22%3A+%7B%22id%22\
            %3A3%7D%2C%22repository%22%3A%7B%22id%22%3A4%7D%7D";
        assert_eq!(read(body, Wrapping::Form), Some(index("opened", 3, 4)));
        assert_eq!(read(b"other=1", Wrapping::Form), None);
    }

    #[test]
    fn a_payload_without_the_fields_has_an_empty_index() {
        // R15, R40
        assert_eq!(read(br#"{"zen":"Half measures."}"#, Wrapping::Json), Some(Index::default()));
    }

    #[test]
    fn a_field_of_an_odd_shape_is_skipped_and_the_others_stay() {
        // R38
        for (odd, rest) in [
            (r#""action":null"#, r#""installation":{"id":3},"repository":{"id":4}"#),
            (r#""action":{"a":1}"#, r#""installation":{"id":3},"repository":{"id":4}"#),
            (r#""action":"a\u0000b""#, r#""installation":{"id":3},"repository":{"id":4}"#),
        ] {
            let body = format!("{{{odd},{rest}}}");
            let expected = Index { action: None, installation_id: Some(3), repository_id: Some(4) };
            assert_eq!(read(body.as_bytes(), Wrapping::Json), Some(expected), "{odd}");
        }
        let odd_ids = br#"{"action":"a","installation":{"id":"3"},"repository":{"id":1.5}}"#;
        let expected = Index { action: Some("a".to_owned()), ..Index::default() };
        assert_eq!(read(odd_ids, Wrapping::Json), Some(expected));
        let huge = br#"{"installation":{"id":18446744073709551615},"repository":[]}"#;
        assert_eq!(read(huge, Wrapping::Json), Some(Index::default()));
    }

    #[test]
    fn what_is_no_json_object_has_no_index() {
        for body in [&b""[..], b"{", b"[]", b"[\"opened\"]", b"null", b"{}x", b"\xff\xfe", b"\0"] {
            assert_eq!(read(body, Wrapping::Json), None, "{body:?}");
        }
    }
}
