//! The channel that is always there: the log.

use super::{Notice, Notifier, Told, format};
use crate::domain::ids::HookName;

/// Tells by one log line.
#[derive(Debug)]
pub(super) struct Log;

impl Notifier for Log {
    fn tell<'a>(&'a self, notice: &'a Notice) -> Told<'a> {
        let hook = notice.hook.as_ref().map(HookName::as_str);
        if notice.is_resolved() {
            tracing::info!(
                condition = notice.name,
                hook,
                why = notice.why.as_str(),
                since = %notice.since,
                "{}: {}",
                format::title(notice),
                notice.summary
            );
        } else {
            tracing::warn!(
                condition = notice.name,
                hook,
                why = notice.why.as_str(),
                severity = notice.severity.as_str(),
                since = %notice.since,
                count = notice.count,
                guids = format::guids(notice),
                next = notice.command,
                "{}: {}",
                format::title(notice),
                notice.summary
            );
        }
        Box::pin(std::future::ready(Ok(())))
    }
}
