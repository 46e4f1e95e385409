//! The fuzz targets of the formats: plain functions that must neither panic nor loop.

use bytes::Bytes;
use tidemill_base::ExtentFacts;

use crate::index_object::block::IndexBlock;
use crate::index_object::builder::IndexObjectBuilder;
use crate::index_object::directory::IndexDirectory;
use crate::log_object::builder::LogObjectBuilder;
use crate::log_object::header::LogObjectHeader;
use crate::log_object::whole::LogObject;
use crate::{index_object, log_object};

/// Reads `data` as a log object, as it is and once more with its checksum made right. What is read
/// must encode to the same bytes again.
///
/// # Panics
/// If it does not.
pub fn fuzz_log_object(data: &[u8]) {
    log_object_as_it_is(data);
    let header_bytes = LogObjectHeader::bytes_needed(data).unwrap_or_default() as usize;
    if let Some(repaired) = repair(data, log_object::FIXED_HEADER_BYTES, header_bytes) {
        log_object_as_it_is(&repaired);
    }
}

fn log_object_as_it_is(data: &[u8]) {
    let Ok(object) = LogObject::decode(Bytes::copy_from_slice(data)) else { return };
    let mut builder = LogObjectBuilder::new(object.header().id);
    for (facts, bytes) in object.batches() {
        builder.push(*facts, bytes);
    }
    let encoded = builder.finish();
    assert_eq!(encoded.facts, object.header().facts);
    assert_eq!(encoded.parts.concat(), data, "a log object is encoded as it was read");
}

/// Reads `data` as an index object, as it is and once more with its directory's checksum made right.
/// What is read whole must encode to the same bytes again.
///
/// # Panics
/// If it does not.
pub fn fuzz_index_object(data: &[u8]) {
    index_object_as_it_is(data);
    let directory_end = IndexDirectory::bytes_needed(data).unwrap_or_default() as usize;
    if let Some(repaired) = repair(data, index_object::FIXED_HEADER_BYTES, directory_end) {
        index_object_as_it_is(&repaired);
    }
}

fn index_object_as_it_is(data: &[u8]) {
    let Ok(directory) = IndexDirectory::decode(data) else { return };
    let mut builder = IndexObjectBuilder::new(directory.object, directory.file);
    let mut whole = directory.length as usize == data.len();
    for run in &directory.runs {
        let found = directory.find(run.partition, run.first_offset);
        assert_eq!(found, Some(run), "a run is found by its first offset");
        let range = run.block_range();
        let bytes = data.get(range.start as usize..range.end as usize).unwrap_or_default();
        let Ok(block) = IndexBlock::decode(run, Bytes::copy_from_slice(bytes)) else {
            whole = false;
            continue;
        };
        let extents: Vec<ExtentFacts> = block.iter().collect();
        for (at, extent) in extents.iter().enumerate() {
            assert_eq!(block.find(extent.base_offset), Some(at));
        }
        builder.push(run.partition, &extents).expect("what was read can be encoded");
    }
    if whole {
        let encoded = builder.finish().expect("what was read can be encoded");
        assert_eq!(encoded.bytes, data, "an index object is encoded as it was read");
    }
}

/// `data` with a right checksum in the last four bytes of its fixed header.
fn repair(data: &[u8], fixed_bytes: usize, header_bytes: usize) -> Option<Vec<u8>> {
    if header_bytes < fixed_bytes || data.len() < header_bytes {
        return None;
    }
    let mut bytes = data.to_vec();
    let before = crc32c::crc32c(&bytes[..fixed_bytes - 4]);
    let crc = crc32c::crc32c_append(before, &bytes[fixed_bytes..header_bytes]);
    bytes[fixed_bytes - 4..fixed_bytes].copy_from_slice(&crc.to_le_bytes());
    Some(bytes)
}
