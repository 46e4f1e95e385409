//! `tidemill topic describe`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tidemill_client::cluster::offsets::OffsetSpec;
use tidemill_client::{
    Admin, IsolationLevel, Offset, PartitionIndex, TopicMetadata, TopicPartition,
};

use crate::cli::TopicDescribe;
use crate::commands::configs::{TopicConfigs, topic_configs};
use crate::commands::session::Session;
use crate::failure::Failure;
use crate::output::{Table, kafka_id};

/// A topic with what was asked about it.
struct Described {
    topic: Arc<TopicMetadata>,
    earliest: BTreeMap<PartitionIndex, Offset>,
    latest: BTreeMap<PartitionIndex, Offset>,
    configs: TopicConfigs,
}

/// Shows topics.
pub(super) async fn describe(
    session: &mut Session,
    admin: &Admin,
    args: &TopicDescribe,
) -> Result<(), Failure> {
    let names: Vec<&str> = args.names.iter().map(String::as_str).collect();
    let answers = admin.describe_topics(&names).await.map_err(|error| session.failure(&error))?;
    let (topics, failed) = session.split(answers);
    let mut described = Vec::new();
    for (_, topic) in topics {
        let one = describe_one(admin, topic).await;
        described.push(one.map_err(|error| session.failure(&error))?);
    }
    if described.is_empty() {
        return failed;
    }
    let objects: Vec<Value> = described.iter().map(Described::as_json).collect();
    session.console.result(json!({ "topics": objects }), || {
        described.iter().map(Described::as_text).collect::<Vec<_>>().join("\n")
    })?;
    failed
}

async fn describe_one(
    admin: &Admin,
    topic: Arc<TopicMetadata>,
) -> tidemill_client::Result<Described> {
    let earliest = offsets(admin, &topic, OffsetSpec::Earliest).await?;
    let latest = offsets(admin, &topic, OffsetSpec::Latest).await?;
    let mut configs = topic_configs(admin, &topic.name).await?;
    configs.keep_own();
    Ok(Described { topic, earliest, latest, configs })
}

async fn offsets(
    admin: &Admin,
    topic: &TopicMetadata,
    spec: OffsetSpec,
) -> tidemill_client::Result<BTreeMap<PartitionIndex, Offset>> {
    let partition = |index: &PartitionIndex| TopicPartition::new(topic.name.clone(), index.0);
    let wanted = topic.partitions.keys().map(|index| (partition(index), spec)).collect();
    let mut offsets = BTreeMap::new();
    for (partition, listed) in admin.list_offsets(&wanted, IsolationLevel::ReadUncommitted).await {
        if let Some(offset) = listed?.offset {
            offsets.insert(partition.partition, offset);
        }
    }
    Ok(offsets)
}

impl Described {
    fn records(&self) -> i64 {
        let earliest = |index| self.earliest.get(index).map_or(0, |offset| offset.0);
        self.latest.iter().map(|(index, latest)| latest.0 - earliest(index)).sum()
    }

    fn as_json(&self) -> Value {
        let partitions: Vec<Value> = self
            .topic
            .partitions
            .iter()
            .map(|(index, partition)| {
                json!({
                    "partition": index.0,
                    "leader_id": partition.leader.map(|id| id.0),
                    "leader_epoch": partition.leader_epoch.map(|epoch| epoch.0),
                    "earliest_offset": self.earliest.get(index).map(|offset| offset.0),
                    "latest_offset": self.latest.get(index).map(|offset| offset.0),
                })
            })
            .collect();
        let configs: Map<String, Value> = self
            .configs
            .entries
            .iter()
            .map(|entry| (entry.name.clone(), json!(entry.value)))
            .collect();
        json!({
            "topic": &*self.topic.name,
            "topic_id": self.topic.id.map(|id| kafka_id(id.0.as_bytes())),
            "offsets_count": self.records(),
            "partitions": partitions,
            "configs": configs,
        })
    }

    fn as_text(&self) -> String {
        let number = |value: Option<i64>| value.map_or_else(|| "-".to_owned(), |v| v.to_string());
        let mut table = Table::new(&["PARTITION", "LEADER", "EPOCH", "EARLIEST", "LATEST"]);
        for (index, partition) in &self.topic.partitions {
            table.row([
                index.0.to_string(),
                number(partition.leader.map(|id| id.0.into())),
                number(partition.leader_epoch.map(|epoch| epoch.0.into())),
                number(self.earliest.get(index).map(|offset| offset.0)),
                number(self.latest.get(index).map(|offset| offset.0)),
            ]);
        }
        let configs: Vec<String> = self
            .configs
            .entries
            .iter()
            .map(|entry| format!("{}={}", entry.name, entry.value.as_deref().unwrap_or("")))
            .collect();
        let configs = if configs.is_empty() { "defaults".to_owned() } else { configs.join(" ") };
        format!(
            "topic    {}\nid       {}\nconfigs  {configs}\noffsets  {}\n\n{}",
            self.topic.name,
            self.topic.id.map_or_else(|| "-".to_owned(), |id| kafka_id(id.0.as_bytes())),
            self.records(),
            table.render()
        )
    }
}
