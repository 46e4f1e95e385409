//! Requests of Fetch, version 12, with incremental sessions.
//!
//! The first request of a session names all partitions; later ones name only those whose offset
//! moved.

use crate::wire::{
    CORRELATION_ID_AT, put_compact_string, put_request_head, put_uvarint, set_frame_length,
};

const API_KEY: i16 = 1;

/// The last version that names topics and not their ids.
const API_VERSION: i16 = 12;

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

#[cfg(test)]
mod fetch_test;
