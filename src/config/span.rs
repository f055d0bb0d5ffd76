//! Durations, as the file, flags and queries write them.

use std::time::Duration;

use chrono::TimeDelta;

use super::read::{Kind, Wrong};

/// A duration, at most ten years, so that no arithmetic on times can overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span(pub(super) Duration);

const TEN_YEARS: Duration = Duration::from_hours(3650 * 24);
const UNITS: [(u128, &str); 5] =
    [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];

impl Kind for Span {
    const WANTED: &'static str = "a duration";
    const EXAMPLE: &'static str = "\"90s\", \"15m\" or \"3d\"";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        match humantime::parse_duration(text.trim()) {
            Ok(duration) if duration > TEN_YEARS => {
                Err(Wrong::new("is too long").hint("at most 3650d"))
            }
            Ok(duration) => Ok(Self(duration)),
            Err(_) => Err(Wrong::unreadable::<Self>()),
        }
    }

    fn show(&self) -> toml::Value {
        let millis = self.0.as_millis();
        let (count, unit) = UNITS
            .iter()
            .find(|(length, _)| millis > 0 && millis.is_multiple_of(*length))
            .map_or((millis, "s"), |(length, unit)| (millis / length, *unit));
        format!("{count}{unit}").into()
    }
}

/// A duration written as in the file, for flags and queries.
///
/// # Errors
/// What would be right, when it is none or longer than ten years.
pub fn span(text: &str) -> Result<TimeDelta, String> {
    match Span::from_text(text) {
        Ok(Span(duration)) => Ok(TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)),
        Err(_) => Err("must be a duration such as 90s or 3d, at most 3650d".to_owned()),
    }
}
