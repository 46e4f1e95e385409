//! Topics, by id and by name.

use std::collections::BTreeMap;

use tidemill_base::{PartitionId, TopicId};

use crate::codec::{DecodeError, Encoded, Reader, Writer, encoded};

encoded! {
    /// A topic.
    pub struct Topic {
        /// Its id; never reused.
        pub id: TopicId,
        /// Its name.
        pub name: String,
        /// The replication factor that the client asked for, only echoed.
        pub replication_factor: i16,
        /// Its partitions, by index.
        pub partitions: Vec<PartitionId>,
        /// The configs that differ from the defaults.
        pub configs: BTreeMap<String, String>,
    }
}

impl Encoded for BTreeMap<String, String> {
    const BYTES_MIN: usize = 4;

    fn encode(&self, to: &mut Writer) {
        let pairs: Vec<(String, String)> =
            self.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        to.put(&pairs);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let pairs: Vec<(String, String)> = from.take()?;
        if pairs.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err(from.error("map", "is not in rising order"));
        }
        Ok(pairs.into_iter().collect())
    }
}

/// The table of topics.
#[derive(Clone, Default, Debug)]
pub(crate) struct Topics {
    by_id: BTreeMap<TopicId, Topic>,
    by_name: BTreeMap<String, TopicId>,
}

impl Topics {
    pub(crate) fn get(&self, id: TopicId) -> Option<&Topic> {
        self.by_id.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: TopicId) -> Option<&mut Topic> {
        self.by_id.get_mut(&id)
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Topic> {
        self.get(*self.by_name.get(name)?)
    }

    /// Adds a topic; refused if its id or name is taken.
    pub(crate) fn insert(&mut self, topic: Topic) -> bool {
        if self.by_id.contains_key(&topic.id) || self.by_name.contains_key(&topic.name) {
            return false;
        }
        self.by_name.insert(topic.name.clone(), topic.id);
        self.by_id.insert(topic.id, topic);
        true
    }

    pub(crate) fn remove(&mut self, id: TopicId) -> Option<Topic> {
        let topic = self.by_id.remove(&id)?;
        self.by_name.remove(&topic.name);
        Some(topic)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Every topic, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Topic> {
        self.by_name.values().filter_map(|id| self.get(*id))
    }

    /// Every topic, by id.
    pub(crate) fn by_id(&self) -> impl Iterator<Item = &Topic> {
        self.by_id.values()
    }

    pub(crate) fn approximate_bytes(&self) -> usize {
        self.iter()
            .map(|topic| {
                let configs: usize =
                    topic.configs.iter().map(|(name, value)| name.len() + value.len() + 72).sum();
                (size_of::<Topic>() + 16 + 64) * 3 / 2
                    + topic.name.len() * 2
                    + topic.partitions.capacity() * 4
                    + configs
            })
            .sum()
    }
}

/// Checks a name by Kafka's rules.
///
/// # Errors
/// What is wrong with it.
pub fn check_topic_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("it is empty");
    }
    if name.len() > 249 {
        return Err("it is longer than 249 characters");
    }
    if name == "." || name == ".." {
        return Err("it may be neither . nor ..");
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if name.bytes().all(allowed) {
        Ok(())
    } else {
        Err("only letters, digits, dot, underscore and hyphen are allowed")
    }
}
