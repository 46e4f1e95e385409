//! One setting: its name, range and meaning.

use crate::config::Config;
use crate::config::value::Value;

/// One setting.
pub(crate) struct Key {
    /// The section it is in.
    pub(crate) section: &'static str,
    /// Its name there, with the unit last.
    pub(crate) name: &'static str,
    /// What it may be.
    pub(crate) range: Range,
    /// What it means and why one would change it.
    pub(crate) meaning: &'static str,
    /// Reads it.
    pub(crate) get: fn(&Config) -> Value,
    /// Writes it, unchecked.
    pub(crate) set: fn(&mut Config, Value) -> Result<(), String>,
}

/// What a setting may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Range {
    /// `true` or `false`.
    Bool,
    /// A count, both bounds included.
    Count(u64, u64),
    /// Bytes, both bounds included.
    Bytes(u64, u64),
    /// Milliseconds, both bounds included.
    Millis(u64, u64),
    /// An IP address with a port.
    Address,
    /// A host name or IP address, or empty.
    Host,
    /// A directory.
    Directory,
}

impl Key {
    /// `section.name`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// Checks a value and takes it.
    ///
    /// # Errors
    /// The value has another type or lies outside the range.
    pub(crate) fn change(&self, config: &mut Config, value: Value) -> Result<(), String> {
        self.range.check(&value)?;
        (self.set)(config, value)
    }
}

impl Range {
    /// In words.
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Count(min, max) => format!("{min} to {max}"),
            Self::Bytes(min, max) => format!("{} to {}", bytes_text(min), bytes_text(max)),
            Self::Millis(min, max) => format!("{} to {}", millis_text(min), millis_text(max)),
            Self::Address => "an IP address with a port".to_owned(),
            Self::Host => "a host name or an IP address, or empty".to_owned(),
            Self::Directory => "a directory, which is made if it is missing".to_owned(),
        }
    }

    fn check(self, value: &Value) -> Result<(), String> {
        let fits = match (self, value) {
            (
                Self::Count(min, max) | Self::Bytes(min, max) | Self::Millis(min, max),
                Value::Whole(number),
            ) => (min..=max).contains(number),
            (Self::Directory, Value::Text(text)) => !text.is_empty() && !text.contains('\0'),
            (Self::Host, Value::Text(text)) => {
                text.len() <= 253
                    && text.chars().all(|c| c.is_ascii_alphanumeric() || ".-:".contains(c))
            }
            _ => true,
        };
        if fits { Ok(()) } else { Err(format!("expected {}", self.describe())) }
    }
}

/// A number of bytes in the largest unit that divides it.
pub(crate) fn bytes_text(bytes: u64) -> String {
    let units = [(1_u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} bytes"),
    }
}

/// A number of milliseconds in the largest unit that divides it.
pub(crate) fn millis_text(ms: u64) -> String {
    let units = [(3_600_000, "h"), (60_000, "min"), (1000, "s")];
    match units.iter().find(|(unit, _)| ms >= *unit && ms.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", ms / unit),
        None => format!("{ms} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_in_their_largest_unit() {
        assert_eq!(bytes_text(192 << 20), "192 MiB");
        assert_eq!(bytes_text(1500), "1500 bytes");
        assert_eq!(millis_text(600_000), "10 min");
        assert_eq!(millis_text(1), "1 ms");
    }
}
