//! Fetch, version 12, with incremental sessions, and the walk over its answer.
//!
//! The first request of a session names all partitions; later ones name only those whose offset
//! moved. The answer's batches are walked by their heads; records are not looked at.

use crate::wire::cursor::Cursor;
use crate::wire::{
    CORRELATION_ID_AT, WireError, put_compact_string, put_request_head, put_uvarint,
    set_frame_length,
};

const API_KEY: i16 = 1;

/// The last version that names topics and not their ids.
const API_VERSION: i16 = 12;

/// Bytes of a batch before the fields that its length field counts.
const BATCH_OVERHEAD_BYTES: usize = 12;

/// Where a batch's last offset delta lies.
const LAST_OFFSET_DELTA_AT: usize = 23;

/// What every request of a consumer says alike.
#[derive(Clone, Debug)]
pub struct FetchSettings {
    /// The topic.
    pub topic: String,
    /// How long the broker may wait for data, in milliseconds.
    pub wait_ms_max: i32,
    /// The most bytes of an answer, and of one partition in it.
    pub bytes_max: i32,
}

/// Where a consumer goes on in a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FetchFrom {
    /// The partition.
    pub partition: i32,
    /// The first offset asked for.
    pub offset: i64,
}

/// The session a request belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Session {
    /// 0 asks for a new session.
    pub id: i32,
    /// 0 in the first request, then rising by one.
    pub epoch: i32,
}

/// Lays out a request into `out`, which is cleared first.
pub fn put_request(
    out: &mut Vec<u8>,
    settings: &FetchSettings,
    session: Session,
    correlation_id: i32,
    partitions: &[FetchFrom],
) {
    out.clear();
    put_request_head(out, API_KEY, API_VERSION);
    out[CORRELATION_ID_AT..CORRELATION_ID_AT + 4].copy_from_slice(&correlation_id.to_be_bytes());
    out.extend_from_slice(&(-1i32).to_be_bytes()); // replica id: a consumer
    out.extend_from_slice(&settings.wait_ms_max.to_be_bytes());
    out.extend_from_slice(&1i32.to_be_bytes()); // min bytes
    out.extend_from_slice(&settings.bytes_max.to_be_bytes());
    out.push(0); // read uncommitted
    out.extend_from_slice(&session.id.to_be_bytes());
    out.extend_from_slice(&session.epoch.to_be_bytes());
    put_topics(out, settings, partitions);
    put_uvarint(out, 1); // no forgotten topics
    put_compact_string(out, ""); // rack
    out.push(0); // no tagged fields
    let frame_bytes = out.len();
    set_frame_length(out, frame_bytes);
}

fn put_topics(out: &mut Vec<u8>, settings: &FetchSettings, partitions: &[FetchFrom]) {
    if partitions.is_empty() {
        return put_uvarint(out, 1);
    }
    put_uvarint(out, 2);
    put_compact_string(out, &settings.topic);
    put_uvarint(out, partitions.len() + 1);
    for from in partitions {
        out.extend_from_slice(&from.partition.to_be_bytes());
        out.extend_from_slice(&(-1i32).to_be_bytes()); // current leader epoch
        out.extend_from_slice(&from.offset.to_be_bytes());
        out.extend_from_slice(&(-1i32).to_be_bytes()); // last fetched epoch
        out.extend_from_slice(&(-1i64).to_be_bytes()); // log start offset
        out.extend_from_slice(&settings.bytes_max.to_be_bytes());
        out.push(0);
    }
    out.push(0);
}

/// What an answer says besides its batches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FetchAnswer {
    /// The request it answers.
    pub correlation_id: i32,
    /// Kafka's error code for the request as a whole.
    pub error_code: i16,
    /// The session to go on with.
    pub session_id: i32,
}

/// What an answer says of one partition.
#[derive(Clone, Copy, Debug)]
pub struct FetchedPartition<'a> {
    /// The partition.
    pub partition: i32,
    /// Kafka's error code for it.
    pub error_code: i16,
    /// Whole batches, and perhaps the beginning of one more.
    pub records: &'a [u8],
}

/// One batch of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FetchedBatch {
    /// The offset of its first record.
    pub base_offset: i64,
    /// The offset after its last record.
    pub end_offset: i64,
    /// Its bytes.
    pub bytes: usize,
}

/// Walks an answer (`frame` being all after its length field), giving each partition to `visit`.
pub fn walk_answer<'a>(
    frame: &'a [u8],
    mut visit: impl FnMut(FetchedPartition<'a>),
) -> Result<FetchAnswer, WireError> {
    let mut cursor = Cursor::new(frame);
    let correlation_id = cursor.i32()?;
    cursor.tagged_fields()?;
    cursor.i32()?; // throttle time
    let error_code = cursor.i16()?;
    let session_id = cursor.i32()?;
    for _ in 0..cursor.compact_count()? {
        cursor.compact_bytes()?; // topic
        for _ in 0..cursor.compact_count()? {
            visit(read_partition(&mut cursor)?);
        }
        cursor.tagged_fields()?;
    }
    cursor.tagged_fields()?;
    if !cursor.is_at_end() {
        return Err(WireError::Unexpected("byte after the last field"));
    }
    Ok(FetchAnswer { correlation_id, error_code, session_id })
}

fn read_partition<'a>(cursor: &mut Cursor<'a>) -> Result<FetchedPartition<'a>, WireError> {
    let partition = cursor.i32()?;
    let error_code = cursor.i16()?;
    cursor.bytes(3 * 8)?; // high watermark, last stable offset, log start offset
    for _ in 0..cursor.compact_count()? {
        cursor.bytes(2 * 8)?; // an aborted transaction: producer id, first offset
        cursor.tagged_fields()?;
    }
    cursor.i32()?; // preferred read replica
    let records = cursor.compact_bytes()?;
    cursor.tagged_fields()?;
    Ok(FetchedPartition { partition, error_code, records })
}

/// The whole batches of `records`, by their heads alone.
pub fn batches(mut records: &[u8]) -> impl Iterator<Item = FetchedBatch> {
    std::iter::from_fn(move || {
        let mut head = Cursor::new(records);
        let base_offset = head.i64().ok()?;
        let bytes = BATCH_OVERHEAD_BYTES + usize::try_from(head.i32().ok()?).ok()?;
        let (batch, rest) = records.split_at_checked(bytes)?;
        let last_offset_delta = Cursor::new(batch.get(LAST_OFFSET_DELTA_AT..)?).i32().ok()?;
        records = rest;
        Some(FetchedBatch {
            base_offset,
            end_offset: base_offset + i64::from(last_offset_delta) + 1,
            bytes,
        })
    })
}

#[cfg(test)]
mod fetch_test;
