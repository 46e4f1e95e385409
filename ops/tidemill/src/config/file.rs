//! Reading settings: from a TOML file, and from `--set`.
//!
//! An error names file, line and key, and what was expected.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::Config;
use crate::config::key::Key;
use crate::config::keys::KEYS;
use crate::config::value::Value;
use crate::failure::Failure;

const HINT: &str = "all settings: tidemill server --print-config";

/// Changes what the text of a configuration file says; `path` is for messages only.
///
/// # Errors
/// The text is not TOML, or a key or value in it is refused. `config` is partly changed then.
pub(crate) fn apply_file(config: &mut Config, path: &Path, text: &str) -> Result<(), Failure> {
    let refuse = |at: usize, message: String| {
        let line = text[..at.min(text.len())].matches('\n').count() + 1;
        Failure::usage(format!("{}:{line}: {message}", path.display())).hint(HINT)
    };
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        refuse(at, error.message().to_owned())
    })?;
    for (section, entries) in document.get_ref() {
        let DeValue::Table(entries) = entries.get_ref() else {
            let message = format!("{} stands in no section", section.get_ref());
            return Err(refuse(section.span().start, message));
        };
        for (name, value) in entries {
            let key = find(section.get_ref(), name.get_ref())
                .map_err(|message| refuse(name.span().start, message))?;
            to_value(value)
                .and_then(|taken| key.change(config, taken))
                .map_err(|why| refuse(value.span().start, format!("{}: {why}", key.full_name())))?;
        }
    }
    Ok(())
}

/// Changes one setting, given as `section.key=value`. Text needs no quotes.
///
/// # Errors
/// There is no such setting, or the value is refused.
pub(crate) fn apply_setting(config: &mut Config, setting: &str) -> Result<(), Failure> {
    let refuse = |message: String| Failure::usage(format!("--set {setting}: {message}")).hint(HINT);
    let (name, text) = setting
        .split_once('=')
        .and_then(|(name, text)| Some((name.trim().split_once('.')?, text.trim())))
        .ok_or_else(|| refuse("expected SECTION.KEY=VALUE".to_owned()))?;
    let key = find(name.0, name.1).map_err(&refuse)?;
    let value = match (key.get)(config) {
        Value::Bool(_) => text.parse().map(Value::Bool).ok(),
        Value::Whole(_) => text.replace('_', "").parse().map(Value::Whole).ok(),
        Value::Text(_) => Some(Value::Text(text.to_owned())),
    };
    value
        .ok_or_else(|| format!("expected {}", key.range.describe()))
        .and_then(|value| key.change(config, value))
        .map_err(refuse)
}

fn find(section: &str, name: &str) -> Result<&'static Key, String> {
    if let Some(key) = KEYS.iter().find(|key| key.section == section && key.name == name) {
        return Ok(key);
    }
    let full = format!("{section}.{name}");
    let nearest = KEYS.iter().map(Key::full_name).min_by_key(|known| distance(known, &full));
    match nearest.filter(|known| distance(known, &full) <= full.len() / 3) {
        Some(known) => Err(format!("there is no setting {full}; did you mean {known}?")),
        None => Err(format!("there is no setting {full}")),
    }
}

fn to_value(value: &Spanned<DeValue<'_>>) -> Result<Value, String> {
    match value.get_ref() {
        DeValue::Boolean(value) => Ok(Value::Bool(*value)),
        DeValue::String(text) => Ok(Value::Text(text.to_string())),
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix())
            .map(Value::Whole)
            .map_err(|_| "expected a whole number that is not negative".to_owned()),
        other => Err(format!("a setting is never of type {}", other.type_str())),
    }
}

/// How many letters have to be changed, added or removed to make one name of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let changed = corner + usize::from(letter != *other);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::print_config;

    fn refused(text: &str) -> String {
        apply_file(&mut Config::default(), Path::new("t.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn what_is_printed_is_read_back() {
        let mut changed = Config::default();
        changed.kafka.auto_create_topics = true;
        changed.node.data_dir = "a \"quoted\"\\path".to_owned();
        let mut read = Config::default();
        apply_file(&mut read, Path::new("t.toml"), &print_config(&changed)).unwrap();
        assert_eq!(read, changed);
    }

    #[test]
    fn errors_name_line_key_and_what_was_expected() {
        assert!(refused("[kafka]\n\nlisten_adress = \"x\"").starts_with(
            "error: t.toml:3: there is no setting kafka.listen_adress; did you mean kafka.listen_address?"
        ));
        assert!(
            refused("[kafka]\nconnections_max = 0")
                .contains("t.toml:2: kafka.connections_max: expected 1 to")
        );
        assert!(
            refused("[kafka]\nconnections_max = -1").contains("t.toml:2: kafka.connections_max")
        );
        assert!(
            refused("[kafka]\nlisten_address = \"9092\"").contains("an IP address with a port")
        );
        assert!(refused("x = 1").contains("t.toml:1: x stands in no section"));
        assert!(refused("[kafka]\nlisten_address = ").contains("t.toml:2"));
        assert!(refused("[tables]\na = 1.5").contains("no setting tables.a"));
    }

    #[test]
    fn a_setting_on_the_command_line_needs_no_quotes() {
        let mut config = Config::default();
        for setting in ["node.data_dir=/tmp/x", "kafka.auto_create_topics=true", "log.lanes = 2"] {
            apply_setting(&mut config, setting).unwrap();
        }
        assert_eq!(config.node.data_dir, "/tmp/x");
        assert!(config.kafka.auto_create_topics && config.log.lanes == 2);
        for wrong in ["lanes=2", "log.lanes", "log.lanes=two", "log.lane=2", "log.lanes=0"] {
            assert!(apply_setting(&mut config, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_default_lies_in_its_range() {
        for key in KEYS {
            let mut config = Config::default();
            let value = (key.get)(&config);
            key.change(&mut config, value).unwrap();
            assert_eq!(config, Config::default(), "{}", key.full_name());
        }
    }
}
