//! One consumer connection: a fetch session over its share of the partitions.
//!
//! Positions only move by whole batches, and every batch must begin where the last one ended: a
//! broker that skips or repeats ends the run.

use std::os::fd::BorrowedFd;

use anyhow::{Context, bail};

use crate::driver::socket::FramedSocket;
use crate::wire::answer::{AnswerReader, FetchAnswer, FetchedPartition, Next};
use crate::wire::fetch::{FetchFrom, FetchSettings, Session, put_request};

/// FETCH_SESSION_ID_NOT_FOUND and INVALID_FETCH_SESSION_EPOCH: begin a new session.
const SESSION_LOST: [i16; 2] = [70, 71];

/// The most bytes of an answer's fields read at once.
const TAKE_BYTES_MAX: usize = 4096;

/// A consumer connection.
#[derive(Debug)]
pub struct Consumer {
    socket: FramedSocket,
    settings: FetchSettings,
    /// Partition `first + i * stride` is at place `i`.
    positions: Vec<Position>,
    first: i32,
    stride: i32,
    session: Session,
    correlation_id: i32,
    reader: AnswerReader,
    request: Vec<u8>,
    /// How much of the request is written, if not all.
    written: Option<usize>,
    /// What the next request of the session names.
    moved: Vec<FetchFrom>,
}

#[derive(Clone, Copy, Debug)]
struct Position {
    next_offset: i64,
    /// Where it goes back to 0, if it does.
    wraps_at: Option<i64>,
}

/// Where a consumer begins, and where it begins anew.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// The first offset.
    pub from: i64,
    /// After this offset's predecessor it goes on from 0.
    pub wraps_at: Option<i64>,
}

/// What a consumer tells of one partition's part of an answer.
#[derive(Clone, Copy, Debug)]
pub enum Fetched {
    /// A batch arrived.
    Batch {
        /// Its partition.
        partition: i32,
        /// Its bytes.
        bytes: u64,
    },
    /// The broker refused the partition.
    Error {
        /// Kafka's error code.
        code: i16,
    },
}

impl Consumer {
    /// A consumer of the partitions `first`, `first + stride`, ..., one for each of `courses`.
    pub fn new(
        broker: std::net::SocketAddr,
        settings: FetchSettings,
        first: i32,
        stride: i32,
        courses: &[Course],
    ) -> anyhow::Result<Self> {
        let positions = courses
            .iter()
            .map(|course| Position { next_offset: course.from, wraps_at: course.wraps_at })
            .collect();
        Ok(Self {
            socket: FramedSocket::connect(broker, 0)?,
            settings,
            positions,
            first,
            stride,
            session: Session::default(),
            correlation_id: 0,
            reader: AnswerReader::default(),
            request: Vec::new(),
            written: None,
            moved: Vec::new(),
        })
    }

    /// The socket, for the poller.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd()
    }

    /// Whether a request is written in part: the socket's buffer is full.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.written.is_some()
    }

    /// Sends the next request of the session, or the first of a new one.
    pub fn fetch(&mut self) -> anyhow::Result<()> {
        if self.session.id == 0 {
            self.session.epoch = 0;
            self.moved.clear();
            let (first, stride) = (self.first, self.stride);
            self.moved.extend(self.positions.iter().zip(0..).map(|(position, place)| FetchFrom {
                partition: first + place * stride,
                offset: position.next_offset,
            }));
        }
        self.correlation_id = (self.correlation_id + 1) & 0x7FFF_FFFF;
        let Self { request, settings, session, correlation_id, moved, .. } = self;
        put_request(request, settings, *session, *correlation_id, moved);
        self.moved.clear();
        self.written = Some(0);
        self.write()
    }

    /// Writes on.
    pub fn write(&mut self) -> anyhow::Result<()> {
        if let Some(written) = self.written {
            let done = self.socket.write([&self.request, &[], &[]], written)?;
            self.written = (done < self.request.len()).then_some(done);
        }
        Ok(())
    }

    /// Reads what has arrived; once an answer is whole, tells `on_fetched` all that it holds and
    /// fetches on.
    pub fn read(
        &mut self,
        on_fetched: impl FnMut(Fetched) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut buffer = [0; TAKE_BYTES_MAX];
        loop {
            match self.reader.wanted()? {
                Next::Read(count) => {
                    let count = count.min(TAKE_BYTES_MAX);
                    let Some(bytes) = self.socket.take(&mut buffer[..count])? else {
                        return Ok(());
                    };
                    self.reader.take(&buffer[..bytes]);
                }
                Next::Skip(count) => {
                    let Some(bytes) = self.socket.discard(count)? else { return Ok(()) };
                    self.reader.skipped(bytes);
                }
                Next::Whole(answer) => {
                    self.on_answer(answer, on_fetched)?;
                    return self.fetch().context("fetch on");
                }
            }
        }
    }

    fn on_answer(
        &mut self,
        answer: FetchAnswer,
        mut on_fetched: impl FnMut(Fetched) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let parts = self.reader.finish();
        anyhow::ensure!(answer.correlation_id == self.correlation_id, "a fetch answered twice");
        for part in &parts {
            let Ok(place) = usize::try_from((part.partition - self.first) / self.stride) else {
                continue;
            };
            if let Some(position) = self.positions.get_mut(place) {
                advance(position, part, &mut self.moved, &mut on_fetched)?;
            }
        }
        self.reader.recycle(parts);
        if SESSION_LOST.contains(&answer.error_code) {
            self.session = Session::default();
        } else if answer.error_code != 0 {
            bail!("fetch is refused with code {}", answer.error_code);
        } else {
            let epoch = self.session.epoch % i32::MAX + 1;
            self.session = Session { id: answer.session_id, epoch };
        }
        Ok(())
    }
}

/// Moves a position over a partition's batches, and names it for the next request.
fn advance(
    position: &mut Position,
    part: &FetchedPartition,
    moved: &mut Vec<FetchFrom>,
    on_fetched: &mut impl FnMut(Fetched) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let FetchedPartition { partition, error_code, batches } = *part;
    if error_code != 0 {
        moved.push(FetchFrom { partition, offset: position.next_offset });
        return on_fetched(Fetched::Error { code: error_code });
    }
    if batches.count == 0 {
        return Ok(());
    }
    anyhow::ensure!(
        batches.base_offset == position.next_offset,
        "partition {partition}: asked for offset {}, got {}",
        position.next_offset,
        batches.base_offset
    );
    for _ in 0..batches.count {
        position.next_offset += batches.records;
        on_fetched(Fetched::Batch { partition, bytes: batches.bytes as u64 })?;
        if position.wraps_at.is_some_and(|end| position.next_offset >= end) {
            position.next_offset = 0;
            break;
        }
    }
    moved.push(FetchFrom { partition, offset: position.next_offset });
    Ok(())
}
