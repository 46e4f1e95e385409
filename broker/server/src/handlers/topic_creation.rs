//! Creating a topic, for CreateTopics and for topics that clients expect to appear on their own.

use std::collections::{BTreeMap, BTreeSet};

use tidemill_base::TopicId;
use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::create_topics::CreatableTopic;
use tidemill_metadata_state::command::CreateTopic;
use tidemill_metadata_state::configs::{self, ConfigError};
use tidemill_metadata_state::{Outcome, check_topic_name};

use crate::broker::Broker;
use crate::refusals::{Failure, propose, unexpected};

/// A topic to be created.
#[derive(Debug)]
pub(crate) struct NewTopic {
    pub(crate) name: String,
    pub(crate) partitions: u32,
    pub(crate) replication_factor: i16,
    pub(crate) configs: Vec<(String, String)>,
}

/// A topic as it was, or would be, created.
#[derive(Debug)]
pub(crate) struct Created {
    pub(crate) id: TopicId,
    pub(crate) partitions: u32,
    pub(crate) replication_factor: i16,
    pub(crate) configs: BTreeMap<String, String>,
}

impl NewTopic {
    /// A topic with everything at its default.
    pub(crate) fn with_defaults(broker: &Broker, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            partitions: broker.partitions_default(),
            replication_factor: broker.replication_factor_default(),
            configs: Vec::new(),
        }
    }

    /// What a CreateTopics request asks for.
    pub(crate) fn from_request(broker: &Broker, topic: CreatableTopic) -> Result<Self, Failure> {
        let mut new = Self::with_defaults(broker, &topic.name);
        if topic.assignments.is_empty() {
            match topic.num_partitions {
                -1 => {}
                count if count > 0 => new.partitions = count.unsigned_abs(),
                _ => {
                    let message = "the number of partitions must be -1 or larger than 0";
                    return Err(Failure::new(ErrorCode::INVALID_PARTITIONS, message));
                }
            }
            if topic.replication_factor != -1 {
                new.replication_factor = topic.replication_factor;
            }
        } else {
            new.take_assignments(&topic)?;
        }
        for config in topic.configs {
            let Some(value) = config.value else {
                let message = format!("config {} has no value", &*config.name);
                return Err(Failure::new(ErrorCode::INVALID_CONFIG, message));
            };
            new.configs.push((config.name.into(), value.into()));
        }
        Ok(new)
    }

    /// A manual assignment says how many partitions and replicas there are; where they lie is
    /// advice that is not needed (P6).
    fn take_assignments(&mut self, topic: &CreatableTopic) -> Result<(), Failure> {
        let invalid = |message| Err(Failure::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message));
        if topic.num_partitions != -1 || topic.replication_factor != -1 {
            let message = "with a manual assignment, partitions and replicas must be -1";
            return Err(Failure::new(ErrorCode::INVALID_REQUEST, message));
        }
        let indexes: BTreeSet<i32> =
            topic.assignments.iter().map(|assignment| assignment.partition_index).collect();
        let count = topic.assignments.len();
        let consecutive =
            indexes.len() == count && (0..count).all(|i| indexes.contains(&(i as i32)));
        if !consecutive {
            return invalid("partitions must be numbered 0, 1, 2 and so on");
        }
        let replicas = topic.assignments[0].broker_ids.len();
        if replicas == 0 || topic.assignments.iter().any(|a| a.broker_ids.len() != replicas) {
            return invalid(
                "every partition must have as many replicas as the others, at least one",
            );
        }
        self.partitions = count as u32;
        self.replication_factor = i16::try_from(replicas).unwrap_or(i16::MAX);
        Ok(())
    }
}

/// What creating would answer, without creating.
pub(crate) fn validate(broker: &Broker, new: NewTopic) -> Result<Created, Failure> {
    check_topic_name(&new.name)
        .map_err(|reason| Failure::new(ErrorCode::INVALID_TOPIC_EXCEPTION, reason))?;
    if broker.view.projection().topic(&new.name).is_some() {
        return Err(Failure::new(ErrorCode::TOPIC_ALREADY_EXISTS, "the topic exists already"));
    }
    if new.partitions > CreateTopic::PARTITIONS_MAX {
        return Err(Failure::new(ErrorCode::INVALID_PARTITIONS, "too many partitions"));
    }
    if new.replication_factor != -1 && !(1..=100).contains(&new.replication_factor) {
        let message = "the replication factor must be -1 or from 1 to 100";
        return Err(Failure::new(ErrorCode::INVALID_REPLICATION_FACTOR, message));
    }
    for (name, value) in &new.configs {
        configs::topic_config(name).and_then(|config| config.check(value)).map_err(
            |error: ConfigError| Failure::new(ErrorCode::INVALID_CONFIG, error.to_string()),
        )?;
    }
    Ok(Created {
        id: TopicId::default(),
        partitions: new.partitions,
        replication_factor: new.replication_factor,
        configs: new.configs.into_iter().collect(),
    })
}

/// Creates a topic.
pub(crate) async fn create(broker: &Broker, new: NewTopic) -> Result<Created, Failure> {
    let id = TopicId(broker.random_ids.uuid());
    let command = CreateTopic {
        name: new.name,
        id,
        partitions: new.partitions,
        replication_factor: new.replication_factor,
        configs: new.configs.clone(),
    };
    match propose(&broker.metadata, command).await? {
        Outcome::Partitions(partitions) => Ok(Created {
            id,
            partitions: partitions.len() as u32,
            replication_factor: new.replication_factor,
            configs: new.configs.into_iter().collect(),
        }),
        other => Err(unexpected(&other)),
    }
}
