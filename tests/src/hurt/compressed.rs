//! Batches that take long to decompress, among others: those of one producer keep their order, and
//! many bombs at once keep nobody waiting.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use bytes::Bytes;
use tidemill_base::ids::{ProducerEpoch, ProducerId};
use tidemill_base::{BaseSequence, ProducerFacts};
use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::{InitProducerIdRequest, produce::ProduceResponse};
use tidemill_records::{BatchBuilder, Codec, Compressor};

use super::attack::Attacked;
use crate::calls;
use crate::report::Report;
use crate::wire::Wire;

const TOPIC: &str = "compressed";
/// Requests that one producer has in flight.
const PIPELINED: i32 = 40;
/// Of every three of them, one is small.
const LARGE_BYTES: usize = 3 << 20;
/// Connections that send bombs at once.
const BOMBERS: usize = 32;
const BOMB_BYTES: usize = 65 << 20;
const PRODUCE_VERSION: i16 = 9;

/// All of them.
pub(super) fn run(attacked: &mut Attacked, report: &mut Report) -> Result<()> {
    let kafka = attacked.kafka();
    calls::create_topic(&mut Wire::connect(kafka)?, TOPIC, 1, &[])?;
    attacked.suffer("large and small in one pipeline", report, |_| pipeline(kafka));
    let bomb = batch(Codec::Zstd, &vec![0; BOMB_BYTES], None)?;
    attacked.suffer("32 bombs at once", report, |_| bombs(kafka, &bomb));
    Ok(())
}

fn batch(codec: Codec, value: &[u8], producer: Option<ProducerFacts>) -> Result<Bytes> {
    let mut builder = BatchBuilder::new(codec);
    if let Some(producer) = producer {
        builder = builder.producer(producer);
    }
    builder.append_value(calls::now(), None, Some(value))?;
    Ok(builder.finish(&mut Compressor::default())?)
}

/// An idempotent producer's batches, all sent before an answer is read: each is taken, in order.
fn pipeline(kafka: SocketAddr) -> Result<String> {
    let mut wire = Wire::connect(kafka)?;
    let request = InitProducerIdRequest {
        producer_id: -1,
        producer_epoch: -1,
        ..InitProducerIdRequest::default()
    };
    let granted = wire.call(&request, 4)?;
    ensure!(granted.error_code.is_ok(), "InitProducerId: {}", granted.error_code);
    let large = vec![0; LARGE_BYTES];
    for sequence in 0..PIPELINED {
        let producer = ProducerFacts {
            id: ProducerId(granted.producer_id),
            epoch: ProducerEpoch(granted.producer_epoch),
            base_sequence: BaseSequence(sequence),
            transaction: 0,
        };
        let value = if sequence % 3 == 0 { &large[..10] } else { &large[..] };
        let records = batch(Codec::Zstd, value, Some(producer))?;
        wire.send(&calls::produce_request(TOPIC, 0, Some(records)), PRODUCE_VERSION)?;
    }
    for sequence in 0..PIPELINED {
        let (_, response): (i32, ProduceResponse) = wire.receive(PRODUCE_VERSION)?;
        let answer = &response.responses[0].partition_responses[0];
        ensure!(answer.error_code.is_ok(), "sequence {sequence}: {}", answer.error_code);
        ensure!(answer.base_offset == i64::from(sequence), "sequence {sequence} is out of order");
    }
    Ok(format!("{PIPELINED} taken in order"))
}

/// Bombs from many connections, and the longest that another request took meanwhile.
fn bombs(kafka: SocketAddr, bomb: &Bytes) -> Result<String> {
    let ended = AtomicBool::new(false);
    let throw = || -> Result<()> {
        let mut wire = Wire::connect(kafka)?;
        wire.wait_for_answers(Duration::from_secs(60))?;
        let request = calls::produce_request(TOPIC, 0, Some(bomb.clone()));
        let code = calls::produce(&mut wire, &request)?.error_code;
        ensure!(code == ErrorCode::MESSAGE_TOO_LARGE, "answered {code}");
        Ok(())
    };
    let ask = || -> Result<Duration> {
        let (mut wire, mut longest) = (Wire::connect(kafka)?, Duration::ZERO);
        while !ended.load(Ordering::Relaxed) {
            let begun = Instant::now();
            calls::api_versions(&mut wire)?;
            longest = longest.max(begun.elapsed());
        }
        Ok(longest)
    };
    let panicked = |_| anyhow!("a connection's thread panicked");
    let longest = thread::scope(|scope| {
        let asking = scope.spawn(ask);
        let bombers: Vec<_> = (0..BOMBERS).map(|_| scope.spawn(throw)).collect();
        let thrown = bombers.into_iter().try_for_each(|bomber| bomber.join().map_err(panicked)?);
        ended.store(true, Ordering::Relaxed);
        let longest = asking.join().map_err(panicked)?;
        thrown.and(longest)
    })?;
    Ok(format!("refused; another request took {} ms at most meanwhile", longest.as_millis()))
}
