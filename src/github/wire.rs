//! Reads GitHub's JSON leniently: what we do not need may be anything, and one bad row costs only itself.

use std::borrow::Cow;

use chrono::{DateTime, NaiveDateTime, SubsecRound, Utc};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    AppInfo, Detail, HookConfig, Listed,
    scrub::{bounded, scrub},
};
use crate::domain::{
    attempt::Attempt,
    ids::{AttemptId, EventName, Guid},
};

/// Messages about unreadable rows kept of one page, at most. A page has a hundred rows.
const MAX_UNREADABLE: usize = 1_000;
/// Characters of an action, at most.
const MAX_ACTION: usize = 128;

/// The rows that could be read, and what was wrong with each of the others.
pub(super) struct Rows {
    pub(super) rows: Vec<Listed>,
    pub(super) unreadable: Vec<String>,
}

/// Why a row cannot be used. Names the field and the rule, never a value.
type Reason = &'static str;

#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    guid: Option<&'a RawValue>,
    #[serde(borrow)]
    delivered_at: Option<&'a RawValue>,
    #[serde(borrow)]
    redelivery: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    status_code: Option<&'a RawValue>,
    #[serde(borrow)]
    event: Option<&'a RawValue>,
    #[serde(borrow)]
    action: Option<&'a RawValue>,
    #[serde(borrow)]
    installation_id: Option<&'a RawValue>,
    #[serde(borrow)]
    repository_id: Option<&'a RawValue>,
}

/// One page of the list. `None` when the body is not a JSON array. Bytes that are no UTF-8, as a
/// status text could have them, cost no more than themselves.
pub(super) fn rows(body: &[u8]) -> Option<Rows> {
    let text = String::from_utf8_lossy(body);
    let raw: Vec<&RawValue> = serde_json::from_str(&text).ok()?;
    let mut out = Rows { rows: Vec::with_capacity(raw.len().min(100)), unreadable: Vec::new() };
    for (position, row) in raw.into_iter().enumerate() {
        match listed(row) {
            Ok(row) => out.rows.push(row),
            Err(reason) if out.unreadable.len() < MAX_UNREADABLE => {
                out.unreadable.push(format!("row {}: {reason}", position + 1));
            }
            Err(_) => {}
        }
    }
    Some(out)
}

/// What decides (id, GUID, event, time, code, redelivery) must be readable; of the rest, what has an unexpected
/// type counts as absent. An event may lack its name: what is lost can be asked for without it.
fn listed(raw: &RawValue) -> Result<Listed, Reason> {
    let row: Row<'_> = object(raw)?;
    Ok(Listed {
        guid: guid(row.guid)?,
        event: match row.event {
            None => EventName::unnamed(),
            named => event(named)?,
        },
        action: row.action.and_then(text).map(|action| bounded(&clean(&action), MAX_ACTION)),
        installation_id: row.installation_id.and_then(whole),
        repository_id: row.repository_id.and_then(whole),
        attempt: Attempt {
            id: id(row.id)?,
            delivered_at: delivered_at(row.delivered_at)?,
            redelivery: match row.redelivery {
                None => false,
                Some(raw) => raw.get().parse().map_err(|_| "redelivery is no boolean")?,
            },
            status: row.status.and_then(text).map(|status| scrub(&status)).unwrap_or_default(),
            code: code(row.status_code)?,
        },
    })
}

/// What the detail endpoint says of an attempt.
pub(super) enum DetailBody {
    /// With a payload.
    Whole(Detail),
    /// GitHub keeps no payload for it.
    NoPayload,
}

#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow)]
    guid: Option<&'a RawValue>,
    #[serde(borrow)]
    event: Option<&'a RawValue>,
    #[serde(borrow)]
    request: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(borrow)]
    headers: Option<&'a RawValue>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

/// One attempt's detail. The payload stays exactly the JSON text in the answer, so no number in it is rounded.
pub(super) fn detail(body: &[u8]) -> Result<DetailBody, Reason> {
    let raw: &RawValue = serde_json::from_slice(body).map_err(|_| "not JSON")?;
    let whole: Whole<'_> = object(raw)?;
    let (guid, event) = (guid(whole.guid)?, event(whole.event)?);
    let Some(request) = whole.request else { return Ok(DetailBody::NoPayload) };
    let sent: Sent<'_> = object(request)?;
    let Some(payload) = sent.payload else { return Ok(DetailBody::NoPayload) };
    let headers = sent.headers.map(headers).unwrap_or_default();
    let payload = payload.get().as_bytes().to_vec();
    Ok(DetailBody::Whole(Detail { guid, event, headers, payload }))
}

/// The App. `None` when the answer has no readable id.
pub(super) fn app(body: &[u8]) -> Option<AppInfo> {
    #[derive(Deserialize)]
    struct App<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
        #[serde(borrow)]
        client_id: Option<&'a RawValue>,
        #[serde(borrow)]
        name: Option<&'a RawValue>,
    }
    let app: App<'_> = object(serde_json::from_slice(body).ok()?).ok()?;
    Some(AppInfo {
        id: app.id.and_then(whole)?,
        client_id: app.client_id.and_then(text).map(Cow::into_owned),
        name: app.name.and_then(text).map(|name| scrub(&name)).unwrap_or_default(),
    })
}

/// The webhook's settings. `None` when the answer is no object. GitHub shows a set secret as
/// asterisks, and omits it when there is none (GITHUB.md section 5).
pub(super) fn hook_config(body: &[u8]) -> Option<HookConfig> {
    #[derive(Deserialize)]
    struct Config<'a> {
        #[serde(borrow)]
        url: Option<&'a RawValue>,
        #[serde(borrow)]
        content_type: Option<&'a RawValue>,
        #[serde(borrow)]
        insecure_ssl: Option<&'a RawValue>,
        #[serde(borrow)]
        secret: Option<&'a RawValue>,
    }
    let config: Config<'_> = object(serde_json::from_slice(body).ok()?).ok()?;
    let filled = |raw: Option<&RawValue>| {
        raw.and_then(text).map(Cow::into_owned).filter(|text| !text.is_empty())
    };
    Some(HookConfig {
        url: filled(config.url),
        content_type: filled(config.content_type),
        // A number or a string of digits, by host.
        verifies_tls: config.insecure_ssl.and_then(whole) != Some(1),
        has_secret: filled(config.secret).is_some(),
    })
}

/// The headers that are strings, in GitHub's order.
fn headers(raw: &RawValue) -> Vec<(String, String)> {
    struct Pairs(Vec<(String, String)>);
    impl<'de> Deserialize<'de> for Pairs {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Pairs;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(
                    self,
                    mut map: A,
                ) -> Result<Pairs, A::Error> {
                    let mut pairs = Vec::new();
                    while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                        if let Some(value) = text(value) {
                            pairs.push((name, value.into_owned()));
                        }
                    }
                    Ok(Pairs(pairs))
                }
            }
            deserializer.deserialize_map(Visitor)
        }
    }
    serde_json::from_str::<Pairs>(raw.get()).map(|pairs| pairs.0).unwrap_or_default()
}

/// serde would also take an array as a struct, by position; GitHub means objects.
fn object<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, Reason> {
    if !raw.get().starts_with('{') {
        return Err("not an object");
    }
    serde_json::from_str(raw.get()).map_err(|_| "not a usable object")
}

fn guid(raw: Option<&RawValue>) -> Result<Guid, Reason> {
    let text = raw.and_then(text).ok_or("guid is missing or no string")?;
    Guid::new(&text).map_err(|_| "guid must be 1 to 128 characters of A-Z a-z 0-9 . _ -")
}

fn event(raw: Option<&RawValue>) -> Result<EventName, Reason> {
    let text = raw.and_then(text).ok_or("event is missing or no string")?;
    EventName::new(&text).map_err(|_| "event must be 1 to 128 characters of A-Z a-z 0-9 . _ -")
}

fn id(raw: Option<&RawValue>) -> Result<AttemptId, Reason> {
    let wrong = "id must be a whole number from 1 to 9223372036854775807";
    whole(raw.ok_or("id is missing")?).and_then(|id| AttemptId::try_from(id).ok()).ok_or(wrong)
}

fn delivered_at(raw: Option<&RawValue>) -> Result<DateTime<Utc>, Reason> {
    let text = raw.and_then(text).ok_or("delivered_at is missing or no string")?;
    let time = match DateTime::parse_from_rfc3339(&text) {
        Ok(time) => time.to_utc(),
        // Without an offset it can only be UTC, as everything in this API is.
        Err(_) => NaiveDateTime::parse_from_str(&text, "%Y-%m-%dT%H:%M:%S%.f")
            .map_err(|_| "delivered_at is no RFC 3339 time")?
            .and_utc(),
    };
    Ok(time.trunc_subsecs(6))
}

/// Null, absent and 0 all mean that the outcome is not known yet.
fn code(raw: Option<&RawValue>) -> Result<Option<i32>, Reason> {
    let Some(raw) = raw else { return Ok(None) };
    let code = whole(raw).and_then(|code| i32::try_from(code).ok());
    Ok(Some(code.ok_or("status_code is no whole number")?).filter(|code| *code != 0))
}

/// A JSON string. `None` for any other type.
fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|text| text.0)
}

/// A whole number, written as a number or as a string of digits; it never passes through a float
/// (GITHUB.md section 1.5).
fn whole(raw: &RawValue) -> Option<i64> {
    let number = raw.get();
    let digits = number.strip_prefix('"').and_then(|n| n.strip_suffix('"')).unwrap_or(number);
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    let plain = !unsigned.is_empty() && unsigned.bytes().all(|b| b.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

/// Control characters become spaces: a database text takes no NUL, and a log line must stay one line.
fn clean(text: &str) -> Cow<'_, str> {
    if text.contains(char::is_control) {
        Cow::Owned(text.replace(char::is_control, " "))
    } else {
        Cow::Borrowed(text)
    }
}
