//! How results look: tables and times for people, one JSON document for scripts.

use std::io::{self, Write};

use chrono::{DateTime, Local, Utc};
use comfy_table::{ContentArrangement, Table, presets::NOTHING};
use serde::Serialize;

/// How the operator wants to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    /// One JSON document instead of text.
    pub(super) json: bool,
    /// Local times instead of UTC, for people only.
    pub(super) local: bool,
}

/// Writes to standard output. A closed pipe (`| head`) is no error.
pub(super) fn out(text: &str) -> io::Result<()> {
    match writeln!(io::stdout().lock(), "{}", text.trim_end()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// Writes one line to standard error; there is nowhere to report a failure to.
pub(super) fn err(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes one JSON document.
pub(super) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    Ok(out(&serde_json::to_string_pretty(value)?)?)
}

/// A table without lines, so that it can be cut and searched.
pub(super) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.to_vec());
    table
}

/// A time to the second, UTC with a `Z`, or local with its offset.
pub(super) fn time(at: DateTime<Utc>, style: Style) -> String {
    if style.local {
        at.with_timezone(&Local).format("%Y-%m-%d %H:%M:%S%:z").to_string()
    } else {
        at.format("%Y-%m-%d %H:%M:%SZ").to_string()
    }
}

/// A time, or a dash.
pub(super) fn time_or_dash(at: Option<DateTime<Utc>>, style: Style) -> String {
    at.map_or_else(|| "-".to_owned(), |at| time(at, style))
}

/// Seconds as a person says them: `42s`, `7m`, `3h 20m`, `2d 4h`.
pub(super) fn age(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3_600 => format!("{minutes}m"),
        3_600..86_400 => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::age;

    #[test]
    fn ages_read_like_speech() {
        let said: Vec<_> = [0, 59, 60, 3_599, 3_600, 86_399, 86_400, 187_200].map(age).to_vec();
        assert_eq!(said, ["0s", "59s", "1m", "59m", "1h 0m", "23h 59m", "1d 0h", "2d 4h"]);
    }
}
