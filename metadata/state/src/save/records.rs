//! Values of saved records, where they differ from the tables they come from.

use tidemill_base::{
    BatchOutcome, FileId, FileNumber, LaneSequence, LeaderEpoch, Location, Offset, PartitionIndex,
    TimestampMs, TopicId,
};

use crate::codec::{DecodeError, Encoded, Reader, Writer, encoded};
use crate::command::Generation;
use crate::files::{FileState, Freed};
use crate::groups::{Claim, Group};
use crate::lanes::{Lane, Recorded};
use crate::partition::Partition;

encoded! {
    pub(super) struct LaneRecord {
        pub(super) last: LaneSequence,
        pub(super) floor: LaneSequence,
        pub(super) file_floor: FileNumber,
    }

    pub(super) struct OutcomeRecord {
        pub(super) location: Location,
        pub(super) outcomes: Vec<BatchOutcome>,
    }

    pub(super) struct FileRecord {
        pub(super) id: FileId,
        pub(super) length: u64,
        pub(super) sealed: bool,
        pub(super) freed: Option<Freed>,
    }

    pub(super) struct PartitionRecord {
        pub(super) topic: TopicId,
        pub(super) index: PartitionIndex,
        pub(super) log_start: Offset,
        pub(super) high_watermark: Offset,
        pub(super) leader_epoch: LeaderEpoch,
        pub(super) epoch_starts: Vec<(LeaderEpoch, Offset)>,
        pub(super) highest_forgotten: i64,
    }

    pub(super) struct GroupRecord {
        pub(super) claim: Claim,
        pub(super) generation: Option<Generation>,
        pub(super) empty_since: Option<TimestampMs>,
    }
}

impl LaneRecord {
    pub(super) fn of(lane: &Lane) -> Self {
        Self { last: lane.last, floor: lane.floor, file_floor: lane.file_floor }
    }
}

impl OutcomeRecord {
    pub(super) fn of(recorded: &Recorded) -> Self {
        Self { location: recorded.location, outcomes: recorded.outcomes.to_vec() }
    }
}

impl FileRecord {
    pub(super) fn of(id: FileId, file: &FileState) -> Self {
        Self { id, length: file.length, sealed: file.sealed, freed: file.freed }
    }
}

impl PartitionRecord {
    pub(super) fn of(partition: &Partition) -> Self {
        let log = &partition.log;
        Self {
            topic: partition.topic,
            index: partition.index,
            log_start: log.log_start,
            high_watermark: log.high_watermark,
            leader_epoch: log.leader_epoch,
            epoch_starts: log.epoch_starts.clone(),
            highest_forgotten: partition.producers.highest_forgotten,
        }
    }
}

impl GroupRecord {
    pub(super) fn of(group: &Group) -> Self {
        Self {
            claim: group.claim.clone(),
            generation: group.generation.clone(),
            empty_since: group.empty_since,
        }
    }
}

impl Encoded for BatchOutcome {
    const BYTES_MIN: usize = 1;

    fn encode(&self, to: &mut Writer) {
        let (tag, offsets) = match self {
            Self::Committed { base_offset, log_start } => (0u8, Some((*base_offset, *log_start))),
            Self::Duplicate { base_offset, log_start } => (1, Some((*base_offset, *log_start))),
            Self::DuplicateForgotten => (2, None),
            Self::OutOfOrder => (3, None),
            Self::Fenced => (4, None),
            Self::PartitionGone => (5, None),
            Self::ProducersFull => (6, None),
        };
        to.put(&tag);
        if let Some(offsets) = offsets {
            to.put(&offsets);
        }
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match from.take::<u8>()? {
            0 => Self::Committed { base_offset: from.take()?, log_start: from.take()? },
            1 => Self::Duplicate { base_offset: from.take()?, log_start: from.take()? },
            2 => Self::DuplicateForgotten,
            3 => Self::OutOfOrder,
            4 => Self::Fenced,
            5 => Self::PartitionGone,
            6 => Self::ProducersFull,
            _ => return Err(from.error("batch outcome", "is unknown")),
        })
    }
}
