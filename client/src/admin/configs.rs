//! Configs of topics and brokers: describe, alter.

use std::fmt;

use tidemill_base::BrokerId;
use tidemill_kafka::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult,
};
use tidemill_kafka::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};
use tidemill_kafka::{ErrorCode, KString};

use crate::admin::answer::{first, outcome, silent};
use crate::admin::{Admin, Answers};
use crate::cluster::Target;
use crate::error::Result;

/// Whose configs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ConfigResource {
    /// A topic's.
    Topic(String),
    /// A broker's.
    Broker(BrokerId),
    /// All brokers' defaults, for changes without a restart.
    AllBrokers,
    /// A group's.
    Group(String),
}

/// Where the value of a config comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigSource {
    /// Set for the topic.
    Topic,
    /// Set for the broker while it runs.
    Broker,
    /// Set for all brokers while they run.
    AllBrokers,
    /// From the broker's configuration file.
    File,
    /// The default.
    Default,
    /// Another source, by Kafka's number.
    Other(i8),
}

/// A config with its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigEntry {
    /// Its name.
    pub name: String,
    /// Its value; `None` if it is secret or has none.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: ConfigSource,
    /// Whether it cannot be changed.
    pub is_read_only: bool,
    /// Whether its value is secret.
    pub is_sensitive: bool,
    /// What it means, if the broker tells it.
    pub documentation: Option<String>,
}

/// A change of a config.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConfigChange {
    /// Sets it.
    Set(String, String),
    /// Back to its default.
    Reset(String),
    /// Appends to a list.
    Append(String, String),
    /// Takes out of a list.
    Subtract(String, String),
}

impl Admin {
    /// The configs of these resources, with documentation if `documented`.
    ///
    /// # Errors
    /// `Retry` if no broker can be reached. Of a resource: `NotFound`, `Invalid`, `Denied`.
    pub async fn describe_configs(
        &self,
        resources: &[ConfigResource],
        documented: bool,
    ) -> Result<Answers<ConfigResource, Vec<ConfigEntry>>> {
        let mut answers = Vec::with_capacity(resources.len());
        for resource in resources {
            let described = self.describe_resource(resource, documented).await?;
            answers.push((resource.clone(), described));
        }
        Ok(answers)
    }

    /// The outer result is that of asking, the inner one that of the resource.
    async fn describe_resource(
        &self,
        resource: &ConfigResource,
        documented: bool,
    ) -> Result<Result<Vec<ConfigEntry>>> {
        let request = DescribeConfigsRequest {
            resources: vec![DescribeConfigsResource {
                resource_type: resource.kind(),
                resource_name: resource.name().into(),
                configuration_keys: None,
            }],
            include_synonyms: false,
            include_documentation: documented,
        };
        let what = format!("describe configs of {resource}");
        let ask = self.cluster.ask(resource.target(), &request, true, |_| ErrorCode::NONE);
        let response = ask.await.map_err(|error| error.during(&what))?;
        let Some(result) = response.results.first() else { return Ok(Err(silent(resource))) };
        let checked = outcome(what, result.error_code, result.error_message.as_ref());
        Ok(checked.map(|()| result.configs.iter().map(ConfigEntry::of).collect()))
    }

    /// Changes configs, each by itself, all of a resource or none; with `validate_only` only says
    /// what would come of it.
    ///
    /// # Errors
    /// `Invalid` for a name or value, `NotFound`, `Denied`; `Ambiguous` if the answer was lost:
    /// setting the same again is harmless.
    pub async fn alter_configs(
        &self,
        resource: &ConfigResource,
        changes: &[ConfigChange],
        validate_only: bool,
    ) -> Result<()> {
        let request = IncrementalAlterConfigsRequest {
            resources: vec![AlterConfigsResource {
                resource_type: resource.kind(),
                resource_name: resource.name().into(),
                configs: changes.iter().map(ConfigChange::wire).collect(),
            }],
            validate_only,
        };
        let what = format!("alter configs of {resource}");
        let target = match resource.target() {
            Target::Any => Target::Controller,
            target => target,
        };
        let moved = |code: ErrorCode| code == ErrorCode::NOT_CONTROLLER;
        let ask = self.cluster.ask(target, &request, false, |response| {
            first(response.responses.iter().map(|one| one.error_code), moved)
        });
        let response = ask.await.map_err(|error| error.during(&what))?;
        let answer = response.responses.first().ok_or_else(|| silent(resource))?;
        outcome(what, answer.error_code, answer.error_message.as_ref())
    }
}

impl ConfigResource {
    fn kind(&self) -> i8 {
        match self {
            Self::Topic(_) => 2,
            Self::Broker(_) | Self::AllBrokers => 4,
            Self::Group(_) => 32,
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Topic(name) | Self::Group(name) => name.clone(),
            Self::Broker(broker) => broker.to_string(),
            Self::AllBrokers => String::new(),
        }
    }

    /// A broker's own configs are known to it alone.
    fn target(&self) -> Target<'static> {
        match self {
            Self::Broker(broker) => Target::Broker(*broker),
            _ => Target::Any,
        }
    }
}

impl fmt::Display for ConfigResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topic(name) => write!(f, "topic {name}"),
            Self::Broker(broker) => write!(f, "broker {broker}"),
            Self::AllBrokers => f.write_str("all brokers"),
            Self::Group(name) => write!(f, "group {name}"),
        }
    }
}

impl ConfigSource {
    fn of(number: i8) -> Self {
        match number {
            1 => Self::Topic,
            2 => Self::Broker,
            3 => Self::AllBrokers,
            4 => Self::File,
            5 => Self::Default,
            other => Self::Other(other),
        }
    }
}

impl ConfigEntry {
    fn of(wire: &DescribeConfigsResourceResult) -> Self {
        Self {
            name: wire.name.as_str().to_owned(),
            value: wire.value.as_ref().map(String::from),
            source: ConfigSource::of(wire.config_source),
            is_read_only: wire.read_only,
            is_sensitive: wire.is_sensitive,
            documentation: wire.documentation.as_ref().map(String::from),
        }
    }
}

impl ConfigChange {
    fn wire(&self) -> AlterableConfig {
        let (name, config_operation, value) = match self {
            Self::Set(name, value) => (name, 0, Some(value)),
            Self::Reset(name) => (name, 1, None),
            Self::Append(name, value) => (name, 2, Some(value)),
            Self::Subtract(name, value) => (name, 3, Some(value)),
        };
        AlterableConfig { name: name.into(), config_operation, value: value.map(KString::from) }
    }
}
