//! One consumer connection: a fetch session over its share of the partitions.
//!
//! Positions only move by whole batches, and every batch must begin where the last one ended: a
//! broker that skips or repeats ends the run.

use std::os::fd::BorrowedFd;

use anyhow::{Context, bail};

use crate::driver::socket::FramedSocket;
use crate::wire::fetch::{
    FetchFrom, FetchSettings, FetchedBatch, FetchedPartition, Session, batches, put_request,
    walk_answer,
};

/// FETCH_SESSION_ID_NOT_FOUND and INVALID_FETCH_SESSION_EPOCH: begin a new session.
const SESSION_LOST: [i16; 2] = [70, 71];

/// Room in the buffer for the fields around an answer's records.
const ANSWER_OVERHEAD_BYTES: usize = 64 * 1024;

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
        /// The batch.
        batch: FetchedBatch,
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
        let inbound_bytes = usize::try_from(settings.bytes_max)? + ANSWER_OVERHEAD_BYTES;
        let positions = courses
            .iter()
            .map(|course| Position { next_offset: course.from, wraps_at: course.wraps_at })
            .collect();
        Ok(Self {
            socket: FramedSocket::connect(broker, inbound_bytes)?,
            settings,
            positions,
            first,
            stride,
            session: Session::default(),
            correlation_id: 0,
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

    /// Reads, tells `on_fetched` all that an answer holds, and fetches on once it is whole.
    pub fn read(
        &mut self,
        mut on_fetched: impl FnMut(Fetched) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (first, stride) = (self.first, self.stride);
        let Self { socket, positions, moved, session, correlation_id, .. } = self;
        let mut is_whole = false;
        socket.read(|frame| {
            is_whole = true;
            let mut outcome = Ok(());
            let answer = walk_answer(frame, |fetched| {
                let Ok(place) = usize::try_from((fetched.partition - first) / stride) else {
                    return;
                };
                if let (Some(position), true) = (positions.get_mut(place), outcome.is_ok()) {
                    outcome = advance(position, fetched, moved, &mut on_fetched);
                }
            })?;
            outcome?;
            anyhow::ensure!(answer.correlation_id == *correlation_id, "a fetch answered twice");
            if SESSION_LOST.contains(&answer.error_code) {
                *session = Session::default();
            } else if answer.error_code != 0 {
                bail!("fetch is refused with code {}", answer.error_code);
            } else {
                *session = Session { id: answer.session_id, epoch: session.epoch % i32::MAX + 1 };
            }
            Ok(())
        })?;
        if is_whole { self.fetch().context("fetch on") } else { Ok(()) }
    }
}

/// Moves a position over a partition's batches, and names it for the next request.
fn advance(
    position: &mut Position,
    fetched: FetchedPartition<'_>,
    moved: &mut Vec<FetchFrom>,
    on_fetched: &mut impl FnMut(Fetched) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let partition = fetched.partition;
    if fetched.error_code != 0 {
        moved.push(FetchFrom { partition, offset: position.next_offset });
        return on_fetched(Fetched::Error { code: fetched.error_code });
    }
    let before = position.next_offset;
    for batch in batches(fetched.records) {
        anyhow::ensure!(
            batch.base_offset == position.next_offset,
            "partition {partition}: asked for offset {}, got {}",
            position.next_offset,
            batch.base_offset
        );
        position.next_offset = batch.end_offset;
        on_fetched(Fetched::Batch { partition, batch })?;
        if position.wraps_at.is_some_and(|end| position.next_offset >= end) {
            position.next_offset = 0;
            break;
        }
    }
    if position.next_offset != before {
        moved.push(FetchFrom { partition, offset: position.next_offset });
    }
    Ok(())
}
