//! Goal: index objects hold what they were built from, are found by partition and offset, their
//! bytes never change, and no other bytes pass for one. Method: fixtures, random objects, damage.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use proptest::prelude::*;
use tidemill_base::{
    BrokerEpoch, BrokerId, ExtentDigest, ExtentFacts, FileId, FileNumber, Incarnation, LaneId,
    LaneKey, LaneSequence, LeaderEpoch, ObjectId, Offset, PartitionId, TimestampMs,
};
use tidemill_storage_format::fuzz::fuzz_index_object;
use tidemill_storage_format::index_object::FIXED_HEADER_BYTES;
use tidemill_storage_format::{
    EncodedIndex, FormatError, IndexBlock, IndexDirectory, IndexObjectBuilder,
};

const LANE: LaneKey = LaneKey { broker: BrokerId(7), epoch: BrokerEpoch(3), lane: LaneId(1) };
const OBJECT: ObjectId =
    ObjectId { incarnation: Incarnation(2), lane: LANE, sequence: LaneSequence(55) };
const FILE: FileId =
    FileId { incarnation: Incarnation(2), lane: LANE, number: FileNumber(9), sequence: 0 };

/// `count` extents from `first` on, of two records each.
fn extents(first: i64, count: u32) -> Vec<ExtentFacts> {
    (0..count)
        .map(|index| ExtentFacts {
            base_offset: Offset(first + i64::from(index) * 2),
            position: 4_096 + u64::from(index) * 1_000,
            length: 900,
            record_count: 2,
            max_timestamp: TimestampMs(1_700_000_000_000 - i64::from(index)),
            leader_epoch: LeaderEpoch(3),
        })
        .collect()
}

/// Partition 5 with two runs, added out of order, and partition 4 with one.
fn sample() -> EncodedIndex {
    let mut builder = IndexObjectBuilder::new(OBJECT, FILE);
    builder.push(PartitionId(5), &extents(100, 3)).unwrap();
    builder.push(PartitionId(5), &extents(10, 2)).unwrap();
    builder.push(PartitionId(4), &extents(0, 1)).unwrap();
    builder.finish().unwrap()
}

fn block(encoded: &EncodedIndex, run: usize) -> Result<IndexBlock, FormatError> {
    let range = encoded.runs[run].block_range();
    let bytes = encoded.bytes.slice(range.start as usize..range.end as usize);
    IndexBlock::decode(&encoded.runs[run], bytes)
}

#[test]
fn runs_are_sorted_and_tell_what_a_fold_names() {
    let encoded = sample();
    let directory = IndexDirectory::decode(&encoded.bytes).unwrap();
    assert_eq!((directory.object, directory.file), (OBJECT, FILE));
    assert_eq!(directory.length as usize, encoded.bytes.len());
    assert_eq!(directory.runs, encoded.runs);
    let names: Vec<_> =
        directory.runs.iter().map(|run| (run.partition.0, run.first_offset.0)).collect();
    assert_eq!(names, [(4, 0), (5, 10), (5, 100)]);
    let last = directory.runs[2];
    assert_eq!((last.end_offset, last.extents, last.extent_bytes), (Offset(106), 3, 2_700));
    assert_eq!((last.max_timestamp.0, last.record_count()), (1_700_000_000_000, 6));
    assert_eq!(last.digest, ExtentDigest::of(extents(100, 3)));
}

#[test]
fn runs_and_extents_are_found_by_offset() {
    let encoded = sample();
    let directory = IndexDirectory::decode(&encoded.bytes).unwrap();
    let find = |partition, offset| {
        directory.find(PartitionId(partition), Offset(offset)).map(|run| run.first_offset.0)
    };
    assert_eq!(find(5, 9), None);
    assert_eq!(find(5, 10), Some(10));
    assert_eq!(find(5, 13), Some(10));
    assert_eq!(find(5, 14), None);
    assert_eq!(find(5, 105), Some(100));
    assert_eq!(find(6, 0), None);
    assert_eq!(directory.runs_of(PartitionId(5)).len(), 2);
    let block = block(&encoded, 2).unwrap();
    assert_eq!(block.iter().collect::<Vec<_>>(), extents(100, 3));
    assert_eq!((block.find(Offset(99)), block.find(Offset(106))), (None, None));
    assert_eq!((block.find(Offset(103)), block.get(1)), (Some(1), Some(extents(100, 3)[1])));
}

#[test]
fn the_bytes_never_change() {
    let fixture = include_bytes!("../fixtures/index-object-v1.bin");
    assert_eq!(sample().bytes, fixture[..]);
    assert_eq!(IndexDirectory::decode(fixture).unwrap().runs, sample().runs);
}

#[test]
fn the_directory_can_be_read_without_the_blocks() {
    let encoded = sample();
    let needed = IndexDirectory::bytes_needed(&encoded.bytes[..FIXED_HEADER_BYTES]).unwrap();
    assert_eq!(needed, encoded.runs[0].block_position);
    let directory = IndexDirectory::decode(&encoded.bytes[..needed as usize]).unwrap();
    assert_eq!(directory.runs, encoded.runs);
}

#[test]
fn what_cannot_be_indexed_is_refused() {
    let mut builder = IndexObjectBuilder::new(OBJECT, FILE);
    let mut refused = |extents: &[ExtentFacts]| {
        assert!(matches!(
            builder.push(PartitionId(1), extents),
            Err(FormatError::NotEncodable { .. })
        ));
    };
    refused(&[]);
    let good = extents(0, 2);
    refused(&[good[0], good[0]]);
    refused(&[ExtentFacts { length: 0, ..good[0] }]);
    refused(&[ExtentFacts { record_count: 0, ..good[0] }]);
    refused(&[ExtentFacts { base_offset: Offset(i64::MAX), ..good[0] }]);
    refused(&[ExtentFacts { position: u64::MAX, ..good[0] }]);
    builder.push(PartitionId(1), &good).unwrap();
    builder.push(PartitionId(1), &extents(3, 1)).unwrap();
    assert!(matches!(builder.finish(), Err(FormatError::NotEncodable { .. })));
}

#[test]
fn every_truncation_and_every_damage_is_seen() {
    let encoded = sample();
    let bytes = &encoded.bytes;
    let directory_end = encoded.runs[0].block_position as usize;
    for length in 0..directory_end {
        assert!(matches!(
            IndexDirectory::decode(&bytes[..length]),
            Err(FormatError::Truncated { .. })
        ));
    }
    for at in 0..directory_end {
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 0x10;
        assert!(IndexDirectory::decode(&damaged).is_err(), "byte {at}");
    }
    for at in directory_end..bytes.len() {
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 0x10;
        let damaged = EncodedIndex { bytes: damaged.into(), runs: encoded.runs.clone() };
        let bad = (0..encoded.runs.len()).filter(|run| block(&damaged, *run).is_err()).count();
        assert_eq!(bad, 1, "byte {at}");
    }
}

#[test]
fn a_block_of_another_run_is_refused() {
    let encoded = sample();
    let range = encoded.runs[1].block_range();
    let mut other = encoded.runs[1];
    other.digest = ExtentDigest::EMPTY;
    let bytes = encoded.bytes.slice(range.start as usize..range.end as usize);
    assert!(matches!(
        IndexBlock::decode(&other, bytes.clone()),
        Err(FormatError::Inconsistent { .. })
    ));
    assert!(matches!(
        IndexBlock::decode(&encoded.runs[2], bytes.clone()),
        Err(FormatError::Truncated { .. })
    ));
    assert!(matches!(
        IndexBlock::decode(&encoded.runs[0], bytes),
        Err(FormatError::Inconsistent { .. })
    ));
}

#[test]
fn lying_counts_cost_nothing() {
    let mut bytes = sample().bytes.to_vec();
    bytes[60..64].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(IndexDirectory::decode(&bytes), Err(FormatError::Inconsistent { .. })));
    bytes[60..64].copy_from_slice(&80_000_000_u32.to_le_bytes());
    bytes[64..68].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(IndexDirectory::decode(&bytes), Err(FormatError::Truncated { .. })));
    fuzz_index_object(&bytes);
}

fn run() -> impl Strategy<Value = (u32, i64, Vec<ExtentFacts>)> {
    let extent = (any::<u32>(), 1_u32..5_000_000, 1_u32..1_000, any::<i64>(), 0..i32::MAX);
    (0_u32..4, 0_i64..1_000, prop::collection::vec(extent, 1..20)).prop_map(
        |(partition, gap, parts)| {
            let mut next = 0;
            let extents = parts
                .into_iter()
                .map(|(position, length, record_count, timestamp, epoch)| {
                    let base_offset = Offset(next);
                    next += i64::from(record_count);
                    ExtentFacts {
                        base_offset,
                        position: u64::from(position),
                        length,
                        record_count,
                        max_timestamp: TimestampMs(timestamp),
                        leader_epoch: LeaderEpoch(epoch),
                    }
                })
                .collect();
            (partition, gap, extents)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn what_is_built_is_read(runs in prop::collection::vec(run(), 0..12)) {
        let mut builder = IndexObjectBuilder::new(OBJECT, FILE);
        let mut ends = [0_i64; 4];
        let mut expected = Vec::new();
        for (partition, gap, mut extents) in runs {
            let begin = ends[partition as usize] + gap;
            extents.iter_mut().for_each(|extent| extent.base_offset.0 += begin);
            ends[partition as usize] = extents.last().unwrap().end_offset().0;
            builder.push(PartitionId(partition), &extents).unwrap();
            expected.push((partition, begin, extents));
        }
        expected.sort_by_key(|(partition, begin, _)| (*partition, *begin));
        let encoded = builder.finish().unwrap();
        fuzz_index_object(&encoded.bytes);
        let directory = IndexDirectory::decode(&encoded.bytes).unwrap();
        prop_assert_eq!(directory.runs.len(), expected.len());
        for (at, (partition, begin, extents)) in expected.iter().enumerate() {
            let run = directory.find(PartitionId(*partition), Offset(*begin));
            prop_assert_eq!(run, Some(&encoded.runs[at]));
            let block = block(&encoded, at).unwrap();
            prop_assert_eq!(&block.iter().collect::<Vec<_>>(), extents);
        }
    }
}
