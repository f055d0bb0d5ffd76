//! The App itself and the configuration of its webhook.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    super::hook::{ContentType, HookConfig},
    Api, Caller,
    answer::error,
};

const CONFIG_DOCS: &str =
    "https://docs.github.com/rest/apps/webhooks#update-a-webhook-configuration-for-an-app";

/// `GET /app`
pub(super) async fn show(State(api): State<Api>, Caller(hook): Caller) -> Response {
    let state = api.world.state();
    let Some(setup) = state.hooks.get(hook.0).map(|h| &h.setup) else {
        return error(404, "Not Found", super::answer::DOCS);
    };
    Json(json!({
        "id": setup.app_id,
        "slug": setup.name,
        "client_id": setup.client_id,
        "node_id": format!("A_kwDO{:08x}", setup.app_id),
        "owner": {
            "login": "sandbox-owner", "id": 9001, "node_id": "O_kgDO0009001", "type": "Organization",
            "site_admin": false,
        },
        "name": setup.name,
        "description": "An App of the simulated GitHub",
        "external_url": "https://app.sandbox.test",
        "html_url": format!("https://github.sandbox.test/apps/{}", setup.name),
        "created_at": "2024-01-15T09:00:00Z",
        "updated_at": "2026-01-15T09:00:00Z",
        "permissions": {"actions": "read", "checks": "write", "contents": "read",
                        "issues": "write", "metadata": "read", "pull_requests": "write"},
        "events": super::super::events::names(),
        "installations_count": 3,
    }))
    .into_response()
}

/// `GET /app/hook/config`
pub(super) async fn config(State(api): State<Api>, Caller(hook): Caller) -> Response {
    let state = api.world.state();
    match state.hooks.get(hook.0) {
        Some(hook) => shown(&hook.setup.config),
        None => error(404, "Not Found", CONFIG_DOCS),
    }
}

/// What `PATCH /app/hook/config` takes; only what is given changes (GITHUB.md section 5).
#[derive(Deserialize)]
pub(super) struct Patch {
    url: Option<String>,
    content_type: Option<String>,
    secret: Option<String>,
    insecure_ssl: Option<Value>,
}

/// `PATCH /app/hook/config`
pub(super) async fn configure(
    State(api): State<Api>,
    Caller(hook): Caller,
    body: Result<Json<Patch>, axum::extract::rejection::JsonRejection>,
) -> Response {
    let Ok(Json(patch)) = body else { return error(400, "Problems parsing JSON", CONFIG_DOCS) };
    let content_type = match patch.content_type.as_deref().map(ContentType::from_word) {
        Some(None) => return error(422, "Validation Failed", CONFIG_DOCS),
        Some(known) => known,
        None => None,
    };
    let insecure_ssl = match patch.insecure_ssl.as_ref().map(insecure) {
        Some(None) => return error(422, "Validation Failed", CONFIG_DOCS),
        Some(known) => known,
        None => None,
    };
    let mut state = api.world.state();
    let Some(hook) = state.hooks.get_mut(hook.0) else {
        return error(404, "Not Found", CONFIG_DOCS);
    };
    let config = &mut hook.setup.config;
    if let Some(url) = patch.url {
        config.url = url;
    }
    if let Some(secret) = patch.secret {
        config.secret = secret.into();
    }
    config.content_type = content_type.unwrap_or(config.content_type);
    config.insecure_ssl = insecure_ssl.unwrap_or(config.insecure_ssl);
    shown(config)
}

/// What `insecure_ssl` means, a string or a number; `None` for anything but 0 and 1.
fn insecure(value: &Value) -> Option<bool> {
    match value.as_i64().or_else(|| value.as_str()?.parse().ok())? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

fn shown(config: &HookConfig) -> Response {
    let mut body = json!({
        "content_type": config.content_type.as_str(), "insecure_ssl": if config.insecure_ssl { "1" } else { "0" },
        "url": config.url,
    });
    if !config.secret.expose_secret().is_empty()
        && let Some(fields) = body.as_object_mut()
    {
        fields.insert("secret".to_owned(), "********".into());
    }
    Json(body).into_response()
}
