//! Hostile batches in well-formed requests: each is refused with its code, and nothing is stored.

use std::net::SocketAddr;
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use bytes::Bytes;
use tidemill_base::ids::{ProducerEpoch, ProducerId};
use tidemill_base::{BaseSequence, ProducerFacts};
use tidemill_kafka::ErrorCode;
use tidemill_records::{BatchBuilder, Codec, Compressor};

use super::attack::Attacked;
use crate::calls;
use crate::chance::Chance;
use crate::memory::mib;
use crate::report::Report;
use crate::wire::Wire;

const TOPIC: &str = "batches";
/// More than a broker unpacks of any batch.
const BOMB_BYTES: usize = 65 << 20;
/// Connections that send bombs at once, and bombs of each.
const BOMBERS: usize = 4;
const BOMBS: usize = 8;

// Where the fields of a batch's header begin.
const LENGTH_AT: usize = 8;
const MAGIC_AT: usize = 16;
const CRC_AT: usize = 17;
const ATTRIBUTES_AT: usize = 21;
const LAST_OFFSET_DELTA_AT: usize = 23;
const COUNT_AT: usize = 57;
const RECORDS_AT: usize = 61;

/// A batch that must be refused.
struct Hostile {
    name: &'static str,
    records: Option<Bytes>,
    codes: &'static [ErrorCode],
}

const CORRUPT: &[ErrorCode] = &[ErrorCode::CORRUPT_MESSAGE];
const INVALID: &[ErrorCode] = &[ErrorCode::INVALID_RECORD];
const EITHER: &[ErrorCode] = &[ErrorCode::CORRUPT_MESSAGE, ErrorCode::INVALID_RECORD];
const TOO_LARGE: &[ErrorCode] = &[ErrorCode::MESSAGE_TOO_LARGE];
const OLD_FORMAT: &[ErrorCode] = &[ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT];
const PRODUCER: &[ErrorCode] = &[
    ErrorCode::INVALID_PRODUCER_EPOCH,
    ErrorCode::UNKNOWN_PRODUCER_ID,
    ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER,
];

/// All of them.
pub(super) fn run(attacked: &mut Attacked, report: &mut Report) -> Result<()> {
    let kafka = attacked.kafka();
    let mut wire = Wire::connect(kafka)?;
    calls::create_topic(&mut wire, TOPIC, 1, &[("max.message.bytes", "8388608")])?;
    let mut hostile = lying_headers()?;
    hostile.extend(lying_records()?);
    hostile.extend(damaged_codecs()?);
    for one in hostile {
        attacked.suffer(one.name, report, |_| refused(kafka, &one));
    }
    for (name, codec) in CODECS {
        let bomb = bomb(*codec)?;
        let name = format!("bomb of {name}");
        attacked.suffer(&name, report, |attacked| bombed(attacked, &bomb));
    }
    attacked.suffer("requests for nothing", report, |_| wrong_requests(kafka));
    attacked.suffer("nothing of it is stored", report, |_| {
        let request = calls::fetch_request(TOPIC, 0, 0, 1 << 20);
        let data = calls::fetch(&mut Wire::connect(kafka)?, &request)?;
        ensure!(data.error_code.is_ok(), "fetch: {}", data.error_code);
        ensure!(data.high_watermark == 1, "the high watermark is {}", data.high_watermark);
        Ok("only the good batch".to_owned())
    });
    Ok(())
}

const CODECS: &[(&str, Codec)] =
    &[("gzip", Codec::Gzip), ("snappy", Codec::Snappy), ("lz4", Codec::Lz4), ("zstd", Codec::Zstd)];

fn refused(kafka: SocketAddr, hostile: &Hostile) -> Result<String> {
    let mut wire = Wire::connect(kafka)?;
    let request = calls::produce_request(TOPIC, 0, hostile.records.clone());
    let answer = calls::produce(&mut wire, &request)?;
    ensure!(hostile.codes.contains(&answer.error_code), "answered {}", answer.error_code);
    // The connection is still good.
    calls::api_versions(&mut wire)?;
    Ok(format!("{}", answer.error_code))
}

/// A batch of three records that is as it should be.
fn good() -> Result<Vec<u8>> {
    build(Codec::None, &[b"one", b"two", b"three"], None)
}

fn build(codec: Codec, values: &[&[u8]], producer: Option<ProducerFacts>) -> Result<Vec<u8>> {
    let mut builder = BatchBuilder::new(codec);
    if let Some(producer) = producer {
        builder = builder.producer(producer);
    }
    for value in values {
        builder.append_value(calls::now(), None, Some(value))?;
    }
    Ok(builder.finish(&mut Compressor::default()).context("build a batch")?.into())
}

/// `batch` with bytes written over those at `at`, length and checksum made right again.
fn with(mut batch: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    batch[at..at + bytes.len()].copy_from_slice(bytes);
    sealed(batch)
}

fn sealed(mut batch: Vec<u8>) -> Vec<u8> {
    let length = (batch.len() - 12) as i32;
    batch[LENGTH_AT..LENGTH_AT + 4].copy_from_slice(&length.to_be_bytes());
    let crc = crc32c::crc32c(&batch[ATTRIBUTES_AT..]);
    batch[CRC_AT..ATTRIBUTES_AT].copy_from_slice(&crc.to_be_bytes());
    batch
}

fn hostile(name: &'static str, records: Vec<u8>, codes: &'static [ErrorCode]) -> Hostile {
    Hostile { name, records: Some(records.into()), codes }
}

fn lying_headers() -> Result<Vec<Hostile>> {
    let good = good()?;
    let mut wrong_crc = good.clone();
    wrong_crc[CRC_AT] ^= 1;
    let mut damaged = good.clone();
    damaged[RECORDS_AT + 2] ^= 1;
    let length = |length: i32| {
        let mut batch = good.clone();
        batch[LENGTH_AT..LENGTH_AT + 4].copy_from_slice(&length.to_be_bytes());
        batch
    };
    let attributes = |bits: u16| with(good.clone(), ATTRIBUTES_AT, &bits.to_be_bytes());
    let count = |count: i32| {
        let batch = with(good.clone(), COUNT_AT, &count.to_be_bytes());
        with(batch, LAST_OFFSET_DELTA_AT, &count.wrapping_sub(1).to_be_bytes())
    };
    let magic = |magic: u8| with(good.clone(), MAGIC_AT, &[magic]);
    Ok(vec![
        Hostile { name: "no batch (null)", records: None, codes: EITHER },
        hostile("no batch (empty)", Vec::new(), EITHER),
        hostile("wrong CRC", wrong_crc, CORRUPT),
        hostile("damaged record", damaged, CORRUPT),
        hostile("half a batch", good[..good.len() / 2].to_vec(), CORRUPT),
        hostile("half a header", good[..30].to_vec(), CORRUPT),
        hostile("negative batch length", length(-1), CORRUPT),
        hostile("giant batch length", length(i32::MAX), CORRUPT),
        hostile("two batches", good.repeat(2), EITHER),
        hostile("count of a million", count(1_000_000), INVALID),
        hostile("count of 2^31 - 1", count(i32::MAX), INVALID),
        hostile("negative count", count(-1), INVALID),
        hostile("count of zero", count(0), INVALID),
        hostile("count too small", count(2), INVALID),
        hostile(
            "last offset that lies",
            with(good.clone(), LAST_OFFSET_DELTA_AT, &[0, 0, 0, 9]),
            INVALID,
        ),
        hostile("magic 0", magic(0), OLD_FORMAT),
        hostile("magic 1", magic(1), OLD_FORMAT),
        hostile("magic 3", magic(3), OLD_FORMAT),
        hostile("unknown codec", attributes(7), &[ErrorCode::UNSUPPORTED_COMPRESSION_TYPE]),
        hostile("control batch of a client", attributes(0x20), INVALID),
        hostile(
            "transaction that is not open",
            attributes(0x10),
            &[ErrorCode::INVALID_TXN_STATE, ErrorCode::INVALID_RECORD],
        ),
        hostile("timestamp type of a client", attributes(0x08), &[ErrorCode::INVALID_TIMESTAMP]),
    ])
}

fn lying_records() -> Result<Vec<Hostile>> {
    let good = good()?;
    let giant = [0xff, 0xff, 0xff, 0xff, 0x0f];
    // The first record: its length, attributes, two deltas, key length, value length.
    let record = |at: usize| with(good.clone(), RECORDS_AT + at, &giant);
    let made_up = ProducerFacts {
        id: ProducerId(i64::MAX),
        epoch: ProducerEpoch(0),
        base_sequence: BaseSequence(0),
        transaction: 0,
    };
    let mut chance = Chance::new(7);
    let mut noise = vec![0; 9 << 20];
    chance.fill(&mut noise);
    Ok(vec![
        hostile("giant record length", record(0), INVALID),
        hostile("giant timestamp delta", record(2), INVALID),
        hostile("giant key length", record(4), INVALID),
        hostile("giant value length", record(5), INVALID),
        hostile("batch above max.message.bytes", build(Codec::None, &[&noise], None)?, TOO_LARGE),
        hostile("producer id of nobody", build(Codec::None, &[b"x"], Some(made_up))?, PRODUCER),
    ])
}

/// Noise and cut streams where compressed records are announced.
fn damaged_codecs() -> Result<Vec<Hostile>> {
    const NAMES: [[&str; 2]; 4] = [
        ["noise for gzip", "cut gzip"],
        ["noise for snappy", "cut snappy"],
        ["noise for lz4", "cut lz4"],
        ["noise for zstd", "cut zstd"],
    ];
    let mut chance = Chance::new(8);
    let mut all = Vec::new();
    for ([noise_name, cut_name], (_, codec)) in NAMES.into_iter().zip(CODECS) {
        let value = vec![b'v'; 4096];
        let whole = build(*codec, &[&value, &value], None)?;
        let mut noise = whole.clone();
        noise.resize(RECORDS_AT + 500, 0);
        chance.fill(&mut noise[RECORDS_AT..]);
        all.push(hostile(noise_name, sealed(noise), EITHER));
        let mut cut = whole;
        cut.truncate(cut.len() - 6);
        all.push(hostile(cut_name, sealed(cut), EITHER));
    }
    Ok(all)
}

fn bomb(codec: Codec) -> Result<Bytes> {
    Ok(build(codec, &[&vec![0; BOMB_BYTES]], None)?.into())
}

/// Many bombs from several connections at once.
fn bombed(attacked: &Attacked, bomb: &Bytes) -> Result<String> {
    let before = attacked.resident_bytes();
    let kafka = attacked.kafka();
    let throw = || -> Result<()> {
        let mut wire = Wire::connect(kafka)?;
        for _ in 0..BOMBS {
            let request = calls::produce_request(TOPIC, 0, Some(bomb.clone()));
            let code = calls::produce(&mut wire, &request)?.error_code;
            let codes = [ErrorCode::MESSAGE_TOO_LARGE, ErrorCode::INVALID_RECORD];
            ensure!(codes.contains(&code), "answered {code}");
        }
        Ok(())
    };
    thread::scope(|scope| {
        let bombers: Vec<_> = (0..BOMBERS).map(|_| scope.spawn(throw)).collect();
        bombers.into_iter().try_for_each(|bomber| {
            bomber.join().map_err(|_| anyhow!("a connection's thread panicked"))?
        })
    })?;
    let grown = attacked.resident_bytes().saturating_sub(before);
    let (kib, all) = (bomb.len() >> 10, BOMBERS * BOMBS);
    Ok(format!("{all} of {kib} KiB refused, memory grew by {} MiB", mib(grown)))
}

fn wrong_requests(kafka: SocketAddr) -> Result<String> {
    let mut wire = Wire::connect(kafka)?;
    let good = Bytes::from(build(Codec::None, &[b"good"], None)?);
    let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    for (topic, partition) in [(TOPIC, -1), (TOPIC, 1), (TOPIC, i32::MAX), ("no-such-topic", 0)] {
        let request = calls::produce_request(topic, partition, Some(good.clone()));
        let code = calls::produce(&mut wire, &request)?.error_code;
        ensure!(code == unknown, "{topic}-{partition}: {code}");
    }
    let mut request = calls::produce_request(TOPIC, 0, Some(good));
    request.acks = 5;
    let code = calls::produce(&mut wire, &request)?.error_code;
    ensure!(code == ErrorCode::INVALID_REQUIRED_ACKS, "acks 5: {code}");
    request.acks = -1;
    let answer = calls::produce(&mut wire, &request)?;
    ensure!(answer.error_code.is_ok(), "the good batch: {}", answer.error_code);
    for offset in [-1, 2, i64::MAX] {
        let request = calls::fetch_request(TOPIC, 0, offset, 1 << 20);
        let code = calls::fetch(&mut wire, &request)?.error_code;
        ensure!(code == ErrorCode::OFFSET_OUT_OF_RANGE, "fetch at {offset}: {code}");
    }
    Ok("8 refused by code, the good one taken".to_owned())
}
