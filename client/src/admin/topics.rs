//! Topics: list, describe, create, delete, more partitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidemill_base::TopicId;
use tidemill_kafka::messages::create_partitions::{CreatePartitionsRequest, CreatePartitionsTopic};
use tidemill_kafka::messages::create_topics::{
    CreatableTopic, CreatableTopicConfig, CreatableTopicResult, CreateTopicsRequest,
};
use tidemill_kafka::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use tidemill_kafka::{ErrorCode, KString};

use crate::admin::answer::{first, only, outcome, silent};
use crate::admin::{Admin, Answers};
use crate::cluster::metadata::TopicMetadata;
use crate::cluster::{Target, Topics};
use crate::error::{Error, Result};

/// The broker's default for a number of partitions or replicas.
const BROKERS_DEFAULT: i16 = -1;

/// A topic to create.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// How many partitions; `None` for the broker's default.
    pub partitions: Option<i32>,
    /// How many replicas; `None` for the broker's default.
    pub replication_factor: Option<i16>,
    /// Its configs, by Kafka's names.
    pub configs: BTreeMap<String, String>,
}

impl NewTopic {
    /// A topic with the broker's defaults.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let configs = BTreeMap::new();
        Self { name: name.into(), partitions: None, replication_factor: None, configs }
    }

    /// The same with so many partitions.
    #[must_use]
    pub fn partitions(mut self, partitions: i32) -> Self {
        self.partitions = Some(partitions);
        self
    }

    /// The same with this config.
    #[must_use]
    pub fn config(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.configs.insert(name.into(), value.into());
        self
    }
}

/// A topic that was created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreatedTopic {
    /// Its name.
    pub name: String,
    /// Its id; `None` from brokers that do not tell it.
    pub id: Option<TopicId>,
    /// How many partitions it has, if told.
    pub partitions: Option<i32>,
    /// How many replicas it has, if told.
    pub replication_factor: Option<i16>,
}

impl Admin {
    /// All topics.
    ///
    /// # Errors
    /// `Retry` if no broker can be reached.
    pub async fn list_topics(&self) -> Result<Vec<Arc<TopicMetadata>>> {
        let mut retries = self.cluster.api_retries().harmless();
        loop {
            match self.cluster.topics(Topics::All).await {
                Ok(topics) => return Ok(topics),
                Err(error) => retries.pause(error).await?,
            }
        }
    }

    /// These topics: ids, partitions, leaders, replicas. Does not wait for one that does not exist.
    ///
    /// # Errors
    /// `Retry` if no broker can be reached. Of a topic: `NotFound`, `Denied`, `Invalid`.
    pub async fn describe_topics(
        &self,
        names: &[&str],
    ) -> Result<Answers<String, Arc<TopicMetadata>>> {
        let wanted: Vec<Arc<str>> = names.iter().map(|name| Arc::from(*name)).collect();
        let mut retries = self.cluster.api_retries().harmless();
        let topics = loop {
            match self.cluster.topics(Topics::Named(&wanted)).await {
                Ok(topics) => break topics,
                Err(error) => retries.pause(error).await?,
            }
        };
        let describe = |name: &Arc<str>| {
            let found = topics.iter().find(|topic| topic.name == *name);
            let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
            let code = found.map_or(unknown, |topic| topic.error);
            let described = found.filter(|topic| topic.error.is_ok()).cloned();
            described.ok_or_else(|| Error::answered(format!("describe topic {name}"), code))
        };
        Ok(wanted.iter().map(|name| (String::from(&**name), describe(name))).collect())
    }

    /// Creates topics, or with `validate_only` only says what would come of it.
    ///
    /// # Errors
    /// `Ambiguous` if an answer was lost: the topics may exist. Of a topic: `Conflict` if it
    /// exists, `Invalid` for its name, numbers or configs, `Denied`.
    pub async fn create_topics(
        &self,
        topics: &[NewTopic],
        validate_only: bool,
    ) -> Result<Answers<String, CreatedTopic>> {
        let request = CreateTopicsRequest {
            topics: topics.iter().map(creatable).collect(),
            timeout_ms: self.timeout_ms(),
            validate_only,
        };
        let moved = |code: ErrorCode| code == ErrorCode::NOT_CONTROLLER;
        let ask = self.cluster.ask(Target::Controller, &request, false, |response| {
            first(response.topics.iter().map(|topic| topic.error_code), moved)
        });
        let response = ask.await.map_err(|error| error.during("create topics"))?;
        let judge = |topic: &NewTopic| {
            let answer = response.topics.iter().find(|answer| answer.name == *topic.name);
            answer.map_or_else(|| Err(silent(&topic.name)), |answer| created(topic, answer))
        };
        Ok(topics.iter().map(|topic| (topic.name.clone(), judge(topic))).collect())
    }

    /// Creates one topic.
    ///
    /// # Errors
    /// Those of [`Self::create_topics`].
    pub async fn create_topic(&self, topic: NewTopic) -> Result<CreatedTopic> {
        only(self.create_topics(&[topic], false).await?)
    }

    /// Deletes topics with all their records.
    ///
    /// # Errors
    /// `Ambiguous` if an answer was lost: the topics may be gone. Of a topic: `NotFound`, `Denied`.
    pub async fn delete_topics(&self, names: &[&str]) -> Result<Answers<String, ()>> {
        let state = |name: &&str| DeleteTopicState {
            name: Some(KString::from(*name)),
            ..DeleteTopicState::default()
        };
        let request = DeleteTopicsRequest {
            topics: names.iter().map(state).collect(),
            topic_names: names.iter().map(|name| KString::from(*name)).collect(),
            timeout_ms: self.timeout_ms(),
        };
        let moved = |code: ErrorCode| code == ErrorCode::NOT_CONTROLLER;
        let ask = self.cluster.ask(Target::Controller, &request, false, |response| {
            first(response.responses.iter().map(|topic| topic.error_code), moved)
        });
        let response = ask.await.map_err(|error| error.during("delete topics"))?;
        let judge = |name: &str| {
            let found = response
                .responses
                .iter()
                .find(|answer| answer.name.as_ref().is_some_and(|answered| *answered == *name));
            let answer = found.ok_or_else(|| silent(name))?;
            self.cluster.forget(name);
            let what = format!("delete topic {name}");
            outcome(what, answer.error_code, answer.error_message.as_ref())
        };
        Ok(names.iter().map(|name| ((*name).to_owned(), judge(name))).collect())
    }

    /// Gives a topic more partitions, up to `count` in all.
    ///
    /// # Errors
    /// `Invalid` if it has as many or more, `NotFound`, `Denied`; `Ambiguous` if the answer was
    /// lost.
    pub async fn create_partitions(
        &self,
        topic: &str,
        count: i32,
        validate_only: bool,
    ) -> Result<()> {
        let request = CreatePartitionsRequest {
            topics: vec![CreatePartitionsTopic { name: topic.into(), count, assignments: None }],
            timeout_ms: self.timeout_ms(),
            validate_only,
        };
        let moved = |code: ErrorCode| code == ErrorCode::NOT_CONTROLLER;
        let what = format!("give topic {topic} {count} partitions");
        let ask = self.cluster.ask(Target::Controller, &request, false, |response| {
            first(response.results.iter().map(|result| result.error_code), moved)
        });
        let response = ask.await.map_err(|error| error.during(&what))?;
        let answer = response.results.first().ok_or_else(|| silent(topic))?;
        self.cluster.forget(topic);
        outcome(what, answer.error_code, answer.error_message.as_ref())
    }
}

fn creatable(topic: &NewTopic) -> CreatableTopic {
    let configs = topic
        .configs
        .iter()
        .map(|(name, value)| CreatableTopicConfig { name: name.into(), value: Some(value.into()) });
    CreatableTopic {
        name: (&topic.name).into(),
        num_partitions: topic.partitions.unwrap_or(BROKERS_DEFAULT.into()),
        replication_factor: topic.replication_factor.unwrap_or(BROKERS_DEFAULT),
        assignments: Vec::new(),
        configs: configs.collect(),
    }
}

fn created(topic: &NewTopic, answer: &CreatableTopicResult) -> Result<CreatedTopic> {
    let what = format!("create topic {}", topic.name);
    outcome(what, answer.error_code, answer.error_message.as_ref())?;
    Ok(CreatedTopic {
        name: topic.name.clone(),
        id: (!answer.topic_id.is_nil()).then_some(TopicId(answer.topic_id)),
        partitions: (answer.num_partitions >= 0).then_some(answer.num_partitions),
        replication_factor: (answer.replication_factor >= 0).then_some(answer.replication_factor),
    })
}
