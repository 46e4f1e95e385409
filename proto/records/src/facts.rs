//! Walking every record of a batch: is it well formed, and what does it say?
//!
//! Nothing is allocated per record and nothing is kept: compressed data passes through one chunk.
//!
//! Kafka 4 corrects the max timestamp of a batch whose producer misreported it, and refuses
//! nothing for it. A batch here is opaque, so the header stays as it is, and the true maximum is
//! among the facts: the index is built from those.

use tidemill_base::TimestampMs;

use crate::attributes::TimestampType;
use crate::batch::BatchView;
use crate::codec::Codec;
use crate::decompressor::{DecompressLimits, Decompressor};
use crate::error::{RecordFault, RecordsError};
use crate::header::BatchHeader;
use crate::source::{ByteSource, SliceSource};
use crate::walk::read_record;

/// What a walk over all records of a batch found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordFacts {
    /// How many records there are; as the header counts them.
    pub record_count: u32,
    /// The least timestamp of a record.
    pub min_timestamp: TimestampMs,
    /// The largest timestamp of a record, which the header may misreport.
    pub max_timestamp: TimestampMs,
    /// The offset delta of the first record that has the largest timestamp.
    pub max_timestamp_offset_delta: u32,
    /// The first record without a key, if any: compacted topics refuse those.
    pub keyless_at: Option<u32>,
}

/// What a walk sees of one record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordSight {
    pub(crate) index: u32,
    pub(crate) offset_delta: u32,
    pub(crate) timestamp: TimestampMs,
    pub(crate) has_key: bool,
}

/// Whether a walk goes on after a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Next,
    Stop,
}

/// Walks all records of `batch`: fields within bounds, offset deltas 0, 1, 2 and so on, as many as
/// the header counts, nothing left over. The header is taken as checked by
/// [`crate::validate_header`].
///
/// # Errors
/// [`RecordsError::Record`], [`RecordsError::RecordsMissing`], [`RecordsError::RecordsTrailing`],
/// [`RecordsError::Decompress`], [`RecordsError::OutputTooLarge`], [`RecordsError::UnknownCodec`],
/// and [`RecordsError::CountInvalid`] for a batch without records.
pub fn validate_records(
    batch: &BatchView<'_>,
    decompressor: &mut Decompressor,
    limits: &DecompressLimits,
) -> Result<RecordFacts, RecordsError> {
    let mut facts: Option<RecordFacts> = None;
    walk_records(batch, decompressor, limits, |record| {
        if record.offset_delta != record.index {
            return Err(RecordsError::fault(RecordFault::OffsetDelta).at(record.index));
        }
        facts = Some(match facts {
            None => RecordFacts::of_first(&record),
            Some(facts) => facts.with(&record),
        });
        Ok(Step::Next)
    })?;
    facts.ok_or(RecordsError::CountInvalid {
        record_count: batch.header().record_count,
        last_offset_delta: batch.header().last_offset_delta,
    })
}

impl RecordFacts {
    fn of_first(record: &RecordSight) -> Self {
        Self {
            record_count: 1,
            min_timestamp: record.timestamp,
            max_timestamp: record.timestamp,
            max_timestamp_offset_delta: record.offset_delta,
            keyless_at: (!record.has_key).then_some(record.index),
        }
    }

    fn with(mut self, record: &RecordSight) -> Self {
        self.record_count += 1;
        self.min_timestamp = self.min_timestamp.min(record.timestamp);
        if record.timestamp > self.max_timestamp {
            self.max_timestamp = record.timestamp;
            self.max_timestamp_offset_delta = record.offset_delta;
        }
        if !record.has_key {
            self.keyless_at = self.keyless_at.or(Some(record.index));
        }
        self
    }
}

/// Shows every record of `batch` to `see` until it stops; a walk that is not stopped checks that
/// there are as many records as counted.
pub(crate) fn walk_records(
    batch: &BatchView<'_>,
    decompressor: &mut Decompressor,
    limits: &DecompressLimits,
    see: impl FnMut(RecordSight) -> Result<Step, RecordsError>,
) -> Result<(), RecordsError> {
    let header = batch.header();
    match header.attributes.codec()? {
        Codec::None => walk_source(header, &mut SliceSource::new(batch.payload()), see),
        codec => {
            walk_source(header, &mut decompressor.source(codec, batch.payload(), limits)?, see)
        }
    }
}

fn walk_source<S: ByteSource>(
    header: &BatchHeader,
    source: &mut S,
    mut see: impl FnMut(RecordSight) -> Result<Step, RecordsError>,
) -> Result<(), RecordsError> {
    let counted = header.counted();
    let log_append_time = header.attributes.timestamp_type() == TimestampType::LogAppendTime;
    for index in 0..counted {
        if source.at_end()? {
            return Err(RecordsError::RecordsMissing { counted, found: index });
        }
        let record = read_record(source).map_err(|error| error.at(index))?;
        let timestamp = if log_append_time {
            header.max_timestamp
        } else {
            let sum = header.base_timestamp.0.checked_add(record.timestamp_delta);
            TimestampMs(
                sum.ok_or(RecordsError::Record { index, fault: RecordFault::TimestampOverflow })?,
            )
        };
        let sight = RecordSight {
            index,
            offset_delta: record.offset_delta,
            timestamp,
            has_key: record.key.is_some(),
        };
        if see(sight)? == Step::Stop {
            return Ok(());
        }
    }
    if source.at_end()? { Ok(()) } else { Err(RecordsError::RecordsTrailing { counted }) }
}
