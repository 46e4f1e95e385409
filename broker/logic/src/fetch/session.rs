//! One incremental fetch session (KIP-227): the partitions a client is interested in, and what it
//! was last told of each.

use std::collections::BTreeMap;

use tidemill_base::PartitionId;
use tidemill_base::ids::Uuid;
use tidemill_kafka::KString;

/// A topic's name counts as a partition for each so many bytes.
const NAME_BYTES_FREE: usize = 256;

/// How a request names a topic: by name up to version 12, by id from 13 on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TopicRef {
    /// By name.
    Name(KString),
    /// By id.
    Id(Uuid),
}

impl TopicRef {
    /// What a session's topic counts beside its partitions. Names of topics that can exist count
    /// nothing; a longer one takes memory too, and is kept as well.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self {
            Self::Name(name) => name.len() / NAME_BYTES_FREE,
            Self::Id(_) => 0,
        }
    }
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
    /// In the order of first mention; forgotten ones are gone once [`Self::settle`] was called.
    pub partitions: Vec<SessionPartition>,
    /// Places in `partitions`. Nested, so that a long name is compared once for a partition.
    places: BTreeMap<TopicRef, BTreeMap<i32, usize>>,
    /// Places of those forgotten and still there.
    forgotten: Vec<usize>,
    /// The sum of its topics' weights.
    names_weight: usize,
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
    /// How many partitions it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.partitions.len() - self.forgotten.len()
    }

    /// Whether it has no partition.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How much it counts where partitions are bounded: its partitions, and what long names add.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.len() + self.names_weight
    }

    /// Adds a partition, or changes what is asked of it.
    pub fn update(&mut self, mut target: FetchTarget) {
        match self.places.get_key_value(&target.topic) {
            // All partitions of a topic share one name, whichever request brought them.
            Some((known, _)) => target.topic = known.clone(),
            None => self.names_weight += target.topic.weight(),
        }
        let places = self.places.entry(target.topic.clone()).or_default();
        match places.get(&target.partition) {
            Some(place) => self.partitions[*place].target = target,
            None => {
                places.insert(target.partition, self.partitions.len());
                self.partitions.push(SessionPartition::new(target));
            }
        }
    }

    /// Forgets a partition. It stays in its place until [`Self::settle`].
    pub fn forget(&mut self, topic: &TopicRef, partition: i32) {
        let Some(places) = self.places.get_mut(topic) else { return };
        let Some(place) = places.remove(&partition) else { return };
        if places.is_empty() {
            self.places.remove(topic);
            self.names_weight -= topic.weight();
        }
        self.forgotten.push(place);
    }

    /// Closes the gaps that forgotten partitions left: once a request, since it visits all others.
    pub fn settle(&mut self) {
        if self.forgotten.is_empty() {
            return;
        }
        let mut forgotten = std::mem::take(&mut self.forgotten);
        forgotten.sort_unstable();
        let (mut place, mut next) = (0, forgotten.iter().peekable());
        self.partitions.retain(|_| {
            let is_forgotten = next.next_if(|gone| **gone == place).is_some();
            place += 1;
            !is_forgotten
        });
        let moved = |place: usize| place - forgotten.partition_point(|gone| *gone < place);
        for place in self.places.values_mut().flat_map(BTreeMap::values_mut) {
            *place = moved(*place);
        }
        self.first = moved(self.first);
        if self.first >= self.partitions.len() {
            self.first = 0;
        }
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

    fn topic() -> TopicRef {
        TopicRef::Id(Uuid::from_u128(1))
    }

    fn session(targets: impl IntoIterator<Item = FetchTarget>) -> Session {
        let mut session = Session::default();
        targets.into_iter().for_each(|target| session.update(target));
        session
    }

    #[test]
    fn updates_replace_and_forgotten_partitions_are_gone() {
        let mut session = session([target(0, 5), target(1, 6), target(2, 7)]);
        session.update(target(1, 60));
        assert_eq!(offsets(&session), [(0, 5), (1, 60), (2, 7)]);
        session.first = 2;
        session.forget(&topic(), 0);
        session.forget(&topic(), 0);
        session.forget(&topic(), 9);
        assert_eq!(session.len(), 2);
        session.update(target(2, 70));
        session.update(target(3, 8));
        session.settle();
        assert_eq!(offsets(&session), [(1, 60), (2, 70), (3, 8)]);
        assert_eq!(session.first, 1, "still at the partition whose turn it is");
        session.update(target(2, 71));
        assert_eq!(offsets(&session), [(1, 60), (2, 71), (3, 8)]);
    }

    #[test]
    fn a_partition_forgotten_and_named_again_is_a_new_one() {
        let mut session = session([target(0, 5), target(1, 6)]);
        session.partitions[0].sent_high_watermark = 7;
        session.forget(&topic(), 0);
        session.update(target(0, 50));
        session.settle();
        assert_eq!(offsets(&session), [(1, 6), (0, 50)]);
        assert_eq!(session.partitions[1].sent_high_watermark, -1);
        (0..2).for_each(|partition| session.forget(&topic(), partition));
        session.settle();
        assert!(session.is_empty() && session.first == 0);
    }

    #[test]
    fn long_names_count_too_and_are_kept_once() {
        let mut session = Session::default();
        let name = || TopicRef::Name("n".repeat(4 * NAME_BYTES_FREE).as_str().into());
        for partition in 0..2 {
            session.update(FetchTarget { topic: name(), ..target(partition, 0) });
        }
        assert_eq!((session.len(), session.weight()), (2, 2 + 4));
        let starts = session.partitions.iter().map(|p| match &p.target.topic {
            TopicRef::Name(name) => name.as_ptr(),
            TopicRef::Id(_) => panic!("named by id"),
        });
        let starts: Vec<_> = starts.collect();
        assert_eq!(starts[0], starts[1]);
        (0..2).for_each(|partition| session.forget(&name(), partition));
        assert_eq!(session.weight(), 0);
    }

    /// With a search among the forgotten for each partition, this would take a minute.
    #[test]
    fn to_forget_many_takes_no_longer_for_each_than_to_forget_few() {
        let many = 300_000;
        let mut session = session((0..many).map(|partition| target(partition, 0)));
        (1..many).for_each(|partition| session.forget(&topic(), partition));
        session.settle();
        assert_eq!(offsets(&session), [(0, 0)]);
    }
}
