//! Keys of saved records. The numbers of the tables are never reused.

use tidemill_base::{
    BrokerEpoch, BrokerId, LaneId, LaneKey, LaneSequence, PartitionId, PartitionIndex, ProducerId,
    TopicId,
};
use uuid::Uuid;

use crate::slots::Slot;

/// The key of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key<'a> {
    Cluster,
    ClusterConfigs,
    Broker(BrokerId),
    Lane(LaneKey),
    Outcome(LaneKey, LaneSequence),
    File(Slot),
    Topic(TopicId),
    Partition(PartitionId),
    /// A partition and the key of a chunk in it.
    Chunk(PartitionId, i64),
    Producer(PartitionId, ProducerId),
    Group(&'a str),
    Offset(&'a str, TopicId, PartitionIndex),
}

const CLUSTER: u8 = 1;
const CLUSTER_CONFIGS: u8 = 2;
const BROKER: u8 = 3;
const LANE: u8 = 4;
const OUTCOME: u8 = 5;
const FILE: u8 = 6;
const TOPIC: u8 = 7;
const PARTITION: u8 = 8;
const CHUNK: u8 = 9;
const PRODUCER: u8 = 10;
const GROUP: u8 = 11;
const OFFSET: u8 = 12;

/// The bytes of a topic id and a partition index, at the end of an offset's key.
const OFFSET_TAIL: usize = 20;

impl<'a> Key<'a> {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        match self {
            Self::Cluster => vec![CLUSTER],
            Self::ClusterConfigs => vec![CLUSTER_CONFIGS],
            Self::Broker(id) => joined(BROKER, &[&id.0.to_be_bytes()]),
            Self::Lane(lane) => joined(LANE, &[&lane_bytes(lane)]),
            Self::Outcome(lane, sequence) => {
                joined(OUTCOME, &[&lane_bytes(lane), &sequence.0.to_be_bytes()])
            }
            Self::File(slot) => joined(FILE, &[&slot.to_be_bytes()]),
            Self::Topic(id) => joined(TOPIC, &[id.0.as_bytes()]),
            Self::Partition(id) => joined(PARTITION, &[&id.0.to_be_bytes()]),
            Self::Chunk(id, key) => joined(CHUNK, &[&id.0.to_be_bytes(), &key.to_be_bytes()]),
            Self::Producer(id, producer) => {
                joined(PRODUCER, &[&id.0.to_be_bytes(), &producer.0.to_be_bytes()])
            }
            Self::Group(name) => joined(GROUP, &[name.as_bytes()]),
            Self::Offset(name, topic, index) => {
                joined(OFFSET, &[name.as_bytes(), topic.0.as_bytes(), &index.0.to_be_bytes()])
            }
        }
    }

    /// The key of those bytes; `None` if they are none.
    pub(super) fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        let (table, key) = bytes.split_first()?;
        let mut parts = Parts(key);
        let parsed = match *table {
            CLUSTER => Self::Cluster,
            CLUSTER_CONFIGS => Self::ClusterConfigs,
            BROKER => Self::Broker(BrokerId(i32::from_be_bytes(parts.next()?))),
            LANE => Self::Lane(parts.lane()?),
            OUTCOME => {
                Self::Outcome(parts.lane()?, LaneSequence(u64::from_be_bytes(parts.next()?)))
            }
            FILE => Self::File(u32::from_be_bytes(parts.next()?)),
            TOPIC => Self::Topic(TopicId(Uuid::from_bytes(parts.next()?))),
            PARTITION => Self::Partition(parts.partition()?),
            CHUNK => Self::Chunk(parts.partition()?, i64::from_be_bytes(parts.next()?)),
            PRODUCER => {
                Self::Producer(parts.partition()?, ProducerId(i64::from_be_bytes(parts.next()?)))
            }
            GROUP => Self::Group(str::from_utf8(parts.rest()).ok()?),
            OFFSET => {
                let (name, tail) = key.split_at_checked(key.len().checked_sub(OFFSET_TAIL)?)?;
                parts = Parts(tail);
                let topic = TopicId(Uuid::from_bytes(parts.next()?));
                let index = PartitionIndex(i32::from_be_bytes(parts.next()?));
                Self::Offset(str::from_utf8(name).ok()?, topic, index)
            }
            _ => return None,
        };
        parts.0.is_empty().then_some(parsed)
    }
}

fn joined(table: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 + parts.iter().map(|part| part.len()).sum::<usize>());
    bytes.push(table);
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

fn lane_bytes(lane: LaneKey) -> [u8; 10] {
    let mut bytes = [0; 10];
    bytes[..4].copy_from_slice(&lane.broker.0.to_be_bytes());
    bytes[4..8].copy_from_slice(&lane.epoch.0.to_be_bytes());
    bytes[8..].copy_from_slice(&lane.lane.0.to_be_bytes());
    bytes
}

struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn next<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk::<N>()?;
        self.0 = tail;
        Some(*head)
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    fn partition(&mut self) -> Option<PartitionId> {
        Some(PartitionId(u32::from_be_bytes(self.next()?)))
    }

    fn lane(&mut self) -> Option<LaneKey> {
        Some(LaneKey {
            broker: BrokerId(i32::from_be_bytes(self.next()?)),
            epoch: BrokerEpoch(u32::from_be_bytes(self.next()?)),
            lane: LaneId(u16::from_be_bytes(self.next()?)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_the_round_trip() {
        let lane = LaneKey { broker: BrokerId(3), epoch: BrokerEpoch(4), lane: LaneId(5) };
        let topic = TopicId(Uuid::from_u128(7));
        for key in [
            Key::Cluster,
            Key::ClusterConfigs,
            Key::Broker(BrokerId(1)),
            Key::Lane(lane),
            Key::Outcome(lane, LaneSequence(9)),
            Key::File(8),
            Key::Topic(topic),
            Key::Partition(PartitionId(1)),
            Key::Chunk(PartitionId(1), 77),
            Key::Producer(PartitionId(1), ProducerId(6)),
            Key::Group("g"),
            Key::Offset("a group", topic, PartitionIndex(2)),
        ] {
            let bytes = key.to_bytes();
            assert_eq!(Key::from_bytes(&bytes), Some(key));
            assert_ne!(Key::from_bytes(&bytes[..bytes.len() - 1]), Some(key));
        }
        assert_eq!(Key::from_bytes(&[]), None);
        assert_eq!(Key::from_bytes(&[99, 0]), None);
    }
}
