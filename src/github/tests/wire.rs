//! Rows and details as GitHub may write them, and as it never should.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::github::{Listed, wire};

fn row() -> Value {
    json!({
        "id": 17, "guid": "0b989ba4-242f-11e5-81e1-c7b6966d2516", "delivered_at": "2026-05-28T01:19:07.318Z",
        "redelivery": true, "duration": 0.27, "status": "OK", "status_code": 200, "event": "issues",
        "action": "opened", "installation_id": 123, "repository_id": 456, "throttled_at": null,
    })
}

fn with(field: &str, value: Value) -> Value {
    let mut row = row();
    row[field] = value;
    row
}

fn without(field: &str) -> Value {
    let mut row = row();
    row.as_object_mut().unwrap().remove(field);
    row
}

fn read(row: &Value) -> Result<Listed, String> {
    let mut rows = wire::rows(format!("[{row}]").as_bytes()).unwrap();
    rows.rows.pop().ok_or_else(|| rows.unreadable.pop().unwrap())
}

fn ids(body: &str) -> Vec<i64> {
    wire::rows(body.as_bytes()).unwrap().rows.iter().map(|row| row.attempt.id.get()).collect()
}

#[test]
fn a_row_is_read_with_all_its_facts() {
    let row = read(&row()).unwrap();
    assert_eq!(row.guid.as_str(), "0b989ba4-242f-11e5-81e1-c7b6966d2516");
    assert_eq!(row.event.as_str(), "issues");
    assert_eq!(row.action.as_deref(), Some("opened"));
    assert_eq!((row.installation_id, row.repository_id), (Some(123), Some(456)));
    assert_eq!(row.attempt.id.get(), 17);
    assert_eq!(row.attempt.delivered_at.to_rfc3339(), "2026-05-28T01:19:07.318+00:00");
    assert!(row.attempt.redelivery);
    assert_eq!((row.attempt.status.as_str(), row.attempt.code), ("OK", Some(200)));
}

// L1, L2, L3
#[test]
fn ids_keep_all_their_bits() {
    let rows: Vec<String> = [
        "17",
        "9223372036854775807",
        "3800000000000000129",
        "3800000000000000130",
        "\"3800000000000000123\"",
    ]
    .iter()
    .map(|id| row().to_string().replace("\"id\":17", &format!("\"id\":{id}")))
    .collect();
    assert_eq!(
        ids(&format!("[{}]", rows.join(","))),
        [
            17,
            i64::MAX,
            3_800_000_000_000_000_129,
            3_800_000_000_000_000_130,
            3_800_000_000_000_000_123
        ]
    );
}

#[test]
fn what_is_no_id_makes_its_row_unreadable() {
    for id in [
        "0",
        "-1",
        "-0",
        "1.0",
        "1e3",
        "3.8e18",
        "9223372036854775808",
        "18446744073709551616",
        "null",
        "\"\"",
        "\"0x11\"",
        "\" 17\"",
        "\"+17\"",
        "true",
        "[17]",
        "{}",
    ] {
        let row = row().to_string().replace("\"id\":17", &format!("\"id\":{id}"));
        let rows = wire::rows(format!("[{row}]").as_bytes()).unwrap();
        assert_eq!((rows.rows.len(), rows.unreadable.len()), (0, 1), "{id}");
        assert!(rows.unreadable[0].starts_with("row 1: id "), "{}", rows.unreadable[0]);
    }
}

#[test]
fn unreadable_rows_are_counted_and_the_others_stay() {
    let rows = [
        row(),
        json!(null),
        json!("text"),
        json!([1, "g", "2026-05-28T01:19:07Z"]),
        without("guid"),
        with("guid", json!("white space s3cret")),
        with("event", json!(7)),
        without("delivered_at"),
        with("delivered_at", json!("yesterday s3cret")),
        with("status_code", json!("many")),
        with("status_code", json!(200.5)),
        with("redelivery", json!("no")),
        row(),
    ];
    let body = Value::from(rows.to_vec()).to_string();
    let twice = body.replacen("{\"action\"", "{\"id\":1,\"action\"", 1);
    let read = wire::rows(twice.as_bytes()).unwrap();
    assert_eq!((read.rows.len(), read.unreadable.len()), (1, 12));
    assert_eq!(read.unreadable[0], "row 1: not a usable object");
    assert_eq!(read.unreadable[1], "row 2: not an object");
    assert_eq!(read.unreadable[8], "row 9: delivered_at is no RFC 3339 time");
    assert!(!read.unreadable.concat().contains("s3cret"));
}

#[test]
fn null_and_absence_pass_where_the_schema_says_otherwise() {
    for field in [
        "status_code",
        "status",
        "action",
        "installation_id",
        "repository_id",
        "redelivery",
        "event",
        "duration",
    ] {
        for row in [without(field), with(field, Value::Null)] {
            read(&row).unwrap_or_else(|reason| panic!("{field}: {reason}"));
        }
    }
    // W17
    for row in
        [without("status_code"), with("status_code", json!(null)), with("status_code", json!(0))]
    {
        assert_eq!(read(&row).unwrap().attempt.code, None);
    }
    assert_eq!(read(&with("status", Value::Null)).unwrap().attempt.status, "");
    assert!(!read(&without("redelivery")).unwrap().attempt.redelivery);
    assert!(read(&with("event", Value::Null)).unwrap().event.is_unnamed());
}

#[test]
fn what_does_not_decide_may_be_anything() {
    let odd = json!({"deep": [1.5, null]});
    for field in ["action", "installation_id", "repository_id", "status", "duration", "url", "new"]
    {
        read(&with(field, odd.clone())).unwrap_or_else(|reason| panic!("{field}: {reason}"));
    }
    assert_eq!(read(&with("installation_id", json!(1.5))).unwrap().installation_id, None);
    assert_eq!(read(&with("status_code", json!(-1))).unwrap().attempt.code, Some(-1));
    assert_eq!(read(&with("event", json!("new_event.2"))).unwrap().event.as_str(), "new_event.2");
    let action = read(&with("action", json!(format!("a\u{0}{}", "b".repeat(500))))).unwrap().action;
    assert_eq!(action, Some(format!("a {}…", "b".repeat(126))));
}

#[test]
fn bytes_that_are_no_text_cost_only_themselves() {
    let page = Value::from(vec![with("status", json!("AB")), row()]).to_string().into_bytes();
    let at = page.windows(4).position(|bytes| bytes == b"\"AB\"").unwrap();
    let mut odd = page;
    odd[at + 1..at + 3].copy_from_slice(b"\xff\xfe");
    let read = wire::rows(&odd).unwrap();
    assert_eq!((read.rows.len(), read.unreadable.len()), (2, 0));
    assert_eq!(read.rows[0].attempt.status, "\u{fffd}\u{fffd}");
}

#[test]
fn times_come_with_or_without_fraction_and_offset() {
    for (text, expected) in [
        ("2019-06-03T00:57:16Z", "2019-06-03T00:57:16+00:00"),
        ("2019-06-03T00:57:16.5+02:00", "2019-06-02T22:57:16.500+00:00"),
        ("2019-06-03T00:57:16.123456789Z", "2019-06-03T00:57:16.123456+00:00"),
        ("2019-06-03T00:57:16", "2019-06-03T00:57:16+00:00"),
        ("2019-06-03T00:57:16.25", "2019-06-03T00:57:16.250+00:00"),
    ] {
        let row = read(&with("delivered_at", json!(text))).unwrap();
        assert_eq!(row.attempt.delivered_at.to_rfc3339(), expected);
    }
}

#[test]
fn a_status_text_is_scrubbed() {
    let row = with("status", json!("Post \"https://u:p@h.example/in?t=1\": EOF"));
    assert_eq!(read(&row).unwrap().attempt.status, "Post \"https://h.example/in\": EOF");
}

#[test]
fn what_is_no_array_is_no_page() {
    for body in ["", "{}", "null", "<html>", "[{}", "[]x", "\u{feff}[]", "\"[]\""] {
        assert!(wire::rows(body.as_bytes()).is_none(), "{body}");
    }
    assert!(wire::rows("[".repeat(1 << 20).as_bytes()).is_none());
}

#[test]
fn messages_about_unreadable_rows_are_bounded() {
    let body = format!("[{}0]", "0,".repeat(100_000));
    assert_eq!(wire::rows(body.as_bytes()).unwrap().unreadable.len(), 1_000);
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>(), json in "[\\[\\]{}\",:0-9.eE+a-z -]{0,60}") {
        for body in [text.clone(), format!("[{json}]"), format!("[{{\"id\":{json},\"guid\":{text:?}}}]")] {
            let _ = wire::rows(body.as_bytes());
            let _ = wire::detail(body.as_bytes());
        }
    }

    #[test]
    fn no_field_value_panics(field in 0_usize..10, value in "[0-9.eE+-]{1,25}|\"[^\"\\\\\u{0}-\u{1f}]{0,40}\"|null|\\[\\]") {
        let names = ["id", "guid", "delivered_at", "redelivery", "status", "status_code", "event", "action",
            "installation_id", "repository_id"];
        let row = with(names[field], json!("PLACE")).to_string().replace("\"PLACE\"", &value);
        if let Some(rows) = wire::rows(format!("[{row}]").as_bytes()) {
            prop_assert_eq!(rows.rows.len() + rows.unreadable.len(), 1);
        }
    }
}
