//! `/metrics`: gauges are formed when somebody scrapes, counters have been counted already.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::Admin;
use crate::{
    report,
    telemetry::{self, HookLabel, ReasonLabel, StateLabel},
};

/// The content type of the OpenMetrics text format.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The content type of the older Prometheus text format.
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The text, in OpenMetrics where that is asked for. When the store cannot be read, what would come
/// from it is absent, so that a scrape never shows old gauges as new; that it cannot be read is told
/// by the condition `store_failing`, which stays.
pub(super) async fn metrics(State(admin): State<Admin>, headers: HeaderMap) -> Response {
    if let Err(error) = refresh(&admin).await {
        tracing::warn!(%error, "metrics are formed without the store");
        admin.metrics.forget_store();
    }
    match admin.metrics.render() {
        Ok(text) if wants_open_metrics(&headers) => {
            ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response()
        }
        Ok(text) => ([(header::CONTENT_TYPE, PLAIN)], telemetry::plain(&text)).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

fn wants_open_metrics(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .any(|accept| accept.to_str().is_ok_and(|a| a.contains("application/openmetrics-text")))
}

async fn refresh(admin: &Admin) -> Result<(), crate::store::StoreError> {
    let status = report::status(&admin.store, &admin.config, admin.clock.now()).await?;
    for hook in status.hooks {
        for (reason, count) in hook.missing.by_reason() {
            let label = ReasonLabel { hook: hook.name.clone(), reason: reason.to_owned() };
            let gauge = admin.metrics.missing_deliveries.get_or_create(&label);
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        for (state, count) in hook.inbox.by_state() {
            let label = StateLabel { hook: hook.name.clone(), state: state.to_owned() };
            let gauge = admin.metrics.inbox_events.get_or_create(&label);
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        let label = HookLabel { hook: hook.name };
        admin
            .metrics
            .oldest_missing_age_seconds
            .get_or_create(&label)
            .set(seconds(hook.oldest_missing_seconds.unwrap_or(0)));
        if let Some(at) = hook.last_complete_sweep_at {
            admin
                .metrics
                .last_complete_sweep_timestamp_seconds
                .get_or_create(&label)
                .set(seconds(at.timestamp()));
        }
    }
    let size = admin.store.size_bytes().await?;
    admin.metrics.database_size_bytes.set(i64::try_from(size).unwrap_or(i64::MAX));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "seconds since 1970 stay far below 2^53")]
fn seconds(whole: i64) -> f64 {
    whole as f64
}
