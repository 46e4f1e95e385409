//! The hot command: one log object becomes part of the log.

use tidemill_base::{
    BaseSequence, BatchFacts, LaneSequence, Location, ObjectId, PartitionId, ProducerEpoch,
    ProducerFacts, ProducerId, TimestampMs,
};

use crate::codec::{DecodeError, Encoded, Reader, Writer, encoded};

encoded! {
    /// Commits one durable log object.
    pub struct CommitObject {
        /// The object. Commands of a lane apply in the order of their sequences.
        pub object: ObjectId,
        /// Where it lies. A sequence is only ever proposed with one location.
        pub location: Location,
        /// The flushes between the last one applied and this one that were given up and never
        /// proposed.
        pub skips: Vec<LaneSequence>,
        /// The broker has the outcomes up to here; they may be forgotten.
        pub outcomes_received_up_to: LaneSequence,
        /// What the object holds, by rising position.
        pub batches: Vec<BatchFacts>,
    }
}

impl CommitObject {
    /// The most skips that one command names.
    pub const SKIPS_MAX: usize = 4096;
}

/// The batch begins where the one before it in the command ends (the first: at 0), so that its
/// position is left out.
const FOLLOWS: u8 = 1;
/// The batch names its producer.
const PRODUCER: u8 = 2;
/// The batch belongs to a transaction.
const TRANSACTIONAL: u8 = 4;
/// The batch names the number of its producer's transaction.
const TRANSACTION_NUMBER: u8 = 8;
const KNOWN_FLAGS: u8 = FOLLOWS | PRODUCER | TRANSACTIONAL | TRANSACTION_NUMBER;

/// A batch list whose items lean on the item before them: 21 bytes for a batch that follows its
/// neighbour, 14 more with a producer, 4 more with a position or a transaction number.
impl Encoded for Vec<BatchFacts> {
    const BYTES_MIN: usize = 4;

    fn encode(&self, to: &mut Writer) {
        to.0.reserve(4 + self.len() * 39);
        to.put(&u32::try_from(self.len()).expect("a command holds at most 1 MiB"));
        let mut end = 0;
        for batch in self {
            encode_batch(batch, end, to);
            end = batch.position.wrapping_add(batch.length);
        }
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = from.count(21)?;
        let mut batches = Self::with_capacity(count);
        let mut end = 0;
        for _ in 0..count {
            let batch = decode_batch(end, from)?;
            end = batch.position.wrapping_add(batch.length);
            batches.push(batch);
        }
        Ok(batches)
    }
}

fn encode_batch(batch: &BatchFacts, end: u32, to: &mut Writer) {
    let follows = batch.position == end;
    let transaction = batch.producer.map_or(0, |producer| producer.transaction);
    let flags = if follows { FOLLOWS } else { 0 }
        | if batch.producer.is_some() { PRODUCER } else { 0 }
        | if batch.transactional { TRANSACTIONAL } else { 0 }
        | if transaction != 0 { TRANSACTION_NUMBER } else { 0 };
    to.put(&flags);
    to.put(&batch.partition);
    if !follows {
        to.put(&batch.position);
    }
    to.put(&batch.length);
    to.put(&batch.record_count);
    to.put(&batch.max_timestamp);
    if let Some(producer) = &batch.producer {
        to.put(&producer.id);
        to.put(&producer.epoch.0);
        to.put(&producer.base_sequence.0);
        if transaction != 0 {
            to.put(&transaction);
        }
    }
}

fn decode_batch(end: u32, from: &mut Reader<'_>) -> Result<BatchFacts, DecodeError> {
    let flags: u8 = from.take()?;
    let has = |flag| flags & flag != 0;
    if flags & !KNOWN_FLAGS != 0 || (has(TRANSACTION_NUMBER) && !has(PRODUCER)) {
        return Err(from.error("batch", "has unknown flags"));
    }
    let partition: PartitionId = from.take()?;
    let position = if has(FOLLOWS) { end } else { from.take()? };
    if !has(FOLLOWS) && position == end {
        return Err(from.error("batch", "names a position that it could leave out"));
    }
    let length = from.take()?;
    let record_count = from.take()?;
    let max_timestamp: TimestampMs = from.take()?;
    let producer = if has(PRODUCER) {
        let producer = ProducerFacts {
            id: from.take::<ProducerId>()?,
            epoch: ProducerEpoch(from.take()?),
            base_sequence: BaseSequence(from.take()?),
            transaction: if has(TRANSACTION_NUMBER) { from.take()? } else { 0 },
        };
        if has(TRANSACTION_NUMBER) && producer.transaction == 0 {
            return Err(from.error("batch", "names a transaction that it could leave out"));
        }
        Some(producer)
    } else {
        None
    };
    let transactional = has(TRANSACTIONAL);
    Ok(BatchFacts {
        partition,
        position,
        length,
        record_count,
        max_timestamp,
        producer,
        transactional,
    })
}
