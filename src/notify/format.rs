//! The words of a notice, for channels that people read.

use chrono::{DateTime, TimeDelta, Utc};

use super::Notice;
use crate::domain::{ids::Guid, notice::Why};

/// `FIRING: deliveries_missing on ci`.
#[must_use]
pub fn title(notice: &Notice) -> String {
    let state = match notice.why {
        Why::New => "FIRING",
        Why::Grown => "FIRING, MORE THAN BEFORE",
        Why::Reminder => "STILL FIRING",
        Why::Resolved => "RESOLVED",
        Why::Test => "TEST",
    };
    match &notice.hook {
        Some(hook) => format!("{state}: {} on {hook}", notice.name),
        None => format!("{state}: {}", notice.name),
    }
}

/// The lines below the title: the sentence, then what there is of times, deliveries and the command.
#[must_use]
pub fn lines(notice: &Notice) -> Vec<String> {
    let mut lines = vec![sentence(&notice.summary)];
    if notice.is_resolved() {
        lines.push(format!(
            "It held for {}, from {} on.",
            age(notice.at - notice.since),
            time(notice.since)
        ));
        return lines;
    }
    if let Some(oldest) = notice.oldest {
        lines.push(format!("Age of the oldest: {}.", age(notice.at - oldest)));
    }
    if !notice.guids.is_empty() {
        lines.push(format!("Deliveries: {}", guids(notice)));
    }
    lines.push(format!("Next: {}", notice.command));
    lines
}

/// The GUIDs, and how many more there are; empty where none is named.
#[must_use]
pub fn guids(notice: &Notice) -> String {
    if notice.guids.is_empty() {
        return String::new();
    }
    let named: Vec<_> = notice.guids.iter().map(Guid::as_str).collect();
    let more = notice.count.saturating_sub(named.len() as u64);
    let named = named.join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

/// Seconds to days as a person says them: `42s`, `7m`, `3h 20m`, `2d 4h`.
#[must_use]
pub fn age(span: TimeDelta) -> String {
    let seconds = span.num_seconds().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3_600 => format!("{minutes}m"),
        3_600..86_400 => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}

fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}
