//! An index entry of a log object: one batch, as the metadata sees it.
//!
//! ```text
//!  0 partition u32          24 producer id i64 (-1: none)
//!  4 position u32           32 base sequence i32 (-1: none)
//!  8 length u32             36 transaction u32
//! 12 record count u32       40 producer epoch i16 (-1: none)
//! 16 max timestamp i64      42 flags u16: bit 0 transactional
//! ```

use bytes::BufMut;
use tidemill_base::{
    BaseSequence, BatchFacts, PartitionId, ProducerEpoch, ProducerFacts, ProducerId, TimestampMs,
};

use crate::error::FormatError;
use crate::fields::FieldReader;

const TRANSACTIONAL: u16 = 1;
const NONE: i64 = -1;

pub(super) fn put(out: &mut impl BufMut, facts: &BatchFacts) {
    let producer = facts.producer;
    out.put_u32_le(facts.partition.0);
    out.put_u32_le(facts.position);
    out.put_u32_le(facts.length);
    out.put_u32_le(facts.record_count);
    out.put_i64_le(facts.max_timestamp.0);
    out.put_i64_le(producer.map_or(NONE, |producer| producer.id.0));
    out.put_i32_le(producer.map_or(NONE as i32, |producer| producer.base_sequence.0));
    out.put_u32_le(producer.map_or(0, |producer| producer.transaction));
    out.put_i16_le(producer.map_or(NONE as i16, |producer| producer.epoch.0));
    out.put_u16_le(if facts.transactional { TRANSACTIONAL } else { 0 });
}

pub(super) fn take(fields: &mut FieldReader<'_>) -> Result<BatchFacts, FormatError> {
    let partition = PartitionId(fields.u32()?);
    let position = fields.u32()?;
    let length = fields.u32()?;
    let record_count = fields.u32()?;
    let max_timestamp = TimestampMs(fields.i64()?);
    let id = fields.i64()?;
    let base_sequence = fields.i32()?;
    let transaction = fields.u32()?;
    let epoch = fields.i16()?;
    let flags = fields.u16()?;
    if length == 0 || record_count == 0 {
        return Err(FormatError::Inconsistent { what: "a batch without bytes or records" });
    }
    if flags & !TRANSACTIONAL != 0 {
        return Err(FormatError::Inconsistent { what: "a batch's flags are not defined" });
    }
    let transactional = flags == TRANSACTIONAL;
    let producer = producer(id, epoch, base_sequence, transaction)?;
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

fn producer(
    id: i64,
    epoch: i16,
    base_sequence: i32,
    transaction: u32,
) -> Result<Option<ProducerFacts>, FormatError> {
    if (id, epoch, base_sequence, transaction) == (NONE, NONE as i16, NONE as i32, 0) {
        return Ok(None);
    }
    if id < 0 || epoch < 0 || base_sequence < -1 {
        return Err(FormatError::Inconsistent { what: "a batch's producer cannot be" });
    }
    Ok(Some(ProducerFacts {
        id: ProducerId(id),
        epoch: ProducerEpoch(epoch),
        base_sequence: BaseSequence(base_sequence),
        transaction,
    }))
}
