//! Goal: batches made by Apache Kafka's own classes are read, for every codec, and what this crate
//! builds stays the same bytes. The fixtures and how they were made: `fixtures/java/Fixtures.java`.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use bytes::Bytes;
use tidemill_base::{BaseSequence, Offset, ProducerEpoch, ProducerFacts, ProducerId, TimestampMs};
use tidemill_records::{
    AdmissionLimits, Batch, BatchBuilder, Codec, Compressor, DecompressLimits, Decompressor,
    HeaderView, NewRecord, Records, batches, validate_header, validate_records,
};

const PRODUCER: ProducerFacts = ProducerFacts {
    id: ProducerId(4321),
    epoch: ProducerEpoch(7),
    base_sequence: BaseSequence(99),
    transaction: 0,
};

fn fixture(codec: Codec) -> (Bytes, usize) {
    match codec {
        Codec::None => (Bytes::from_static(include_bytes!("../fixtures/java/none.bin")), 20),
        Codec::Gzip => (Bytes::from_static(include_bytes!("../fixtures/java/gzip.bin")), 200),
        Codec::Snappy => (Bytes::from_static(include_bytes!("../fixtures/java/snappy.bin")), 200),
        Codec::Lz4 => (Bytes::from_static(include_bytes!("../fixtures/java/lz4.bin")), 200),
        Codec::Zstd => (Bytes::from_static(include_bytes!("../fixtures/java/zstd.bin")), 200),
    }
}

struct Expected {
    timestamp: TimestampMs,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    header: Option<Vec<u8>>,
}

/// The record that `Fixtures.java` writes at `index`.
fn expected(index: usize) -> Expected {
    let value = format!("value-{index}-").repeat(index).into_bytes();
    Expected {
        timestamp: TimestampMs(1_700_000_000_000 + (index * 37 % 101) as i64),
        key: (index % 7 != 3).then(|| format!("key-{index}").into_bytes()),
        value: (index % 11 != 5).then_some(value),
        header: index.is_multiple_of(3).then(|| format!("v{index}").into_bytes()),
    }
}

fn headers(expected: &Expected) -> Vec<HeaderView<'_>> {
    expected.header.iter().fold(Vec::new(), |_, value| {
        vec![HeaderView { key: b"h", value: Some(value) }, HeaderView { key: b"n", value: None }]
    })
}

fn ours(codec: Codec, count: usize) -> Bytes {
    let mut builder = BatchBuilder::new(codec).producer(PRODUCER).placed_at(Offset(0), 5);
    for index in 0..count {
        let expected = expected(index);
        let record = NewRecord {
            timestamp: expected.timestamp,
            key: expected.key.as_deref(),
            value: expected.value.as_deref(),
            headers: &headers(&expected),
        };
        builder.append(&record).unwrap();
    }
    builder.finish(&mut Compressor::new()).unwrap()
}

#[test]
fn batches_of_kafkas_own_classes_are_read() {
    let limits = DecompressLimits::default();
    let mut decompressor = Decompressor::new();
    for codec in Codec::ALL {
        let (bytes, count) = fixture(codec);
        let batch = Batch::parse(bytes).unwrap();
        validate_header(&batch.view(), &AdmissionLimits { batch_bytes_max: 1 << 20 }).unwrap();
        assert_eq!(batch.header().attributes.codec(), Ok(codec));
        assert_eq!(batch.header().producer(), Some(PRODUCER));
        assert_eq!(batch.header().leader_epoch, 5);
        let facts = validate_records(&batch.view(), &mut decompressor, &limits).unwrap();
        assert_eq!(facts.record_count as usize, count);
        assert_eq!(facts.keyless_at, Some(3));
        assert_eq!(facts.max_timestamp, batch.header().max_timestamp);
        let records = Records::open(batch.view(), &mut decompressor, &limits).unwrap();
        for (index, record) in records.iter().enumerate() {
            let (record, expected) = (record.unwrap(), expected(index));
            assert_eq!(record.offset, Offset(index as i64));
            assert_eq!(record.timestamp, expected.timestamp);
            assert_eq!(record.key, expected.key.as_deref());
            assert_eq!(record.value, expected.value.as_deref());
            assert_eq!(record.headers.collect::<Vec<_>>(), headers(&expected));
        }
    }
}

#[test]
fn uncompressed_we_build_the_bytes_that_kafka_builds() {
    let (bytes, count) = fixture(Codec::None);
    assert_eq!(ours(Codec::None, count), bytes);
}

#[test]
fn all_fixtures_end_to_end_are_split_again() {
    let all: Vec<Bytes> = Codec::ALL.into_iter().map(|codec| fixture(codec).0).collect();
    let joined = Bytes::from(all.concat());
    let split: Vec<_> = batches(&joined).map(|batch| batch.unwrap().into_bytes()).collect();
    assert_eq!(split, all);
}

/// Writes what this crate builds where `TIDEMILL_FIXTURES_OUT` says, for `Fixtures.java read`.
#[test]
fn what_we_build_is_what_we_read() {
    let limits = DecompressLimits::default();
    let mut decompressor = Decompressor::new();
    let out = std::env::var_os("TIDEMILL_FIXTURES_OUT").map(std::path::PathBuf::from);
    for codec in Codec::ALL {
        let bytes = ours(codec, 200);
        let batch = Batch::parse(bytes.clone()).unwrap();
        let facts = validate_records(&batch.view(), &mut decompressor, &limits).unwrap();
        assert_eq!(facts.record_count, 200);
        if let Some(out) = &out {
            std::fs::write(out.join(format!("{codec}.bin")), &bytes).unwrap();
        }
    }
}
