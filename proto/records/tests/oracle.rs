//! Goal: this crate and the published `kafka-protocol` crate read each other's batches, for every
//! codec. Method: random records, encoded by one and decoded by the other.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use bytes::{Bytes, BytesMut};
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::protocol::StrBytes;
use kafka_protocol::records as oracle;
use proptest::prelude::*;
use tidemill_base::{BaseSequence, ProducerEpoch, ProducerFacts, ProducerId, TimestampMs};
use tidemill_records::{
    AdmissionLimits, Batch, BatchBuilder, Codec, Compressor, DecompressLimits, Decompressor,
    HeaderView, NewRecord, Records, validate_header, validate_records,
};

const ADMISSION: AdmissionLimits = AdmissionLimits { batch_bytes_max: 8 * 1024 * 1024 };

#[derive(Clone, Debug)]
struct Sample {
    timestamp: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(String, Option<Vec<u8>>)>,
}

fn bytes() -> impl Strategy<Value = Option<Vec<u8>>> {
    let some = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        (any::<u8>(), 0_usize..5_000).prop_map(|(byte, length)| vec![byte; length]),
        prop::collection::vec(any::<u8>(), 0..3_000),
    ];
    prop::option::weighted(0.8, some)
}

fn sample() -> impl Strategy<Value = Sample> {
    // Names differ, because the oracle keeps headers in a map.
    let headers = prop::collection::btree_map("[a-z]{0,6}", bytes(), 0..4);
    (0_i64..2_000_000_000_000, bytes(), bytes(), headers).prop_map(
        |(timestamp, key, value, headers)| Sample {
            timestamp,
            key,
            value,
            headers: headers.into_iter().collect(),
        },
    )
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    prop::collection::vec(sample(), 1..30)
}

fn codec() -> impl Strategy<Value = Codec> {
    prop::sample::select(Codec::ALL.to_vec())
}

fn oracle_codec(codec: Codec) -> oracle::Compression {
    match codec {
        Codec::None => oracle::Compression::None,
        Codec::Gzip => oracle::Compression::Gzip,
        Codec::Snappy => oracle::Compression::Snappy,
        Codec::Lz4 => oracle::Compression::Lz4,
        Codec::Zstd => oracle::Compression::Zstd,
    }
}

fn oracle_record(index: usize, sample: &Sample) -> oracle::Record {
    let bytes = |bytes: &Option<Vec<u8>>| bytes.clone().map(Bytes::from);
    oracle::Record {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: 3,
        producer_id: 9,
        producer_epoch: 1,
        timestamp_type: oracle::TimestampType::Creation,
        offset: index as i64,
        sequence: 100 + index as i32,
        timestamp: sample.timestamp,
        key: bytes(&sample.key),
        value: bytes(&sample.value),
        headers: sample
            .headers
            .iter()
            .map(|(key, value)| (StrBytes::from_string(key.clone()), bytes(value)))
            .collect::<IndexMap<_, _>>(),
    }
}

fn ours(samples: &[Sample], codec: Codec) -> Bytes {
    let producer = ProducerFacts {
        id: ProducerId(9),
        epoch: ProducerEpoch(1),
        base_sequence: BaseSequence(100),
        transaction: 0,
    };
    let mut builder = BatchBuilder::new(codec).producer(producer);
    for sample in samples {
        let headers: Vec<_> = sample
            .headers
            .iter()
            .map(|(key, value)| HeaderView { key: key.as_bytes(), value: value.as_deref() })
            .collect();
        let record = NewRecord {
            timestamp: TimestampMs(sample.timestamp),
            key: sample.key.as_deref(),
            value: sample.value.as_deref(),
            headers: &headers,
        };
        assert!(builder.fits(&record, ADMISSION.batch_bytes_max as usize));
        builder.append(&record).unwrap();
    }
    builder.finish(&mut Compressor::new()).unwrap()
}

fn check(bytes: Bytes, samples: &[Sample], codec: Codec) {
    let batch = Batch::parse(bytes).unwrap();
    let limits = DecompressLimits::default();
    let mut decompressor = Decompressor::new();
    validate_header(&batch.view(), &ADMISSION).unwrap();
    assert_eq!(batch.header().attributes.codec(), Ok(codec));
    let facts = validate_records(&batch.view(), &mut decompressor, &limits).unwrap();
    assert_eq!(facts.record_count as usize, samples.len());
    let max = samples.iter().map(|sample| sample.timestamp).max();
    assert_eq!(Some(facts.max_timestamp.0), max);
    assert_eq!(batch.header().max_timestamp, facts.max_timestamp);
    let min = samples.iter().map(|sample| sample.timestamp).min();
    assert_eq!(Some(facts.min_timestamp.0), min);
    let keyless = samples.iter().position(|sample| sample.key.is_none());
    assert_eq!(facts.keyless_at.map(|at| at as usize), keyless);

    let records = Records::open(batch.view(), &mut decompressor, &limits).unwrap();
    let records: Vec<_> = records.iter().map(Result::unwrap).collect();
    assert_eq!(records.len(), samples.len());
    for (record, sample) in records.iter().zip(samples) {
        assert_eq!(record.timestamp.0, sample.timestamp);
        assert_eq!(record.key, sample.key.as_deref());
        assert_eq!(record.value, sample.value.as_deref());
        let headers: Vec<_> = record
            .headers
            .map(|header| {
                let key = String::from_utf8(header.key.to_vec()).unwrap();
                (key, header.value.map(<[u8]>::to_vec))
            })
            .collect();
        assert_eq!(headers, sample.headers);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn what_we_build_we_read(samples in samples(), codec in codec()) {
        check(ours(&samples, codec), &samples, codec);
    }

    #[test]
    fn what_the_oracle_builds_we_read(samples in samples(), codec in codec()) {
        let records: Vec<_> =
            samples.iter().enumerate().map(|(index, sample)| oracle_record(index, sample)).collect();
        let options =
            oracle::RecordEncodeOptions { version: 2, compression: oracle_codec(codec) };
        let mut out = BytesMut::new();
        oracle::RecordBatchEncoder::encode(&mut out, &records, &options).unwrap();
        check(out.freeze(), &samples, codec);
    }

    #[test]
    fn what_we_build_the_oracle_reads(samples in samples(), codec in codec()) {
        let mut bytes = ours(&samples, codec);
        let read = oracle::RecordBatchDecoder::decode(&mut bytes).unwrap();
        prop_assert_eq!(read.compression, oracle_codec(codec));
        prop_assert_eq!(read.records.len(), samples.len());
        for (index, (record, sample)) in read.records.iter().zip(&samples).enumerate() {
            let mut expected = oracle_record(index, sample);
            expected.partition_leader_epoch = -1;
            prop_assert_eq!(record, &expected);
        }
    }

    #[test]
    fn uncompressed_batches_are_the_same_bytes_as_the_oracles(samples in samples()) {
        // The oracle counts timestamps from the least one, we count from the first.
        let mut samples = samples;
        samples.sort_by_key(|sample| sample.timestamp);
        let records: Vec<_> =
            samples.iter().enumerate().map(|(index, sample)| oracle_record(index, sample)).collect();
        let options =
            oracle::RecordEncodeOptions { version: 2, compression: oracle::Compression::None };
        let mut out = BytesMut::new();
        oracle::RecordBatchEncoder::encode(&mut out, &records, &options).unwrap();
        let ours = ours(&samples, Codec::None);
        prop_assert_eq!(&ours[16..], &out[16..]);
    }
}
