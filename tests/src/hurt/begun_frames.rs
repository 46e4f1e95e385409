//! Frames of up to 64 KiB that are begun and left: what has come of them must not add up, and frames
//! that do come whole must come through.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use tidemill_kafka::{KString, encode_request};
use tidemill_records::{BatchBuilder, Codec, Compressor};

use super::attack::Attacked;
use crate::calls;
use crate::chance::Chance;
use crate::memory::mib;
use crate::report::Report;
use crate::wire::{Heard, Wire};

const CONNECTIONS: usize = 2_500;
/// What each announces, and how much of it comes.
const ANNOUNCED_BYTES: u32 = 60_000;
const SENT_BYTES: usize = 55_000;
/// What a server may take for them: 32 MiB for frames that wait for their rest, 1 KiB of each
/// connection, and what connections cost.
const GROWN_BYTES_MAX: u64 = 80 << 20;
const TOPIC: &str = "halves";

/// All of them.
pub(super) fn run(attacked: &mut Attacked, report: &mut Report) -> Result<()> {
    calls::create_topic(&mut Wire::connect(attacked.kafka())?, TOPIC, 1, &[])?;
    attacked.suffer("2,500 begun frames", report, begun_frames);
    Ok(())
}

fn begun_frames(attacked: &Attacked) -> Result<String> {
    let before = attacked.resident_bytes();
    let mut frame = ANNOUNCED_BYTES.to_be_bytes().to_vec();
    frame.resize(SENT_BYTES, 0);
    let (mut streams, mut peak) = (Vec::with_capacity(CONNECTIONS), before);
    for number in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(attacked.kafka()).context("connect")?;
        stream.set_nonblocking(true).context("prepare the connection")?;
        // What the server does not take in stays with the system, or is not taken at all.
        let _ = stream.write(&frame);
        streams.push(stream);
        if number % 50 == 0 {
            peak = peak.max(attacked.resident_bytes());
        }
    }
    for _ in 0..10 {
        peak = peak.max(attacked.resident_bytes());
        thread::sleep(Duration::from_millis(20));
    }
    let grown = peak.saturating_sub(before);
    ensure!(grown <= GROWN_BYTES_MAX, "memory grew by {} MiB", mib(grown));
    in_pieces(attacked.kafka())?;
    Ok(format!("memory grew by {} MiB, a frame in pieces came through", mib(grown)))
}

/// A good request of about the same size, in pieces.
fn in_pieces(kafka: SocketAddr) -> Result<()> {
    let mut value = vec![0; SENT_BYTES];
    Chance::new(12).fill(&mut value);
    let mut builder = BatchBuilder::new(Codec::None);
    builder.append_value(calls::now(), None, Some(&value))?;
    let batch: Bytes = builder.finish(&mut Compressor::default())?;
    let request = calls::produce_request(TOPIC, 0, Some(batch));
    let parts = encode_request(1, Some(&KString::from("pieces")), &request, 9)?.to_bytes();
    let mut wire = Wire::connect(kafka)?;
    for piece in parts.chunks(20_000) {
        wire.send_bytes(piece).context("send a piece")?;
        thread::sleep(Duration::from_millis(5));
    }
    ensure!(matches!(wire.hear()?, Heard::Frame(_)), "the frame in pieces was not answered");
    Ok(())
}
