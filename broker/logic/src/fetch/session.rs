//! One incremental fetch session (KIP-227): the partitions a client is interested in, and what it
//! was last told of each.

use std::collections::BTreeMap;

use tidemill_base::PartitionId;
use tidemill_base::ids::Uuid;
use tidemill_kafka::KString;

/// How a request names a topic: by name up to version 12, by id from 13 on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TopicRef {
    /// By name.
    Name(KString),
    /// By id.
    Id(Uuid),
}

/// What a client asks of one partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FetchTarget {
    /// The topic.
    pub topic: TopicRef,
    /// The partition's number within the topic.
    pub partition: i32,
    /// The leader epoch the client knows, or -1.
    pub current_leader_epoch: i32,
    /// The first offset wanted.
    pub fetch_offset: i64,
    /// The epoch of the last record the client has, or -1.
    pub last_fetched_epoch: i32,
    /// How many bytes of this partition the client takes.
    pub partition_max_bytes: i32,
}

/// A partition in a session.
#[derive(Clone, Debug)]
pub struct SessionPartition {
    /// What the client asks.
    pub target: FetchTarget,
    /// The partition it was resolved to, valid for the topology version beside it.
    pub resolved: Option<(u64, PartitionId)>,
    /// The high watermark last sent, or -1.
    pub sent_high_watermark: i64,
    /// The log start last sent, or -1.
    pub sent_log_start: i64,
    /// Whether an error was sent last: then the next answer is sent whatever it is.
    pub sent_error: bool,
}

/// A session's partitions, in the order in which they are served.
#[derive(Debug, Default)]
pub struct Session {
    /// In the order of first mention; forgotten ones are gone.
    pub partitions: Vec<SessionPartition>,
    by_key: BTreeMap<(TopicRef, i32), usize>,
    /// Where the next answer begins, so that no partition is always last.
    pub first: usize,
}

impl SessionPartition {
    fn new(target: FetchTarget) -> Self {
        Self {
            target,
            resolved: None,
            sent_high_watermark: -1,
            sent_log_start: -1,
            sent_error: false,
        }
    }
}

impl Session {
    /// A session of these partitions.
    #[must_use]
    pub fn new(targets: impl IntoIterator<Item = FetchTarget>) -> Self {
        let mut session = Self::default();
        targets.into_iter().for_each(|target| session.update(target));
        session
    }

    /// Adds a partition, or changes what is asked of it.
    pub fn update(&mut self, target: FetchTarget) {
        let key = (target.topic.clone(), target.partition);
        match self.by_key.get(&key) {
            Some(index) => self.partitions[*index].target = target,
            None => {
                self.by_key.insert(key, self.partitions.len());
                self.partitions.push(SessionPartition::new(target));
            }
        }
    }

    /// Forgets partitions.
    pub fn forget(&mut self, keys: impl IntoIterator<Item = (TopicRef, i32)>) {
        let forgotten: Vec<usize> =
            keys.into_iter().filter_map(|key| self.by_key.remove(&key)).collect();
        if forgotten.is_empty() {
            return;
        }
        let mut index = 0;
        self.partitions.retain(|_| {
            index += 1;
            !forgotten.contains(&(index - 1))
        });
        self.by_key = (0..)
            .zip(&self.partitions)
            .map(|(index, p)| ((p.target.topic.clone(), p.target.partition), index))
            .collect();
        self.first = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(partition: i32, fetch_offset: i64) -> FetchTarget {
        FetchTarget {
            topic: TopicRef::Id(Uuid::from_u128(1)),
            partition,
            current_leader_epoch: -1,
            fetch_offset,
            last_fetched_epoch: -1,
            partition_max_bytes: 1 << 20,
        }
    }

    fn offsets(session: &Session) -> Vec<(i32, i64)> {
        session.partitions.iter().map(|p| (p.target.partition, p.target.fetch_offset)).collect()
    }

    #[test]
    fn updates_replace_and_forgotten_partitions_are_gone() {
        let mut session = Session::new([target(0, 5), target(1, 6), target(2, 7)]);
        session.update(target(1, 60));
        assert_eq!(offsets(&session), [(0, 5), (1, 60), (2, 7)]);
        session.forget([(TopicRef::Id(Uuid::from_u128(1)), 0)]);
        session.update(target(2, 70));
        session.update(target(3, 8));
        assert_eq!(offsets(&session), [(1, 60), (2, 70), (3, 8)]);
    }
}
