//! The command that changes configs.

use tidemill_base::TopicId;

use crate::codec::{DecodeError, Encoded, Reader, Writer, encoded};

/// What a config belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ConfigResource {
    /// One topic.
    Topic(TopicId),
    /// Every broker alike (Kafka's broker resource with an empty name).
    Cluster,
}

/// What to do with one config.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConfigOperation {
    /// Give it this value.
    Set(String),
    /// Take it back to its default.
    Delete,
    /// Add these items to a list.
    Append(String),
    /// Take these items off a list.
    Subtract(String),
}

encoded! {
    /// One change of one config.
    pub struct ConfigChange {
        /// The config's name.
        pub name: String,
        /// What to do with it.
        pub operation: ConfigOperation,
    }

    /// Changes configs of one resource, all or none.
    pub struct AlterConfigs {
        /// Whose configs.
        pub resource: ConfigResource,
        /// Whether configs that are not named go back to their defaults (AlterConfigs) or stay
        /// (IncrementalAlterConfigs).
        pub replace_all: bool,
        /// The changes, applied in order.
        pub changes: Vec<ConfigChange>,
    }
}

impl Encoded for ConfigResource {
    const BYTES_MIN: usize = 1;

    fn encode(&self, to: &mut Writer) {
        match self {
            Self::Topic(topic) => {
                to.put(&1u8);
                to.put(topic);
            }
            Self::Cluster => to.put(&2u8),
        }
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match from.take::<u8>()? {
            1 => Ok(Self::Topic(from.take()?)),
            2 => Ok(Self::Cluster),
            _ => Err(from.error("config resource", "is unknown")),
        }
    }
}

impl Encoded for ConfigOperation {
    const BYTES_MIN: usize = 1;

    fn encode(&self, to: &mut Writer) {
        let (tag, value) = match self {
            Self::Set(value) => (0u8, Some(value)),
            Self::Delete => (1, None),
            Self::Append(value) => (2, Some(value)),
            Self::Subtract(value) => (3, Some(value)),
        };
        to.put(&tag);
        if let Some(value) = value {
            to.put(value);
        }
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match from.take::<u8>()? {
            0 => Ok(Self::Set(from.take()?)),
            1 => Ok(Self::Delete),
            2 => Ok(Self::Append(from.take()?)),
            3 => Ok(Self::Subtract(from.take()?)),
            _ => Err(from.error("config operation", "is unknown")),
        }
    }
}
