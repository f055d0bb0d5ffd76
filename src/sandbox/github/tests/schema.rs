//! The answers against GitHub's own description of them.

use serde_json::Value;

use super::{super::Sending, Stage, event};

const SCHEMAS: &str = include_str!("../../../../tests/fixtures/github-schemas.json");

/// Checks required fields and types; enough of JSON schema for these four descriptions.
fn check(value: &Value, schema: &Value, at: &str) {
    if value.is_null() && schema["nullable"] == true {
        return;
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        assert!(choices.iter().any(|c| fits(value, c)), "{at}: {value}");
        return;
    }
    assert!(fits(value, schema), "{at} is {value}, not {}", schema["type"]);
    for field in schema["required"].as_array().into_iter().flatten() {
        let field = field.as_str().unwrap();
        assert!(value.get(field).is_some(), "{at} lacks {field}");
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(field) = value.get(name) {
            check(field, inner, &format!("{at}.{name}"));
        }
    }
}

fn fits(value: &Value, schema: &Value) -> bool {
    match schema["type"].as_str().unwrap() {
        "object" => value.is_object(),
        "string" => value.as_str().is_some_and(|text| {
            schema["format"] != "date-time" || chrono::DateTime::parse_from_rfc3339(text).is_ok()
        }),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        other => panic!("{other} is not expected in these schemas"),
    }
}

#[tokio::test]
async fn list_detail_config_and_errors_are_as_githubs_description_says() {
    let schemas: Value = serde_json::from_str(SCHEMAS).unwrap();
    let stage = Stage::new().await;
    stage.world.faults(|f| f.throttled = true);
    stage.world.emit(stage.hook, event("issues")).await;
    stage.world.faults(|f| f.throttled = false);
    stage.world.emit_as(stage.hook, event("installation"), Sending::FailToConnect).await;
    for row in stage.rows("/app/hook/deliveries").await {
        check(&row, &schemas["hook-delivery-item"], "row");
        assert_eq!(row["url"], "");
        let id = row["id"].as_i64().unwrap();
        let detail: Value =
            stage.get(&format!("/app/hook/deliveries/{id}")).await.json().await.unwrap();
        check(&detail, &schemas["hook-delivery"], "detail");
        assert!(detail["url"].as_str().unwrap().ends_with("/webhook"));
    }
    let config: Value = stage.get("/app/hook/config").await.json().await.unwrap();
    check(&config, &schemas["webhook-config"], "config");
    let error: Value = stage.get("/nowhere").await.json().await.unwrap();
    check(&error, &schemas["basic-error"], "error");
}

#[tokio::test]
async fn the_detail_holds_what_was_sent_and_what_came_back() {
    let stage = Stage::new().await;
    let event = event("issues");
    let guid = stage.world.emit(stage.hook, event.clone()).await;
    let url = format!("/app/hook/deliveries/{}", stage.newest_id());
    let detail: Value = stage.get(&url).await.json().await.unwrap();
    let sent: Value = serde_json::from_slice(&event.payload).unwrap();
    assert_eq!(detail["request"]["payload"], sent);
    assert_eq!(detail["request"]["headers"]["X-GitHub-Delivery"], guid);
    assert_eq!(detail["request"]["headers"]["X-GitHub-Event"], "issues");
    assert_eq!(detail["response"]["payload"], "");
    assert!(detail["response"]["headers"].as_object().unwrap().contains_key("date"));
    assert_eq!(detail["installation_id"], event.installation_id.unwrap());
    assert_eq!(detail["repository_id"], event.repository_id.unwrap());
}
