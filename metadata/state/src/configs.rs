//! Configs of topics and of the cluster: what may be set, what it does *here*, what is in force.
//!
//! - Every config that Kafka knows is in a table: honoured, accepted without effect (its
//!   documentation says why), or restricted to the one value that holds here. What is in no table
//!   is refused by name. Nothing is ignored in silence.
//! - A value is checked when it is set, so that reading one that was stored cannot fail.
//!
//! A topic's value is its override, else the cluster's override of the broker config behind it,
//! else the default.

mod broker_table;
mod change;
#[cfg(test)]
mod configs_test;
mod describe;
mod effective;
mod topic_table;

pub use broker_table::{BROKER_CONFIGS, BROKER_READ_ONLY, ReadOnlyConfig};
pub use change::changed;
pub use describe::{ConfigEntry, ConfigSource, Synonym, describe_broker, describe_topic};
pub use effective::{ClusterConfig, TimestampType, TopicConfig, Validation};
pub use topic_table::{TOPIC_CONFIGS, TOPIC_REMOVED};

/// A config as Kafka's DescribeConfigs types it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigType {
    /// `true` or `false`.
    Boolean,
    /// Text.
    String,
    /// A whole number of 32 bits.
    Int,
    /// A whole number of 64 bits.
    Long,
    /// A number.
    Double,
    /// Items with commas between them.
    List,
}

/// Which values a config takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Accepts {
    /// `true` or `false`.
    Boolean,
    /// A whole number within bounds, both included.
    Whole(i64, i64),
    /// A number within bounds, both included.
    Number(f64, f64),
    /// One of these.
    OneOf(&'static [&'static str]),
    /// A comma-separated list, of anything.
    List,
    /// This value alone, for the reason given.
    Only(&'static str, &'static str),
}

/// A config that may be set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: ConfigType,
    /// Its default.
    pub default: &'static str,
    /// Which values it takes.
    pub accepts: Accepts,
    /// The broker config that gives a topic config its default; `None` for one without, and for
    /// broker configs.
    pub behind: Option<&'static str>,
    /// What it does here.
    pub documentation: &'static str,
}

/// A config that is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// No config has that name.
    #[error("unknown config {name}")]
    Unknown {
        /// The name.
        name: String,
    },
    /// The config is not supported here.
    #[error("config {name} is not supported: {because}")]
    Unsupported {
        /// The config.
        name: &'static str,
        /// Why not.
        because: &'static str,
    },
    /// The value is not one the config takes.
    #[error("config {name} does not take {value:?}: {because}")]
    Value {
        /// The config.
        name: &'static str,
        /// The value.
        value: String,
        /// Why not.
        because: String,
    },
    /// Append or subtract on a config that is no list.
    #[error("config {name} is not a list")]
    NotAList {
        /// The config.
        name: &'static str,
    },
    /// The config can only be set where the broker is started.
    #[error("config {name} is set when a broker is started and cannot be altered")]
    ReadOnly {
        /// The config.
        name: &'static str,
    },
}

/// The longest value of a list, in bytes.
pub const LIST_BYTES_MAX: usize = 1024;
/// The longest value of any other config, in bytes.
pub const VALUE_BYTES_MAX: usize = 64;

impl Config {
    /// Checks a value.
    ///
    /// # Errors
    /// The config does not take the value.
    pub fn check(&self, value: &str) -> Result<(), ConfigError> {
        let refuse = |because: String| {
            let value = value.chars().take(100).collect();
            Err(ConfigError::Value { name: self.name, value, because })
        };
        let bytes_max =
            if self.kind == ConfigType::List { LIST_BYTES_MAX } else { VALUE_BYTES_MAX };
        if value.len() > bytes_max {
            return refuse(format!("longer than {bytes_max} bytes"));
        }
        match self.accepts {
            Accepts::Boolean if !["true", "false"].contains(&value) => {
                refuse("neither true nor false".to_owned())
            }
            Accepts::Whole(min, max) => match value.trim().parse::<i64>() {
                Ok(number) if (min..=max).contains(&number) => Ok(()),
                _ => refuse(format!("not a whole number from {min} to {max}")),
            },
            Accepts::Number(min, max) => match value.trim().parse::<f64>() {
                Ok(number) if (min..=max).contains(&number) => Ok(()),
                _ => refuse(format!("not a number from {min} to {max}")),
            },
            Accepts::OneOf(choices) if !choices.contains(&value) => {
                refuse(format!("not one of {}", choices.join(", ")))
            }
            Accepts::Only(only, because) if value != only => {
                refuse(format!("only {only:?} is possible: {because}"))
            }
            _ => Ok(()),
        }
    }
}

/// The topic config of that name.
///
/// # Errors
/// There is none, or it is not supported.
pub fn topic_config(name: &str) -> Result<&'static Config, ConfigError> {
    if let Some(config) = TOPIC_CONFIGS.iter().find(|config| config.name == name) {
        return Ok(config);
    }
    match TOPIC_REMOVED.iter().find(|(removed, _)| *removed == name) {
        Some((name, because)) => Err(ConfigError::Unsupported { name, because }),
        None => Err(ConfigError::Unknown { name: name.chars().take(200).collect() }),
    }
}

/// The broker config of that name, if it can be altered for the whole cluster.
///
/// # Errors
/// There is none, or it is only read when a broker starts.
pub fn broker_config(name: &str) -> Result<&'static Config, ConfigError> {
    if let Some(config) = BROKER_CONFIGS.iter().find(|config| config.name == name) {
        return Ok(config);
    }
    match BROKER_READ_ONLY.iter().find(|config| config.name == name) {
        Some(config) => Err(ConfigError::ReadOnly { name: config.name }),
        None => Err(ConfigError::Unknown { name: name.chars().take(200).collect() }),
    }
}
