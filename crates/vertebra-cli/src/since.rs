//! Parses a time in the past, as people write it.

use anyhow::bail;
use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};

/// Parses a duration before now (`7d`), a day (`2026-11-01`), or a time (`2026-11-01T12:00:00Z`).
pub(crate) fn read(text: &str, now: Timestamp) -> anyhow::Result<Timestamp> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let seconds = match &text[digits.len()..] {
        "m" | "min" => Some(60),
        "h" => Some(60 * 60),
        "d" => Some(24 * 60 * 60),
        "w" => Some(7 * 24 * 60 * 60),
        _ => None,
    };
    if let (Ok(count), Some(seconds)) = (digits.parse::<u32>(), seconds) {
        let before = SignedDuration::from_secs(i64::from(count) * seconds);
        return Ok(now.checked_sub(before).unwrap_or(Timestamp::MIN));
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    if let Some(day) = text.parse::<Date>().ok().and_then(|day| day.to_zoned(TimeZone::UTC).ok()) {
        return Ok(day.timestamp());
    }
    bail!(
        "invalid time `{text}`: write `7d`, `12h`, `30m`, `2w`, a day such as `2026-11-01`, or `2026-11-01T12:00:00Z`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_days_and_times_are_parsed() {
        let now: Timestamp = "2026-11-16T10:00:00Z".parse().expect("a time");
        let cases = [
            ("7d", Some("2026-11-09T10:00:00Z")),
            ("12h", Some("2026-11-15T22:00:00Z")),
            ("30m", Some("2026-11-16T09:30:00Z")),
            ("2w", Some("2026-11-02T10:00:00Z")),
            ("2026-11-01", Some("2026-11-01T00:00:00Z")),
            ("2026-11-01T12:00:00Z", Some("2026-11-01T12:00:00Z")),
            ("4000000000w", Some("-009999-01-02T01:59:59Z")),
            ("7", None),
            ("d", None),
            ("-7d", None),
            ("yesterday", None),
            ("", None),
        ];
        for (text, wanted) in cases {
            let read = read(text, now).ok().map(|time| time.to_string());
            assert_eq!(read.as_deref(), wanted, "{text}");
        }
    }
}
