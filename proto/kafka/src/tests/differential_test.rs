//! Every message in every version against the published `kafka-protocol` crate, in both directions,
//! with random values from a seed.
//!
//! Ours writes and theirs must read all of it, know every tag, and write the same bytes; what theirs
//! writes, ours must read as the message that it began with.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::{Decodable, Encodable};

use crate::api::{API_TABLE, ApiKey, for_each_api};
use crate::consumer_protocol::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};
use crate::header::{RequestHeader, encode_response_header};
use crate::message::{Message, sample};
use crate::messages::*;
use crate::reader::Reader;
use crate::tests::sample::{Sample, Sampler};
use crate::writer::Writer;

/// How many random messages each message and version is tried with.
const ROUNDS: u64 = 40;

/// The version from which the published crate knows Produce; below, the bytes are checked by hand.
const PRODUCE_THEIRS_MIN: i16 = 3;

fn ours_written<M: Message>(message: &M, version: i16) -> Bytes {
    let mut w = Writer::new();
    message.encode(&mut w, version);
    w.finish_body().unwrap()
}

fn compare<M, T>(version: i16)
where
    M: Message + Sample,
    T: Decodable + Encodable + std::fmt::Debug,
{
    for seed in 0..ROUNDS {
        let place = format!("{} version {version} seed {seed}", M::NAME);
        let message: M = sample(&mut Sampler::new(seed << 8 | version as u64), version);
        let ours = ours_written(&message, version);

        let mut left = ours.clone();
        let read = T::decode(&mut left, version).unwrap_or_else(|e| panic!("{place}: {e}"));
        assert!(left.is_empty(), "{place}: they leave {} bytes", left.len());
        let shown = format!("{read:?}").replace("unknown_tagged_fields: {}", "");
        assert!(!shown.contains("unknown_tagged_fields"), "{place}: they do not know a tag");

        let mut theirs = BytesMut::new();
        read.encode(&mut theirs, version).unwrap_or_else(|e| panic!("{place}: {e}"));
        assert_eq!(theirs, ours, "{place}");

        let mut r = Reader::new(theirs.freeze());
        assert_eq!(M::decode(&mut r, version).as_ref(), Ok(&message), "{place}");
        assert_eq!(r.expect_end(), Ok(()), "{place}");
    }
}

#[test]
fn every_message_of_every_version_is_the_same_in_both_codecs() {
    macro_rules! compare_all {
        ($($api:ident = $number:literal, $request:ident => $response:ident;)*) => {$(
            for version in $request::VERSIONS {
                if ApiKey::$api == ApiKey::Produce && version < PRODUCE_THEIRS_MIN {
                    continue;
                }
                compare::<$request, theirs::$request>(version);
                compare::<$response, theirs::$response>(version);
            }
        )*};
    }
    for_each_api!(compare_all);
}

#[test]
fn the_consumer_protocol_is_the_same_in_both_codecs() {
    for version in ConsumerProtocolSubscription::VERSIONS {
        compare::<ConsumerProtocolSubscription, theirs::ConsumerProtocolSubscription>(version);
        compare::<ConsumerProtocolAssignment, theirs::ConsumerProtocolAssignment>(version);
    }
}

#[test]
fn versions_served_are_those_of_the_published_crate() {
    macro_rules! check {
        ($($api:ident = $number:literal, $request:ident => $response:ident;)*) => {$({
            assert_eq!(theirs::ApiKey::try_from($number), Ok(theirs::ApiKey::$api));
            let valid = <theirs::$request as kafka_protocol::protocol::Message>::VERSIONS;
            let min = if ApiKey::$api == ApiKey::Produce { 0 } else { valid.min };
            assert_eq!($request::VERSIONS, min..=valid.max, stringify!($api));
        })*};
    }
    for_each_api!(check);
}

#[test]
fn headers_of_every_version_are_the_same_in_both_codecs() {
    for range in API_TABLE {
        let api = theirs::ApiKey::try_from(range.api.number()).unwrap();
        for version in range.versions() {
            let place = format!("{} version {version}", range.name);
            let header = RequestHeader {
                api_key: range.api.number(),
                api_version: version,
                correlation_id: 77,
                client_id: (version % 2 == 0).then(|| "client".into()),
            };
            let mut w = Writer::new();
            header.encode(&mut w);
            let ours = w.finish_body().unwrap();
            let header_version = api.request_header_version(version);
            let read = theirs::RequestHeader::decode(&mut ours.clone(), header_version).unwrap();
            let mut theirs = BytesMut::new();
            read.encode(&mut theirs, header_version).unwrap();
            assert_eq!(theirs, ours, "{place}");
            let decoded = RequestHeader::decode(&mut Reader::new(ours));
            assert_eq!(decoded, Ok(header), "{place}");

            let mut w = Writer::new();
            encode_response_header(&mut w, 78, range.api, version);
            let ours = w.finish_body().unwrap();
            let mut theirs = BytesMut::new();
            theirs::ResponseHeader::default()
                .with_correlation_id(78)
                .encode(&mut theirs, api.response_header_version(version))
                .unwrap();
            assert_eq!(theirs, ours, "{place}");
        }
    }
}

#[test]
fn unknown_tagged_fields_from_a_newer_peer_are_skipped_at_every_depth() {
    let tag = || (4000, Bytes::from_static(b"from the future"));
    let mut partition = theirs::produce_request::PartitionProduceData::default()
        .with_index(4)
        .with_records(Some(Bytes::from_static(b"batch")));
    partition.unknown_tagged_fields.extend([tag(), (5, Bytes::new())]);
    let mut topic = theirs::produce_request::TopicProduceData::default()
        .with_partition_data(vec![partition.clone(), partition]);
    topic.unknown_tagged_fields.extend([tag()]);
    let mut request = theirs::ProduceRequest::default().with_acks(1).with_topic_data(vec![topic]);
    request.unknown_tagged_fields.extend([tag()]);

    let mut bytes = BytesMut::new();
    request.encode(&mut bytes, 13).unwrap();
    let mut r = Reader::new(bytes.freeze());
    let read = ProduceRequest::decode(&mut r, 13).unwrap();
    r.expect_end().unwrap();
    let partition =
        produce::PartitionProduceData { index: 4, records: Some(Bytes::from_static(b"batch")) };
    assert_eq!(read.topic_data[0].partition_data, [partition.clone(), partition]);
}
