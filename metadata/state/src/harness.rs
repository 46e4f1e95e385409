//! What the tests of this crate share: a state with a projection beside it, and short words for
//! commands.
//!
//! After every command the projection is held against one built anew, and the state against its
//! restored copy: no test has to ask for it.

use std::collections::BTreeMap;

use tidemill_base::{
    AppliedIndex, BaseSequence, BatchFacts, BrokerEpoch, BrokerId, FileId, FileNumber, Incarnation,
    LaneId, LaneKey, LaneSequence, Location, ObjectId, Offset, PartitionId, ProducerEpoch,
    ProducerFacts, ProducerId, TimestampMs, TopicId,
};
use uuid::Uuid;

use crate::apply::Applied;
use crate::command::{
    AllocateProducerIds, Command, CommitObject, CreateTopic, LogStartAdvance, RegisterBroker,
};
use crate::entry::Entry;
use crate::limits::Limits;
use crate::outcome::Outcome;
use crate::projection::{Covered, Projection};
use crate::state::MetadataState;

pub(crate) const BROKER: BrokerId = BrokerId(1);
pub(crate) const START: TimestampMs = TimestampMs(1_000_000_000);
/// Every batch of the tests has this many bytes.
pub(crate) const BATCH_BYTES: u32 = 100;

pub(crate) struct Harness {
    pub(crate) state: MetadataState,
    pub(crate) projection: Projection,
    pub(crate) now: TimestampMs,
    pub(crate) last: Option<Applied>,
    /// Written-behind records, kept up by every command.
    pub(crate) saved: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The lane that `commit` uses, its file and where that ends.
    pub(crate) lane: LaneKey,
    pub(crate) file: u32,
    pub(crate) position: u64,
    pub(crate) sequence: u64,
    topics: u128,
}

impl Harness {
    /// A cluster with broker 1 registered and producer ids 1 to 999 given out.
    pub(crate) fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    pub(crate) fn with_limits(limits: Limits) -> Self {
        let state = MetadataState::with_limits(Uuid::from_u128(9), Incarnation(1), limits);
        let projection = Projection::from_snapshot(AppliedIndex(0), &state.snapshot_events());
        let mut harness = Self {
            state,
            projection,
            now: START,
            last: None,
            saved: BTreeMap::new(),
            lane: LaneKey { broker: BROKER, epoch: BrokerEpoch(1), lane: LaneId(0) },
            file: 1,
            position: 0,
            sequence: 0,
            topics: 0,
        };
        let snapshot = harness.state.snapshot();
        harness.saved.extend(snapshot.puts);
        assert_eq!(harness.register(BROKER), Outcome::Registered(BrokerEpoch(1)));
        let ids = AllocateProducerIds { broker: BROKER, epoch: BrokerEpoch(1), count: 999 };
        assert_eq!(harness.apply(ids), Outcome::ProducerIds { first: ProducerId(1), count: 999 });
        harness
    }

    pub(crate) fn apply(&mut self, command: impl Into<Command>) -> Outcome {
        let command = command.into();
        let from = self.state.applied_index();
        let to = AppliedIndex(from.0 + 1);
        let encoded = command.encode(self.now);
        assert_eq!(Command::decode(&encoded), Ok((self.now, command.clone())));
        let applied = self.state.apply(to, self.now, &command);
        self.projection.apply(Covered { from, to }, &applied.events).expect("events follow");
        self.check();
        let outcome = applied.outcome.clone();
        self.last = Some(applied);
        outcome
    }

    /// Holds the projection against a new one, and the state against its written-behind copy.
    pub(crate) fn check(&mut self) {
        let fresh =
            Projection::from_snapshot(self.state.applied_index(), &self.state.snapshot_events());
        assert!(fresh == self.projection, "a projection of a snapshot equals one of all events");
        assert_eq!(self.projection.extents_waiting(), self.state.extents_waiting());
        assert_eq!(fresh.extents_waiting(), self.state.extents_waiting());
        let changes = self.state.take_changes();
        for key in changes.deletes {
            self.saved.remove(&key);
        }
        self.saved.extend(changes.puts);
        let snapshot: BTreeMap<_, _> = self.state.snapshot().puts.into_iter().collect();
        assert!(snapshot == self.saved, "changes add up to the snapshot");
        let restored = MetadataState::restore(&snapshot).expect("a snapshot restores");
        assert_eq!(restored.snapshot(), self.state.snapshot());
        assert!(restored.files().eq(self.state.files()), "counts follow from the entries");
        assert_eq!(restored.extents_waiting(), self.state.extents_waiting());
        assert_eq!(restored.files.entries, self.state.files.entries);
        assert_eq!(restored.files.garbage, self.state.files.garbage);
        assert_eq!(restored.producer_entries, self.state.producer_entries);
        assert_eq!(restored.offsets, self.state.offsets);
        assert_eq!(restored.group_bytes, self.state.group_bytes);
        for (here, there) in self.state.partitions.values().zip(restored.partitions.values()) {
            assert_eq!(here.log.bytes, there.log.bytes);
        }
    }

    pub(crate) fn events(&self) -> &[crate::event::Event] {
        self.last.as_ref().map_or(&[], |applied| &applied.events)
    }

    pub(crate) fn register(&mut self, broker: BrokerId) -> Outcome {
        self.apply(RegisterBroker {
            broker,
            listeners: vec![],
            zone: None,
            http_address: None,
            feature_level_max: 1,
        })
    }

    /// Creates a topic, with an id of its own.
    pub(crate) fn topic(&mut self, name: &str, partitions: u32) -> Vec<PartitionId> {
        self.topics += 1;
        let command = CreateTopic {
            name: name.to_owned(),
            id: TopicId(Uuid::from_u128(self.topics)),
            partitions,
            replication_factor: -1,
            configs: vec![],
        };
        match self.apply(command) {
            Outcome::Partitions(partitions) => partitions,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn topic_id(&self, name: &str) -> TopicId {
        self.state.topic(name).expect("the topic exists").id
    }

    /// An append file of the lane.
    pub(crate) fn file_id(&self, number: u32) -> FileId {
        FileId {
            incarnation: self.state.incarnation(),
            lane: self.lane,
            number: FileNumber(number),
            sequence: 0,
        }
    }

    pub(crate) fn object(&self, sequence: u64) -> ObjectId {
        ObjectId {
            incarnation: self.state.incarnation(),
            lane: self.lane,
            sequence: LaneSequence(sequence),
        }
    }

    /// The next object of the lane, holding the batches one after another behind a header of 64
    /// bytes.
    pub(crate) fn next_object(&mut self, mut batches: Vec<BatchFacts>) -> CommitObject {
        let mut end = 64;
        for batch in &mut batches {
            batch.position = end;
            end += batch.length;
        }
        self.sequence += 1;
        let location =
            Location { file: self.file_id(self.file), position: self.position, length: end };
        self.position += u64::from(end);
        CommitObject {
            object: self.object(self.sequence),
            location,
            skips: vec![],
            outcomes_received_up_to: LaneSequence(self.sequence.saturating_sub(2)),
            batches,
        }
    }

    /// Commits the next object of the lane.
    pub(crate) fn commit(&mut self, batches: Vec<BatchFacts>) -> Vec<tidemill_base::BatchOutcome> {
        let command = self.next_object(batches);
        match self.apply(command) {
            Outcome::Object(outcomes) => outcomes.to_vec(),
            other => panic!("{other:?}"),
        }
    }

    /// Commits one batch.
    pub(crate) fn commit_one(&mut self, batch: BatchFacts) -> tidemill_base::BatchOutcome {
        self.commit(vec![batch])[0]
    }

    pub(crate) fn advance(&mut self, partition: PartitionId, to: Option<i64>) -> Outcome {
        let advance = LogStartAdvance { partition, to: to.map(Offset) };
        self.apply(crate::command::AdvanceLogStart { advances: vec![advance] })
    }

    pub(crate) fn entries(&self, partition: PartitionId) -> Vec<Entry> {
        self.state.partition(partition).expect("the partition exists").entries
    }
}

/// A batch without producer. Its position is given by `next_object`.
pub(crate) fn batch(partition: PartitionId, record_count: u32) -> BatchFacts {
    BatchFacts {
        partition,
        position: 0,
        length: BATCH_BYTES,
        record_count,
        max_timestamp: START,
        producer: None,
        transactional: false,
    }
}

/// A batch of a producer.
pub(crate) fn produced(
    partition: PartitionId,
    record_count: u32,
    producer: i64,
    epoch: i16,
    base_sequence: i32,
) -> BatchFacts {
    let producer = ProducerFacts {
        id: ProducerId(producer),
        epoch: ProducerEpoch(epoch),
        base_sequence: BaseSequence(base_sequence),
        transaction: 0,
    };
    BatchFacts { producer: Some(producer), ..batch(partition, record_count) }
}
