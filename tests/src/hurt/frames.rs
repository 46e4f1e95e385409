//! Hostile bytes on the socket: what is no frame, frames that lie, requests that nobody serves.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use tidemill_kafka::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use tidemill_kafka::messages::produce::ProduceResponse;
use tidemill_kafka::{API_TABLE, ApiKey, ErrorCode, decode_response, peek_correlation_id};

use super::attack::Attacked;
use crate::calls;
use crate::chance::Chance;
use crate::fuzz::frames::{fifteen_bytes, mutated_frame, request_frames};
use crate::report::Report;
use crate::wire::{Heard, Wire};

const GARBAGE_CONNECTIONS: u64 = 200;
const MUTATED_FRAMES: u64 = 3_000;
/// Prefixes of each request that are sent.
const PREFIXES_MAX: usize = 40;
/// The server has to say something by then.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A request that waits on purpose (a long poll, a group) is not waited for longer than this.
const WAITING: Duration = Duration::from_millis(500);

/// All of them.
pub(super) fn run(attacked: &mut Attacked, seed: u64, report: &mut Report) -> Result<()> {
    let kafka = attacked.kafka();
    let requests = request_frames()?;
    attacked.suffer("garbage", report, |_| garbage(kafka, seed));
    attacked.suffer("other protocols", report, |_| other_protocols(kafka));
    attacked.suffer("lengths of frames that lie", report, |_| lying_lengths(kafka));
    attacked.suffer("the frame of fifteen bytes", report, |_| {
        closes(kafka, &framed(&fifteen_bytes()?))?;
        Ok("closed".to_owned())
    });
    attacked.suffer("giant counts", report, |_| giant_counts(kafka, &requests));
    attacked.suffer("truncated frames", report, |_| truncated(kafka, &requests));
    attacked.suffer("unknown keys and versions", report, |_| unknown_apis(kafka));
    attacked.suffer("mutated requests", report, |_| mutated(kafka, seed));
    Ok(())
}

fn framed(frame: &[u8]) -> Vec<u8> {
    let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), frame].concat()
}

/// Sends bytes; the server must close without an answer.
fn closes(kafka: SocketAddr, bytes: &[u8]) -> Result<()> {
    let mut wire = Wire::connect(kafka)?;
    wire.wait_for_answers(TIMEOUT)?;
    // The server may close before all is sent.
    let _ = wire.send_bytes(bytes);
    match wire.hear()? {
        Heard::Closed => Ok(()),
        Heard::Frame(frame) => bail!("answered with {} bytes", frame.len()),
        Heard::Silence => bail!("not closed within {TIMEOUT:?}"),
    }
}

/// Sends bytes and ends this side; counts answers until the server closes, which it must.
fn closes_after_end(kafka: SocketAddr, bytes: &[u8]) -> Result<u64> {
    let mut wire = Wire::connect(kafka)?;
    wire.wait_for_answers(TIMEOUT)?;
    let _ = wire.send_bytes(bytes);
    wire.end();
    let mut answers = 0;
    loop {
        match wire.hear()? {
            Heard::Closed => return Ok(answers),
            Heard::Frame(_) => answers += 1,
            Heard::Silence => bail!("not closed within {TIMEOUT:?} after the end"),
        }
    }
}

fn garbage(kafka: SocketAddr, seed: u64) -> Result<String> {
    let mut answers = 0;
    for connection in 0..GARBAGE_CONNECTIONS {
        let mut chance = Chance::of(seed, connection);
        let mut bytes = vec![0; chance.between(1, 8192) as usize];
        chance.fill(&mut bytes);
        answers += closes_after_end(kafka, &bytes)?;
    }
    ensure!(answers == 0, "garbage was answered {answers} times");
    Ok(format!("{GARBAGE_CONNECTIONS} connections closed"))
}

fn other_protocols(kafka: SocketAddr) -> Result<String> {
    let words: [&[u8]; 4] = [
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"SSH-2.0-OpenSSH_9.6\r\n",
    ];
    for bytes in words {
        closes(kafka, bytes).with_context(|| format!("{}", bytes.escape_ascii()))?;
    }
    Ok(format!("{} protocols closed", words.len()))
}

fn lying_lengths(kafka: SocketAddr) -> Result<String> {
    let lengths = [-1, i32::MIN, i32::MAX, (64 << 20) + 1, 0x4000_0000];
    for length in lengths {
        closes(kafka, &length.to_be_bytes()).with_context(|| format!("length {length}"))?;
    }
    for length in 0..8_u32 {
        let frame = vec![0; length as usize];
        closes_after_end(kafka, &framed(&frame)).with_context(|| format!("length {length}"))?;
    }
    Ok(format!("{} lengths closed", lengths.len() + 8))
}

/// Requests that begin well and go on with counts and lengths as large as can be.
fn giant_counts(kafka: SocketAddr, requests: &[Vec<u8>]) -> Result<String> {
    const TAILS: [&[u8]; 4] = [
        b"\xff\xff\xff\xff\x0f\xff\xff\xff\xff\x0f\xff\xff\xff\xff\x0f\xff\xff\xff\xff\x0f",
        b"\x7f\xff\xff\xff\x7f\xff\xff\xff\x7f\xff\xff\xff\x7f\xff\xff\xff\x7f\xff\xff\xff",
        b"\x00\xff\xff\x00\x05\xdc\xff\xff\xff\xff\x0f\xff\xff\xff\xff\x0f\xff\xff\xff\xff",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    ];
    let (mut sent, mut answers) = (0, 0);
    for request in requests {
        // Key, version, correlation id, null client id, no tags.
        let head: Vec<u8> = request.iter().take(8).copied().chain([0xff, 0xff, 0]).collect();
        for tail in TAILS {
            sent += 1;
            answers += closes_after_end(kafka, &framed(&[&head, tail].concat()))?;
        }
    }
    Ok(format!("{sent} requests, {answers} could be answered, all connections closed"))
}

/// Every request cut short: with the length of the whole, and with a length that fits.
fn truncated(kafka: SocketAddr, requests: &[Vec<u8>]) -> Result<String> {
    let (mut sent, mut answers) = (0, 0);
    for request in requests {
        let whole = framed(request);
        let step = (whole.len() / PREFIXES_MAX).max(1);
        for cut in (0..whole.len()).step_by(step) {
            let answered = closes_after_end(kafka, &whole[..cut])?;
            ensure!(answered == 0, "a frame that never came whole was answered");
            if let Some(frame) = request.get(..cut) {
                answers += closes_after_end(kafka, &framed(frame))?;
            }
            sent += 2;
        }
    }
    Ok(format!("{sent} frames, {answers} could be answered, all connections closed"))
}

fn header(key: i16, version: i16, correlation_id: i32) -> Vec<u8> {
    let mut bytes = key.to_be_bytes().to_vec();
    bytes.extend(version.to_be_bytes());
    bytes.extend(correlation_id.to_be_bytes());
    bytes.extend(b"\xff\xff\0");
    bytes
}

fn unknown_apis(kafka: SocketAddr) -> Result<String> {
    let mut closed = 0;
    for key in [-1, i16::MIN, i16::MAX, 999, 4, 5, 6, 7] {
        if API_TABLE.iter().all(|range| range.api.number() != key) {
            closes(kafka, &framed(&header(key, 0, 1))).with_context(|| format!("key {key}"))?;
            closed += 1;
        }
    }
    for key in [ApiKey::Produce, ApiKey::Fetch, ApiKey::Metadata, ApiKey::JoinGroup] {
        for version in [-1, i16::MIN, i16::MAX, 99] {
            closes(kafka, &framed(&header(key.number(), version, 1)))
                .with_context(|| format!("{} version {version}", key.name()))?;
            closed += 1;
        }
    }
    // ApiVersions in any version tells what is served, in the form of version 0, and goes on.
    let mut wire = Wire::connect(kafka)?;
    for version in [99, i16::MAX, -1] {
        wire.send_frame(&header(ApiKey::ApiVersions.number(), version, 7))?;
        let response: ApiVersionsResponse = told(&mut wire, 7, 0)?;
        ensure!(response.error_code == ErrorCode::UNSUPPORTED_VERSION, "version {version}");
        ensure!(!response.api_keys.is_empty(), "version {version}: nothing is served");
    }
    calls::api_versions(&mut wire)?;
    // Produce 0 to 2 are listed for old clients, and refused in their own form.
    let request = calls::produce_request("healthy", 0, Some(Bytes::new()));
    for version in 0..=2 {
        let sent = wire.send(&request, version)?;
        let response: ProduceResponse = told(&mut wire, sent, version)?;
        let code = response.responses[0].partition_responses[0].error_code;
        ensure!(code == ErrorCode::UNSUPPORTED_VERSION, "produce {version}: {code}");
    }
    Ok(format!("{closed} closed, 6 answered UNSUPPORTED_VERSION"))
}

fn told<R: tidemill_kafka::Response>(wire: &mut Wire, id: i32, version: i16) -> Result<R> {
    let Heard::Frame(frame) = wire.hear()? else { bail!("no answer") };
    let (answered, response) = decode_response(frame, version)?;
    ensure!(answered == id, "request {id} was answered by {answered}");
    Ok(response)
}

/// Mutations of all requests, each followed by a harmless one: the connection is closed or goes on.
fn mutated(kafka: SocketAddr, seed: u64) -> Result<String> {
    const PROBE: i32 = 0x7469_6465;
    let (mut closed, mut went_on, mut waited) = (0, 0, 0);
    let mut wire = Wire::connect(kafka)?;
    for run in 0..MUTATED_FRAMES {
        wire.wait_for_answers(WAITING)?;
        let frame = mutated_frame(seed, run)?;
        let probe = header(ApiKey::ApiVersions.number(), 0, PROBE);
        let mut both = framed(&frame);
        both.extend(framed(&probe[..probe.len() - 1]));
        let _ = wire.send_bytes(&both);
        let is_open = loop {
            match wire.hear()? {
                Heard::Closed => {
                    closed += 1;
                    break false;
                }
                Heard::Silence => {
                    waited += 1;
                    break false;
                }
                Heard::Frame(answer) if peek_correlation_id(&answer) == Some(PROBE) => {
                    let request = ApiVersionsRequest::default();
                    let _: (i32, ApiVersionsResponse) = decode_response(answer, 0)
                        .with_context(|| format!("after {frame:02x?}, {request:?}"))?;
                    went_on += 1;
                    break true;
                }
                Heard::Frame(_) => {}
            }
        };
        if !is_open {
            wire = Wire::connect(kafka)?;
        }
    }
    ensure!(closed > 0 && went_on > 0, "{closed} closed, {went_on} went on: no mixture");
    Ok(format!("{MUTATED_FRAMES} requests: {closed} closed, {went_on} went on, {waited} waited"))
}
