//! Crowds: many connections that do nothing, that stop in the middle of a frame, that drip, that never
//! read their answers.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use bytes::Bytes;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tidemill_kafka::{KString, encode_request};
use tidemill_records::{BatchBuilder, Codec, Compressor};

use super::attack::Attacked;
use crate::calls;
use crate::chance::Chance;
use crate::memory::mib;
use crate::report::Report;
use crate::wire::{Heard, Wire};

const IDLE: usize = 10_000;
/// Descriptors for everything else of this process.
const OTHER_DESCRIPTORS: u64 = 500;
const HALVES: usize = 1_000;
/// What each half frame announces, and how much of it comes.
const ANNOUNCED_BYTES: usize = 1 << 20;
const SENT_BYTES: usize = 512 << 10;
const DRIPPING: usize = 300;
const SLOW_READERS: usize = 60;
const SLOW_FETCHES: usize = 60;
/// So often that the answers are more than systems buffer for a connection (about 4 MiB).
const SLOW_QUESTIONS: i32 = 100_000;
/// What slow readers ask for.
const BACKLOG_BYTES: usize = 48 << 20;
const BATCH_BYTES: usize = 256 << 10;
/// How long stalled connections are watched (kafka.stall_timeout_ms is 3 s here).
const WATCHED: Duration = Duration::from_secs(8);
/// How long it may take to read what the system buffered for connections that were closed.
const READ_OUT: Duration = Duration::from_secs(2);
/// Frames of this size, so many at once, are more than the memory for requests.
const LARGE_FRAME_BYTES: usize = 60 << 20;
const LARGE_FRAMES: usize = 4;
const TOPIC: &str = "backlog";

/// All of them.
pub(super) fn run(attacked: &mut Attacked, report: &mut Report) -> Result<()> {
    let kafka = attacked.kafka();
    let name = "10,000 idle connections";
    match descriptors() {
        Some(allowed) if allowed < IDLE as u64 + OTHER_DESCRIPTORS => {
            report.skip(name, format_args!("only {allowed} file descriptors are allowed"));
        }
        _ => attacked.suffer(name, report, idle),
    }
    attacked.suffer("1,000 half frames", report, half_frames);
    attacked.suffer("large frames at once", report, |_| large_frames(kafka));
    attacked.suffer("dripping frames", report, |_| dripping(kafka));
    fill_backlog(kafka)?;
    attacked.suffer("slow readers of fetches", report, slow_readers);
    attacked.suffer("slow readers of metadata", report, |_| slow_askers(kafka));
    attacked.suffer("connections that come and go", report, |_| hasty(kafka));
    Ok(())
}

/// Raises this process's limit of descriptors as far as it may go, and tells it.
fn descriptors() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

fn idle(attacked: &Attacked) -> Result<String> {
    let before = attacked.resident_bytes();
    let mut connections = Vec::with_capacity(IDLE);
    for number in 0..IDLE {
        let wire = Wire::connect(attacked.kafka());
        connections.push(wire.with_context(|| format!("connection {number}"))?);
    }
    for wire in connections.iter_mut().step_by(100) {
        calls::api_versions(wire).context("one of the idle ones")?;
    }
    let grown = attacked.resident_bytes().saturating_sub(before);
    Ok(format!(
        "open, a hundred of them answered, memory grew by {} MiB, {} bytes each",
        mib(grown),
        grown / IDLE as u64
    ))
}

fn half_frames(attacked: &Attacked) -> Result<String> {
    let before = attacked.resident_bytes();
    let mut frame = (ANNOUNCED_BYTES as u32).to_be_bytes().to_vec();
    // A produce request's header, then noise.
    frame.extend(b"\0\0\0\x09\0\0\0\x01\xff\xff\0");
    frame.resize(SENT_BYTES, 0);
    Chance::new(9).fill(&mut frame[15..]);
    let mut sent = 0;
    let mut streams = Vec::with_capacity(HALVES);
    for _ in 0..HALVES {
        let mut stream = TcpStream::connect(attacked.kafka()).context("connect")?;
        stream.set_nonblocking(true).context("prepare the connection")?;
        sent += push(&mut stream, &frame);
        streams.push(stream);
    }
    let grown = attacked.resident_bytes().saturating_sub(before);
    let closed = wait_closed(&mut streams, WATCHED);
    ensure!(closed > 0, "none was closed within {WATCHED:?}");
    Ok(format!(
        "{} MiB sent, memory grew by {} MiB, {closed} closed within {WATCHED:?}",
        sent >> 20,
        mib(grown)
    ))
}

/// Sends as much as the other side takes within a moment.
fn push(stream: &mut TcpStream, bytes: &[u8]) -> usize {
    let (mut sent, mut refused) = (0, 0);
    while sent < bytes.len() && refused < 20 {
        match stream.write(&bytes[sent..]) {
            Ok(written) => sent += written,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                refused += 1;
                thread::sleep(Duration::from_micros(200));
            }
            Err(_) => break,
        }
    }
    sent
}

/// How many of these, none of which was read from before, the other side has closed.
fn wait_closed(streams: &mut Vec<TcpStream>, watched: Duration) -> usize {
    let all = streams.len();
    let begun = Instant::now();
    let mut buffer = vec![0; 64 << 10];
    while !streams.is_empty() && begun.elapsed() < watched {
        streams.retain_mut(|stream| {
            loop {
                match stream.read(&mut buffer) {
                    Ok(0) => return false,
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                    Err(_) => return false,
                }
            }
        });
        thread::sleep(Duration::from_millis(20));
    }
    all - streams.len()
}

/// Whole frames that together exceed the memory for requests: all must come to their end.
fn large_frames(kafka: SocketAddr) -> Result<String> {
    let send = || -> Result<()> {
        let mut wire = Wire::connect(kafka)?;
        wire.wait_for_answers(Duration::from_secs(60))?;
        wire.send_bytes(&(LARGE_FRAME_BYTES as u32).to_be_bytes())?;
        // A produce request's header, then nothing that makes sense: malformed.
        wire.send_bytes(b"\0\0\0\x09\0\0\0\x01\xff\xff\0")?;
        let chunk = vec![0xff; 1 << 20];
        let mut left = LARGE_FRAME_BYTES - 11;
        while left > 0 {
            let step = left.min(chunk.len());
            wire.send_bytes(&chunk[..step]).context("send the frame")?;
            left -= step;
        }
        ensure!(wire.hear()? == Heard::Closed, "a malformed frame was not closed");
        Ok(())
    };
    thread::scope(|scope| {
        let senders: Vec<_> = (0..LARGE_FRAMES).map(|_| scope.spawn(send)).collect();
        senders.into_iter().try_for_each(|sender| {
            sender.join().map_err(|_| anyhow!("a connection's thread panicked"))?
        })
    })?;
    Ok(format!("{LARGE_FRAMES} of {} MiB", LARGE_FRAME_BYTES >> 20))
}

/// Frames of which a byte comes now and then: nobody is kept waiting by them.
fn dripping(kafka: SocketAddr) -> Result<String> {
    let mut streams = Vec::with_capacity(DRIPPING);
    for _ in 0..DRIPPING {
        let mut stream = TcpStream::connect(kafka).context("connect")?;
        stream.write_all(&60_000_u32.to_be_bytes()).context("begin a frame")?;
        streams.push(stream);
    }
    let mut lost = 0;
    for _ in 0..20 {
        for stream in &mut streams {
            lost += usize::from(stream.write_all(b"x").is_err());
        }
        thread::sleep(Duration::from_millis(100));
    }
    calls::api_versions(&mut Wire::connect(kafka)?)?;
    Ok(format!("{DRIPPING} connections dripped for 2 s, {lost} drops refused"))
}

fn fill_backlog(kafka: SocketAddr) -> Result<()> {
    let mut wire = Wire::connect(kafka)?;
    calls::create_topic(&mut wire, TOPIC, 1, &[])?;
    let mut value = vec![0; BATCH_BYTES];
    Chance::new(10).fill(&mut value);
    let mut builder = BatchBuilder::new(Codec::None);
    builder.append_value(calls::now(), None, Some(&value))?;
    let batch = builder.finish(&mut Compressor::default())?;
    for _ in 0..BACKLOG_BYTES / BATCH_BYTES {
        let request = calls::produce_request(TOPIC, 0, Some(batch.clone()));
        let answer = calls::produce(&mut wire, &request)?;
        ensure!(answer.error_code.is_ok(), "fill the backlog: {}", answer.error_code);
    }
    Ok(())
}

/// Fetches of megabytes, many on each connection, whose answers nobody reads.
fn slow_readers(attacked: &Attacked) -> Result<String> {
    let before = attacked.resident_bytes();
    let mut requests = Vec::new();
    for number in 0..SLOW_FETCHES {
        let offset = (number * 3 % (BACKLOG_BYTES / BATCH_BYTES)) as i64;
        let request = calls::fetch_request(TOPIC, 0, offset, 4 << 20);
        let client_id = KString::from("slow");
        let parts =
            encode_request(number as i32, Some(&client_id), &request, calls::FETCH_VERSION)?;
        requests.extend_from_slice(&parts.to_bytes());
    }
    let (peak, closed) =
        never_read(attacked.kafka(), &Bytes::from(requests), || attacked.resident_bytes())?;
    let grown = peak.saturating_sub(before);
    Ok(format!(
        "{SLOW_READERS} connections asked for {} MiB, memory grew by {} MiB, {closed} closed",
        SLOW_READERS * SLOW_FETCHES * 4,
        mib(grown)
    ))
}

/// Metadata of all topics, asked many times on each connection.
fn slow_askers(kafka: SocketAddr) -> Result<String> {
    use tidemill_kafka::messages::metadata::MetadataRequest;
    let mut requests = Vec::new();
    for number in 0..SLOW_QUESTIONS {
        let request = MetadataRequest { topics: None, ..Default::default() };
        requests.extend_from_slice(&encode_request(number, None, &request, 9)?.to_bytes());
    }
    let (_, closed) = never_read(kafka, &Bytes::from(requests), || 0)?;
    Ok(format!("{SLOW_READERS} connections asked {SLOW_QUESTIONS} times, {closed} closed"))
}

/// Sends `requests` on many connections and reads nothing. Answers the most memory that `resident` told
/// meanwhile, and how many connections were closed for it: those whose answers did not fit into what
/// the system buffers.
fn never_read(
    kafka: SocketAddr,
    requests: &Bytes,
    resident: impl Fn() -> u64,
) -> Result<(u64, usize)> {
    let mut streams = Vec::with_capacity(SLOW_READERS);
    for _ in 0..SLOW_READERS {
        let mut stream = TcpStream::connect(kafka).context("connect")?;
        stream.set_nonblocking(true).context("prepare the connection")?;
        push(&mut stream, requests);
        streams.push(stream);
    }
    let (begun, mut peak) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(6) {
        peak = peak.max(resident());
        thread::sleep(Duration::from_millis(50));
    }
    // What was sent is in the buffers of the system; the end comes behind it. Those that were not closed
    // are served on, since they are read from now.
    let closed = wait_closed(&mut streams, READ_OUT);
    ensure!(closed > 0, "no connection was closed, though none was read from");
    Ok((peak, closed))
}

fn hasty(kafka: SocketAddr) -> Result<String> {
    let mut chance = Chance::new(11);
    for _ in 0..2_000 {
        let mut stream = TcpStream::connect(kafka).context("connect")?;
        let mut bytes = vec![0; chance.below(12)];
        chance.fill(&mut bytes);
        // It may be closed already.
        let _ = stream.write_all(&bytes);
    }
    Ok("2,000 connections".to_owned())
}
