//! Which partition a record goes to (pure): by the hash of its key, or, without a key, sticky.
//!
//! Sticky means that records go to one partition until a batch's worth of bytes has gone there,
//! then to another at random: fewer, fuller batches, spread evenly over time (as Kafka since
//! KIP-794, without its weights for slow brokers).

use std::collections::BTreeMap;
use std::sync::Arc;

use tidemill_base::PartitionIndex;

use crate::cluster::metadata::TopicMetadata;
use crate::prng::Prng;
use crate::produce::murmur2::murmur2;

/// Chooses partitions; keeps one number for each topic.
#[derive(Debug)]
pub(crate) struct Partitioner {
    sticky_bytes: usize,
    sticky: BTreeMap<Arc<str>, Sticky>,
    prng: Prng,
}

#[derive(Debug)]
struct Sticky {
    partition: PartitionIndex,
    bytes: usize,
}

impl Partitioner {
    /// A partitioner that leaves a partition after `sticky_bytes`.
    pub(crate) fn new(sticky_bytes: usize, seed: u64) -> Self {
        Self { sticky_bytes, sticky: BTreeMap::new(), prng: Prng::new(seed) }
    }

    /// The partition of a record with this key and size. `None` if the topic has no partitions.
    pub(crate) fn choose(
        &mut self,
        topic: &TopicMetadata,
        key: Option<&[u8]>,
        record_bytes: usize,
    ) -> Option<PartitionIndex> {
        match key {
            Some(key) => of_key(key, topic.partition_count()),
            None => self.choose_sticky(topic, record_bytes),
        }
    }

    fn choose_sticky(
        &mut self,
        topic: &TopicMetadata,
        record_bytes: usize,
    ) -> Option<PartitionIndex> {
        let is_led = |partition: &PartitionIndex| {
            topic.partitions.get(partition).is_some_and(|partition| partition.leader.is_some())
        };
        if let Some(sticky) = self.sticky.get_mut(&topic.name)
            && sticky.bytes < self.sticky_bytes
            && is_led(&sticky.partition)
        {
            sticky.bytes += record_bytes;
            return Some(sticky.partition);
        }
        let led: Vec<PartitionIndex> = topic.partitions.keys().copied().filter(is_led).collect();
        let all: Vec<PartitionIndex> = topic.partitions.keys().copied().collect();
        let last = self.sticky.get(&topic.name).map(|sticky| sticky.partition);
        let mut from = if led.is_empty() { all } else { led };
        if from.len() > 1 {
            from.retain(|partition| Some(*partition) != last);
        }
        if from.is_empty() {
            return None;
        }
        let partition = from[self.prng.below(from.len() as u64) as usize];
        self.sticky.insert(topic.name.clone(), Sticky { partition, bytes: record_bytes });
        Some(partition)
    }
}

/// The partition of a key among `count` partitions, as Kafka's Java client chooses it.
fn of_key(key: &[u8], count: usize) -> Option<PartitionIndex> {
    let positive = murmur2(key) & 0x7fff_ffff;
    let count = u32::try_from(count).ok().filter(|count| *count > 0)?;
    Some(PartitionIndex((positive % count) as i32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::metadata::PartitionMetadata;
    use tidemill_base::BrokerId;
    use tidemill_kafka::ErrorCode;

    fn topic(leaders: &[Option<i32>]) -> TopicMetadata {
        let partitions = leaders.iter().enumerate().map(|(index, leader)| {
            let index = PartitionIndex(index as i32);
            let partition = PartitionMetadata {
                index,
                error: ErrorCode::NONE,
                leader: leader.map(BrokerId),
                leader_epoch: None,
                replicas: Vec::new(),
                in_sync_replicas: Vec::new(),
                offline_replicas: Vec::new(),
            };
            (index, partition)
        });
        TopicMetadata {
            name: "t".into(),
            id: None,
            is_internal: false,
            error: ErrorCode::NONE,
            partitions: partitions.collect(),
        }
    }

    #[test]
    fn a_key_goes_where_java_sends_it() {
        let mut partitioner = Partitioner::new(100, 1);
        let ten = topic(&[Some(1); 10]);
        // (-973932308 & 0x7fffffff) % 10 and (479470107 & 0x7fffffff) % 10.
        assert_eq!(partitioner.choose(&ten, Some(b"21"), 1), Some(PartitionIndex(0)));
        assert_eq!(partitioner.choose(&ten, Some(b"abc"), 1), Some(PartitionIndex(7)));
        assert_eq!(partitioner.choose(&topic(&[]), Some(b"abc"), 1), None);
    }

    #[test]
    fn without_a_key_the_partition_changes_after_a_batch_of_bytes() {
        let mut partitioner = Partitioner::new(100, 1);
        let three = topic(&[Some(1); 3]);
        let mut chosen = Vec::new();
        for _ in 0..6 {
            chosen.push(partitioner.choose(&three, None, 50).unwrap());
        }
        assert_eq!(chosen[0], chosen[1]);
        assert_eq!(chosen[2], chosen[3]);
        assert_eq!(chosen[4], chosen[5]);
        assert_ne!(chosen[1], chosen[2]);
        assert_ne!(chosen[3], chosen[4]);
    }

    #[test]
    fn partitions_without_a_leader_are_avoided_while_another_has_one() {
        let mut partitioner = Partitioner::new(10, 1);
        let one_led = topic(&[None, Some(1), None]);
        for _ in 0..5 {
            assert_eq!(partitioner.choose(&one_led, None, 50), Some(PartitionIndex(1)));
        }
        assert!(partitioner.choose(&topic(&[None, None]), None, 50).is_some());
        assert_eq!(partitioner.choose(&topic(&[]), None, 50), None);
    }
}
