//! Times as people write them: RFC 3339 in UTC, to the millisecond.
//!
//! Days are counted by the proleptic Gregorian calendar in cycles of 400 years, which all have
//! 146,097 days; years begin in March, so that the leap day comes last.

const DAY_MS: i64 = 86_400_000;
const DAYS_PER_CYCLE: i64 = 146_097;
/// From 0000-03-01 to 1970-01-01.
const DAYS_BEFORE_1970: i64 = 719_468;

/// The time `ms` after 1970 began, for example `2026-11-30T08:00:00.000Z`.
pub(crate) fn format_rfc3339(ms: i64) -> String {
    let (days, in_day) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
    let (year, month, day) = date_of(days);
    let (seconds, millis) = (in_day / 1000, in_day % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Milliseconds from 1970 to a time such as `2026-11-30T08:00:00.5+01:00`; `None` if it is not one,
/// or lies before 1970.
pub(crate) fn parse_rfc3339(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let (year, month, day) = three(date, '-')?;
    let (time, offset_minutes) = split_zone(time)?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let (hour, minute, second) = three(time, ':')?;
    let real_day = (1..=12).contains(&month) && (1..=31).contains(&day) && year <= 9999;
    if !real_day || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_of(year, month, day);
    if date_of(days) != (year, month, day) {
        return None;
    }
    let seconds = hour * 3600 + minute * 60 + second - offset_minutes * 60;
    let ms = days * DAY_MS + seconds * 1000 + millis_of(fraction)?;
    (ms >= 0).then_some(ms)
}

/// A time of day and its zone's distance from UTC in minutes.
fn split_zone(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let at = time.rfind(['+', '-'])?;
    let (hours, minutes) = time[at + 1..].split_once(':')?;
    let offset = number(hours)? * 60 + number(minutes)?;
    let sign = if time[at..].starts_with('-') { -1 } else { 1 };
    (offset < 24 * 60).then_some((&time[..at], sign * offset))
}

fn three(text: &str, separator: char) -> Option<(i64, i64, i64)> {
    let mut parts = text.split(separator).map(number);
    let three = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(three)
}

fn number(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

fn millis_of(fraction: &str) -> Option<i64> {
    if fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits = fraction.bytes().chain(*b"00").take(3);
    Some(digits.fold(0, |ms, digit| ms * 10 + i64::from(digit - b'0')))
}

/// Days from 1970 to a date.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (cycle, in_cycle) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_cycle = in_cycle * 365 + in_cycle / 4 - in_cycle / 100 + day_of_year;
    cycle * DAYS_PER_CYCLE + day_of_cycle - DAYS_BEFORE_1970
}

/// The date so many days after 1970-01-01.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_BEFORE_1970;
    let (cycle, in_cycle) = (days.div_euclid(DAYS_PER_CYCLE), days.rem_euclid(DAYS_PER_CYCLE));
    let leap_days = in_cycle / 1460 - in_cycle / 36_524 + in_cycle / 146_096;
    let year = (in_cycle - leap_days) / 365;
    let day_of_year = in_cycle - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (cycle * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times_are_written_as_they_are() {
        let known = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        ];
        for (ms, text) in known {
            assert_eq!(format_rfc3339(ms), text);
            assert_eq!(parse_rfc3339(text), Some(ms));
        }
    }

    #[test]
    fn every_day_of_five_centuries_comes_back() {
        for day in 0..182_621 {
            let ms = day * DAY_MS + 12_345;
            assert_eq!(parse_rfc3339(&format_rfc3339(ms)), Some(ms));
        }
    }

    #[test]
    fn zones_and_fractions_are_understood() {
        assert_eq!(parse_rfc3339("1970-01-01T02:00:00+01:00"), Some(3_600_000));
        assert_eq!(parse_rfc3339("1970-01-01 00:00:00.1234Z"), Some(123));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2026-02-30T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01",
            "T",
            "1-1-1T1:1:1",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00",
            "1969-12-31T23:59:59Z",
            "2026-01-01T00:00:00+99:99",
            "é-01-01T00:00:00Z",
        ] {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
    }
}
