//! What a set of overrides becomes by a list of changes, all or none.

use std::collections::BTreeMap;

use super::{Config, ConfigError, ConfigType};
use crate::command::{ConfigChange, ConfigOperation};

/// The overrides after the changes. `find` names the table: [`topic_config`](super::topic_config)
/// or [`broker_config`](super::broker_config).
///
/// # Errors
/// The first change that is refused; then none counts.
pub fn changed(
    current: &BTreeMap<String, String>,
    replace_all: bool,
    changes: &[ConfigChange],
    find: impl Fn(&str) -> Result<&'static Config, ConfigError>,
) -> Result<BTreeMap<String, String>, ConfigError> {
    let mut configs = if replace_all { BTreeMap::new() } else { current.clone() };
    for change in changes {
        let config = find(&change.name)?;
        let value = match &change.operation {
            ConfigOperation::Set(value) => Some(value.clone()),
            ConfigOperation::Delete => None,
            ConfigOperation::Append(items) => Some(list(config, &configs, items, true)?),
            ConfigOperation::Subtract(items) => Some(list(config, &configs, items, false)?),
        };
        match value {
            Some(value) => {
                config.check(&value)?;
                configs.insert(change.name.clone(), value);
            }
            None => {
                configs.remove(&change.name);
            }
        }
    }
    Ok(configs)
}

fn list(
    config: &'static Config,
    configs: &BTreeMap<String, String>,
    items: &str,
    append: bool,
) -> Result<String, ConfigError> {
    if config.kind != ConfigType::List {
        return Err(ConfigError::NotAList { name: config.name });
    }
    let current = configs.get(config.name).map_or(config.default, String::as_str);
    let split = |text: &str| -> Vec<String> {
        text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
    };
    let mut list = split(current);
    for item in split(items) {
        if !append {
            list.retain(|present| *present != item);
        } else if !list.contains(&item) {
            list.push(item);
        }
    }
    Ok(list.join(","))
}
