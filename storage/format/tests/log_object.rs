//! Goal: log objects hold what they were built from, their bytes never change, and no other bytes
//! pass for one. Method: fixtures, random objects, damage.

use bytes::Bytes;
use proptest::prelude::*;
use tidemill_base::{
    BaseSequence, BatchFacts, BrokerEpoch, BrokerId, Incarnation, LaneId, LaneKey, LaneSequence,
    ObjectId, PartitionId, ProducerEpoch, ProducerFacts, ProducerId, TimestampMs,
};
use tidemill_storage_format::fuzz::fuzz_log_object;
use tidemill_storage_format::log_object::{FIXED_HEADER_BYTES, INDEX_ENTRY_BYTES};
use tidemill_storage_format::{
    EncodedObject, FormatError, LogObject, LogObjectBuilder, LogObjectHeader,
};

const ID: ObjectId = ObjectId {
    incarnation: Incarnation(2),
    lane: LaneKey { broker: BrokerId(7), epoch: BrokerEpoch(3), lane: LaneId(1) },
    sequence: LaneSequence(0x0102_0304_0506),
};

fn facts(partition: u32, records: u32) -> BatchFacts {
    BatchFacts {
        partition: PartitionId(partition),
        position: 0,
        length: 0,
        record_count: records,
        max_timestamp: TimestampMs(1_700_000_000_000 + i64::from(records)),
        producer: None,
        transactional: false,
    }
}

/// Three partitions, one with two batches that arrive apart.
fn sample() -> EncodedObject {
    let producer = ProducerFacts {
        id: ProducerId(9_000_000_000),
        epoch: ProducerEpoch(4),
        base_sequence: BaseSequence(17),
        transaction: 6,
    };
    let mut builder = LogObjectBuilder::new(ID);
    builder.push(facts(30, 1), Bytes::from_static(b"thirty, first"));
    builder.push(
        BatchFacts { producer: Some(producer), transactional: true, ..facts(10, 2) },
        Bytes::from_static(b"ten"),
    );
    builder.push(facts(30, 3), Bytes::from_static(b"thirty, second"));
    builder.push(facts(20, 4), Bytes::from_static(b"twenty"));
    assert_eq!(builder.object_bytes(), 44 + 4 * 44 + 36);
    builder.finish()
}

fn whole(encoded: &EncodedObject) -> Bytes {
    encoded.parts.concat().into()
}

#[test]
fn batches_are_grouped_by_partition_in_order_of_arrival() {
    let encoded = sample();
    let order: Vec<_> = encoded.facts.iter().map(|batch| batch.partition.0).collect();
    assert_eq!(order, [30, 30, 10, 20]);
    let object = LogObject::decode(whole(&encoded)).unwrap();
    assert_eq!(object.header().id, ID);
    assert_eq!(object.header().facts, encoded.facts);
    let bodies: Vec<_> = object.batches().map(|(_, bytes)| bytes).collect();
    assert_eq!(bodies, encoded.bodies);
    assert_eq!(bodies[1], "thirty, second");
}

#[test]
fn batches_are_not_copied() {
    let body = Bytes::from(vec![7; 1_000]);
    let mut builder = LogObjectBuilder::new(ID);
    builder.push(facts(1, 1), body.clone());
    assert_eq!(builder.finish().parts[1].as_ptr(), body.as_ptr());
}

#[test]
fn a_head_of_its_own_replaces_the_first_bytes_and_nothing_else() {
    let (small, large) = (Bytes::from(vec![7; 100]), Bytes::from(vec![8; 1_000]));
    let mut builder = LogObjectBuilder::new(ID);
    builder.push_with_head(facts(1, 1), [1; 16], large.clone());
    builder.push_with_head(facts(1, 1), [2; 16], small.clone());
    builder.push_with_head(facts(1, 1), [3; 16], Bytes::from_static(b"short"));
    builder.push(facts(1, 1), large.clone());
    let encoded = builder.finish();
    assert_eq!(encoded.bodies[1], small);
    let object = LogObject::decode(whole(&encoded)).unwrap();
    let bodies: Vec<_> = object.batches().map(|(_, bytes)| bytes).collect();
    assert_eq!((&bodies[0][..16], &bodies[0][16..]), (&[1; 16][..], &large[16..]));
    assert_eq!((&bodies[1][..16], &bodies[1][16..]), (&[2; 16][..], &small[16..]));
    assert_eq!((&bodies[2], &bodies[3]), (&Bytes::from_static(b"short"), &large));
    // The rest of a large batch is shared.
    assert!(encoded.parts.iter().any(|part| part.as_ptr() == large[16..].as_ptr()));
}

#[test]
fn the_bytes_never_change() {
    let fixture = include_bytes!("../fixtures/log-object-v1.bin");
    assert_eq!(whole(&sample()), fixture[..]);
    let object = LogObject::decode(Bytes::from_static(fixture)).unwrap();
    assert_eq!(object.header().facts, sample().facts);
}

#[test]
fn the_header_can_be_read_without_the_batches() {
    let encoded = sample();
    let needed = LogObjectHeader::bytes_needed(&encoded.parts[0][..FIXED_HEADER_BYTES]).unwrap();
    assert_eq!(needed as usize, FIXED_HEADER_BYTES + 4 * INDEX_ENTRY_BYTES);
    let header = LogObjectHeader::decode(&encoded.parts[0]).unwrap();
    assert_eq!((header.length, header.facts), (encoded.length, encoded.facts));
}

#[test]
fn an_object_without_batches_is_one() {
    let encoded = LogObjectBuilder::new(ID).finish();
    assert_eq!(LogObject::decode(whole(&encoded)).unwrap().header().facts, []);
}

#[test]
fn every_truncation_and_every_damage_to_the_header_is_seen() {
    let bytes = whole(&sample());
    for length in 0..bytes.len() {
        let cut = LogObject::decode(bytes.slice(..length));
        assert!(matches!(cut, Err(FormatError::Truncated { .. })), "{length}: {cut:?}");
    }
    let header_bytes = sample().parts[0].len();
    for at in 0..header_bytes {
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 0x10;
        assert!(LogObject::decode(damaged.into()).is_err(), "byte {at}");
    }
    let longer = Bytes::from([&bytes[..], b"x"].concat());
    assert!(matches!(LogObject::decode(longer), Err(FormatError::Inconsistent { .. })));
}

#[test]
fn what_is_no_log_object_is_told_so() {
    let mut other = whole(&sample()).to_vec();
    other[4] = 2;
    assert_eq!(
        LogObject::decode(other.clone().into()),
        Err(FormatError::UnsupportedVersion { version: 2 })
    );
    other[0] = b'X';
    assert!(matches!(LogObject::decode(other.into()), Err(FormatError::WrongMagic { .. })));
}

#[test]
fn a_lying_batch_count_costs_nothing() {
    let mut bytes = whole(&sample()).to_vec();
    bytes[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(LogObjectHeader::decode(&bytes), Err(FormatError::Inconsistent { .. })));
    bytes[36..40].copy_from_slice(&u32::MAX.to_le_bytes());
    bytes[32..36].copy_from_slice(&90_000_000_u32.to_le_bytes());
    assert!(matches!(LogObjectHeader::decode(&bytes), Err(FormatError::Truncated { .. })));
    fuzz_log_object(&bytes);
}

/// Sets bytes in the fixture's header and makes the checksum right.
fn forged(edits: &[(usize, u8)]) -> Result<LogObjectHeader, FormatError> {
    let mut bytes = sample().parts[0].to_vec();
    for (at, byte) in edits {
        bytes[*at] = *byte;
    }
    let before = crc32c::crc32c(&bytes[..40]);
    let crc = crc32c::crc32c_append(before, &bytes[44..]);
    bytes[40..44].copy_from_slice(&crc.to_le_bytes());
    LogObjectHeader::decode(&bytes)
}

#[test]
fn forged_indexes_are_refused() {
    forged(&[]).unwrap();
    for (what, edit) in [
        ("a gap", (44 + 4, 0)),
        ("an empty batch", (44 + 8, 0)),
        ("no records", (44 + 12, 0)),
        ("a batch too long", (44 + 9, 1)),
        ("a partition apart", (44 + 3 * 44, 30)),
        ("an unknown flag", (44 + 42, 2)),
        ("half a producer", (44 + 24, 5)),
        ("a reserved field", (6, 1)),
    ] {
        let refused = forged(&[edit]);
        assert!(matches!(refused, Err(FormatError::Inconsistent { .. })), "{what}: {refused:?}");
    }
}

fn batch() -> impl Strategy<Value = (BatchFacts, Vec<u8>)> {
    let producer = (0..i64::MAX, 0..i16::MAX, -1..i32::MAX, any::<u32>()).prop_map(
        |(id, epoch, base_sequence, transaction)| ProducerFacts {
            id: ProducerId(id),
            epoch: ProducerEpoch(epoch),
            base_sequence: BaseSequence(base_sequence),
            transaction,
        },
    );
    (
        0_u32..5,
        1..u32::MAX,
        any::<i64>(),
        prop::option::of(producer),
        any::<bool>(),
        prop::collection::vec(any::<u8>(), 1..50),
    )
        .prop_map(
            |(partition, record_count, max_timestamp, producer, transactional, bytes)| {
                let facts = BatchFacts {
                    record_count,
                    max_timestamp: TimestampMs(max_timestamp),
                    producer,
                    transactional,
                    ..facts(partition, 1)
                };
                (facts, bytes)
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn what_is_built_is_read(batches in prop::collection::vec(batch(), 0..40)) {
        let mut builder = LogObjectBuilder::new(ID);
        for (facts, bytes) in &batches {
            builder.push(*facts, Bytes::copy_from_slice(bytes));
        }
        let expected_bytes = builder.object_bytes();
        let encoded = builder.finish();
        let bytes = whole(&encoded);
        prop_assert_eq!(bytes.len() as u64, expected_bytes);
        prop_assert_eq!(encoded.length as usize, bytes.len());
        fuzz_log_object(&bytes);
        let object = LogObject::decode(bytes).unwrap();
        for partition in 0..5 {
            let of = |facts: &BatchFacts| facts.partition == PartitionId(partition);
            let put: Vec<_> =
                batches.iter().filter(|(facts, _)| of(facts)).map(|(_, bytes)| &bytes[..]).collect();
            let got: Vec<_> =
                object.batches().filter(|(facts, _)| of(facts)).map(|(_, bytes)| bytes).collect();
            prop_assert_eq!(got, put);
        }
    }
}
