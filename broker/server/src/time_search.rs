//! Offsets by timestamp, and the time of a stored batch: through the index, then the batches of an entry, then the records.
//!
//! The index says which entry *may* hold a record that reaches a time: its max timestamp does, but
//! the record may lie below the log start. So entries are tried one after another.

mod append_time;
mod batches;
mod largest;
mod unpacked;

use tidemill_base::{Offset, PartitionId, TimestampMs};
use tidemill_kafka::ErrorCode;
use tidemill_metadata_state::{Entry, Extent};
use tidemill_records::{
    Batch, DecompressLimits, Decompressor, Records, RecordsError, TimestampType, find_timestamp,
};

pub(crate) use self::append_time::append_time;
use self::batches::Batches;
pub(crate) use self::largest::latest_timestamp;
use self::unpacked::search_records;
use crate::broker::Broker;

/// Entries tried for one question: far more than a log start can hide.
const ENTRIES_TRIED_MAX: usize = 64;

/// A record found: its offset and timestamp.
pub(crate) type Found = (Offset, TimestampMs);

/// The first record, in offset order, whose timestamp is at least `timestamp`.
pub(crate) async fn first_at(
    broker: &Broker,
    partition: PartitionId,
    timestamp: TimestampMs,
) -> Result<Option<Found>, ErrorCode> {
    let log_start = log_start(broker, partition)?;
    let mut from = log_start;
    for _ in 0..ENTRIES_TRIED_MAX {
        let Some(entry) = entry_reaching(broker, partition, timestamp, from)? else {
            return Ok(None);
        };
        let extents = extents(broker, partition, &entry).await?;
        for extent in extents.into_iter().filter(|extent| extent.max_timestamp >= timestamp) {
            for batch in Batches::read(broker, &extent).await? {
                let (batch, base) = batch?;
                let found = first_in_batch(broker, batch, base, timestamp, log_start).await?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        from = entry.end_offset();
    }
    Ok(None)
}

fn log_start(broker: &Broker, partition: PartitionId) -> Result<Offset, ErrorCode> {
    let bounds = broker.reads.bounds(partition).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    Ok(bounds.log_start)
}

fn entry_reaching(
    broker: &Broker,
    partition: PartitionId,
    timestamp: TimestampMs,
    from: Offset,
) -> Result<Option<Entry>, ErrorCode> {
    let projection = broker.view.projection();
    let view = projection.partition(partition).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    Ok(view.entry_reaching(timestamp, from))
}

async fn extents(
    broker: &Broker,
    partition: PartitionId,
    entry: &Entry,
) -> Result<Vec<Extent>, ErrorCode> {
    match entry {
        Entry::Extent(extent) => Ok(vec![*extent]),
        Entry::Folded(folded) => broker
            .reads
            .bytes()
            .unfold(partition, folded, folded.base_offset, u64::MAX, usize::MAX)
            .await
            .map_err(|error| error.code()),
    }
}

/// The batch's own header is the producer's word, so records decide; for LogAppendTime the header
/// was written by a broker and all records have its time.
async fn first_in_batch(
    broker: &Broker,
    batch: Batch,
    base: Offset,
    timestamp: TimestampMs,
    log_start: Offset,
) -> Result<Option<Found>, ErrorCode> {
    let header = batch.header();
    let end = base.plus(header.offsets_taken());
    if end <= log_start {
        return Ok(None);
    }
    if header.attributes.timestamp_type() == TimestampType::LogAppendTime {
        let first = base.max(log_start);
        let reaches = header.max_timestamp >= timestamp;
        return Ok(reaches.then_some((first, header.max_timestamp)));
    }
    search_records(broker, batch, move |batch, decompressor, limits| {
        first_in_records(batch, base, timestamp, log_start, decompressor, limits)
    })
    .await
}

fn first_in_records(
    batch: &Batch,
    base: Offset,
    timestamp: TimestampMs,
    log_start: Offset,
    decompressor: &mut Decompressor,
    limits: &DecompressLimits,
) -> Result<Option<Found>, RecordsError> {
    let view = batch.view();
    if base >= log_start {
        let found = find_timestamp(&view, decompressor, limits, timestamp)?;
        return Ok(found.map(|found| (base.plus(found.offset_delta), found.timestamp)));
    }
    for record in Records::open(view, decompressor, limits)?.iter() {
        let record = record?;
        let offset = Offset(base.0 + i64::from(record.offset_delta));
        if offset >= log_start && record.timestamp >= timestamp {
            return Ok(Some((offset, record.timestamp)));
        }
    }
    Ok(None)
}
