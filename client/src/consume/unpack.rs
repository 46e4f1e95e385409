//! From the bytes of a batch to records (pure).

use bytes::Bytes;
use tidemill_base::{LeaderEpoch, Offset};
use tidemill_records::{Batch, Codec, DecompressLimits, Decompressor, Records, RecordsError};

use crate::consume::record::ConsumerRecord;
use crate::header::Header;
use crate::topic_partition::TopicPartition;

/// The type of a control record that ends a transaction by aborting it.
const CONTROL_ABORT: i16 = 0;

/// The records of `batch` from `from` on.
///
/// # Errors
/// Those of [`Records::open`] and of its records.
pub(crate) fn records(
    partition: &TopicPartition,
    batch: &Batch,
    from: Offset,
    decompressor: &mut Decompressor,
) -> Result<Vec<ConsumerRecord>, RecordsError> {
    let header = batch.header();
    let is_plain = header.attributes.codec()? == Codec::None;
    let opened = Records::open(batch.view(), decompressor, &DecompressLimits::default())?;
    let whole =
        if is_plain { batch.bytes().clone() } else { Bytes::copy_from_slice(opened.data()) };
    let whole_begins = if is_plain { batch.bytes().as_ptr() } else { opened.data().as_ptr() };
    // A piece of the records, as a slice that shares the batch's memory.
    let shared = |piece: &[u8]| {
        let begin = (piece.as_ptr() as usize).wrapping_sub(whole_begins as usize);
        match whole.get(begin..begin.saturating_add(piece.len())) {
            Some(_) => whole.slice(begin..begin + piece.len()),
            None => Bytes::copy_from_slice(piece),
        }
    };
    let leader_epoch = (header.leader_epoch >= 0).then_some(LeaderEpoch(header.leader_epoch));
    let mut records = Vec::new();
    for record in opened.iter() {
        let record = record?;
        if record.offset < from {
            continue;
        }
        let headers = record.headers.map(|header| Header {
            key: String::from_utf8_lossy(header.key).into_owned(),
            value: header.value.map(shared),
        });
        records.push(ConsumerRecord {
            partition: partition.clone(),
            offset: record.offset,
            timestamp: record.timestamp,
            timestamp_type: header.attributes.timestamp_type(),
            leader_epoch,
            key: record.key.map(shared),
            value: record.value.map(shared),
            headers: headers.collect(),
        });
    }
    Ok(records)
}

/// Whether a control batch ends its transaction by aborting it.
pub(crate) fn is_abort(batch: &Batch, decompressor: &mut Decompressor) -> bool {
    let opened = Records::open(batch.view(), decompressor, &DecompressLimits::default());
    let Some(Ok(record)) = opened.ok().and_then(|records| records.iter().next()) else {
        return false;
    };
    // A control record's key is its version and its type.
    let kind = record.key.and_then(|key| key.get(2..4)).and_then(|kind| kind.first_chunk::<2>());
    kind.is_some_and(|kind| i16::from_be_bytes(*kind) == CONTROL_ABORT)
}

/// The offset behind a batch.
pub(crate) fn end_of(batch: &Batch) -> Offset {
    let header = batch.header();
    let delta = i64::from(header.last_offset_delta.max(0));
    Offset(header.base_offset.0.saturating_add(delta).saturating_add(1))
}
