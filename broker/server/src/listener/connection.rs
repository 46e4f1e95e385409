//! One connection: frames in, answers out in the order of their requests.
//!
//! One task does both, so that an idle connection is cheap and a flush wakes it once. Requests are
//! pipelined: further frames are taken in while earlier ones wait, up to a limit. The answer at the
//! head is awaited; all answers that are ready behind it go out in the same write.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{BufMut, Bytes};
use tidemill_base::ports::BoxFuture;
use tidemill_kafka::Parts;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::Shared;
use super::frames::{Appetite, Frames, READ_BYTES_MAX};
use super::outbox::{Holding, Outbox};
use crate::budget::{Budget, Held};
use crate::service::{Dispatched, ServiceConnection};

/// An answer that is due, with the memory its request holds until it is sent.
struct Due {
    answer: Answer,
    held: Option<Held>,
}

/// A request whose fate is not known yet: nothing else is taken in before it is.
struct Pending {
    dispatched: BoxFuture<'static, Dispatched>,
    held: Held,
}

enum Answer {
    Now(Parts),
    Later(BoxFuture<'static, Parts>),
    Silent(BoxFuture<'static, ()>),
}

/// An answer that waits for the memory it takes until it is sent. No other is asked for before.
struct Unheld {
    answer: Parts,
    request: Option<Held>,
    memory: BoxFuture<'static, Held>,
}

/// Memory that must be granted before anything more is taken in.
struct Parked {
    memory: BoxFuture<'static, Held>,
    purpose: Purpose,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// The next frame: it is whole, or it is large and its memory is granted before it arrives.
    Frame,
    /// A begun frame that is not large, until it is whole.
    Partial,
}

/// While frames that arrive wait for memory, one that holds some must move within this time, and come
/// whole at [`CONTENDED_BYTES_PER_MS`] after that. It is looked at as often.
const CONTENDED_STALL: Duration = Duration::from_secs(1);
/// The same for frames that are not large: those that wait wait for all before them.
const CONTENDED_PARTIAL_STALL: Duration = Duration::from_millis(250);
/// 1 MiB a second.
const CONTENDED_BYTES_PER_MS: u64 = 1049;
/// While answers wait for memory, a client must take what is sent to it at this rate, but for the first
/// [`CONTENDED_STALL`]: 64 KiB a second.
const CONTENDED_ANSWER_BYTES_PER_MS: u64 = 66;
/// What an answer takes beside its bytes, about.
const ANSWER_OVERHEAD_BYTES: usize = 512;
/// The most that one read can leave behind of a frame that is not large.
const PARTIAL_BYTES_MAX: u32 = READ_BYTES_MAX as u32 + 4;

struct Connection {
    stream: TcpStream,
    peer: SocketAddr,
    shared: Arc<Shared>,
    service: Box<dyn ServiceConnection>,
    frames: Frames,
    parked: Option<Parked>,
    pending: Option<Pending>,
    /// Memory held for the next frame: mostly for a large one that still arrives.
    arriving: Option<Held>,
    /// Memory held for what has come of a frame that is not large.
    partial: Option<Held>,
    /// When the frame that still arrives was begun.
    frame_begun: Option<Instant>,
    due: VecDeque<Due>,
    /// The answer at the head was begun.
    head_begun: bool,
    unheld: Option<Unheld>,
    outbox: Outbox,
    /// When a byte last moved in either direction.
    moved_at: Instant,
    /// No further frame is taken: the peer ended its side, or the process is closing.
    ended: bool,
}

/// Why a connection ends early.
enum End {
    Io(io::Error),
    Protocol(String),
    Idle,
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

pub(super) async fn run(stream: TcpStream, peer: SocketAddr, shared: Arc<Shared>) {
    shared.counters.accepted.fetch_add(1, Ordering::Relaxed);
    shared.counters.open.fetch_add(1, Ordering::Relaxed);
    let connection = Connection {
        service: shared.service.connect(peer),
        frames: Frames::new(shared.limits.request_bytes_max),
        parked: None,
        pending: None,
        arriving: None,
        partial: None,
        frame_begun: None,
        due: VecDeque::new(),
        head_begun: false,
        unheld: None,
        outbox: Outbox::default(),
        moved_at: Instant::now(),
        ended: false,
        stream,
        peer,
        shared: Arc::clone(&shared),
    };
    connection.serve().await;
    shared.counters.open.fetch_sub(1, Ordering::Relaxed);
}

impl Connection {
    async fn serve(mut self) {
        let peer = self.peer;
        match self.exchange().await {
            Ok(()) => {}
            Err(End::Io(error)) => tracing::debug!(%peer, %error, "connection lost"),
            Err(End::Idle) => tracing::debug!(%peer, "connection closed: nothing moved on it"),
            Err(End::Protocol(reason)) => {
                self.shared.counters.protocol_errors.fetch_add(1, Ordering::Relaxed);
                if let Some(left_out) = self.shared.complaints.tell() {
                    let others_not_told = (left_out > 0).then_some(left_out);
                    tracing::warn!(
                        %peer,
                        %reason,
                        others_not_told,
                        "connection closed: it does not speak as agreed"
                    );
                }
            }
        }
    }

    /// Runs until there is nothing more to read and all is answered.
    async fn exchange(&mut self) -> Result<(), End> {
        let mut closing = self.shared.closing.clone();
        loop {
            self.take_frames()?;
            self.gather_ready();
            self.write()?;
            if self.ended && self.is_done() {
                return Ok(());
            }
            let may_read = !self.ended && self.may_take();
            let deadline = self.next_look();
            tokio::select! {
                biased;
                ready = self.stream.writable(), if !self.outbox.is_empty() => ready?,
                memory = granted_answer(&mut self.unheld) => self.take_unheld(memory),
                answer = head(&mut self.due), if self.may_answer() => self.pop_due(answer),
                held = granted(&mut self.parked) => self.unpark(held),
                dispatched = decided(&mut self.pending) => self.unpend(dispatched)?,
                ready = self.stream.readable(), if may_read => {
                    ready?;
                    self.read()?;
                }
                _ = closing.wait_for(|closing| *closing), if !self.ended => self.ended = true,
                () = tokio::time::sleep_until(deadline) => self.check_idle()?,
            }
        }
    }

    /// How long nothing may move: a stalled frame or answer has less time than an idle connection.
    fn patience(&self) -> Duration {
        match self.frames.is_mid_frame() || !self.outbox.is_empty() {
            true => self.shared.limits.stall_timeout,
            false => self.shared.limits.idle_timeout,
        }
    }

    /// When to look whether the peer still moves.
    fn next_look(&self) -> Instant {
        let deadline = self.deadline();
        match (&self.arriving, &self.partial) {
            (None, None) if self.outbox.is_empty() => deadline,
            (None, None) => deadline.min(Instant::now() + CONTENDED_STALL),
            (Some(_), _) => deadline.min(Instant::now() + CONTENDED_STALL),
            (None, Some(_)) => deadline.min(Instant::now() + CONTENDED_PARTIAL_STALL),
        }
    }

    /// When the peer has been too slow.
    fn deadline(&self) -> Instant {
        let moves = self.moved_at + self.patience();
        let whole = self.frame_begun.map(|begun| begun + self.shared.limits.frame_timeout);
        let deadline = whole.map_or(moves, |whole| whole.min(moves));
        let deadline = self.answer_deadline().map_or(deadline, |answer| answer.min(deadline));
        match (self.contended(), self.frame_begun) {
            (Some((stall, bytes)), Some(begun)) => {
                let whole = Duration::from_millis(bytes as u64 / CONTENDED_BYTES_PER_MS);
                let moves = self.moved_at + stall;
                deadline.min(moves).min(begun + stall + whole)
            }
            _ => deadline,
        }
    }

    /// If others wait for the memory of answers: when more must have been sent.
    fn answer_deadline(&self) -> Option<Instant> {
        let (since, sent) = self.outbox.sending()?;
        let whole = Duration::from_millis(sent as u64 / CONTENDED_ANSWER_BYTES_PER_MS);
        let Shared { answers, answer_frames, .. } = self.shared.as_ref();
        (answers.is_contended() || answer_frames.is_contended())
            .then(|| since + CONTENDED_STALL + whole)
    }

    /// If others wait for such memory as is held for a frame that arrives: how long that may stall,
    /// and how much it is.
    fn contended(&self) -> Option<(Duration, usize)> {
        let held = |held: &Option<Held>, budget: &Budget, stall| {
            let held = held.as_ref().filter(|_| budget.is_contended());
            held.map(|held| (stall, held.bytes()))
        };
        held(&self.arriving, &self.shared.memory, CONTENDED_STALL)
            .or_else(|| held(&self.partial, &self.shared.partial, CONTENDED_PARTIAL_STALL))
    }

    /// A connection that waits for us (for an answer, or for memory) is neither idle nor stalled.
    fn check_idle(&mut self) -> Result<(), End> {
        let now = Instant::now();
        let waits = !self.due.is_empty() || self.unheld.is_some();
        let waits_for_answer = waits && !self.frames.is_mid_frame();
        if self.outbox.is_empty() && (!self.may_take() || waits_for_answer) {
            self.moved_at = now;
            self.frame_begun = self.frame_begun.map(|_| now);
            return Ok(());
        }
        if now >= self.deadline() { Err(End::Idle) } else { Ok(()) }
    }

    fn read(&mut self) -> Result<(), End> {
        let appetite = self.appetite();
        let room = self.frames.room(appetite);
        let mut room = room.map_err(|error| End::Protocol(error.to_string()))?;
        let room_bytes = room.chunk_mut().len();
        match self.stream.try_read_buf(&mut room) {
            Ok(0) => self.ended = true,
            Ok(read) => {
                self.moved_at = Instant::now();
                self.frames.adapt(read, room_bytes);
                self.shared.counters.bytes_in.fetch_add(read as u64, Ordering::Relaxed);
            }
            // What was made room for is let go of before the connection waits.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// How much the next read may bring. Between this look and [`Self::settle`] nothing is awaited,
    /// so that no more connections than there are threads can find too late that others were first.
    fn appetite(&self) -> Appetite {
        if self.arriving.is_some() {
            Appetite::ThisFrame
        } else if self.shared.partial.available() >= PARTIAL_BYTES_MAX {
            Appetite::Plenty
        } else if self.partial.is_some() {
            Appetite::ThisFrame
        } else {
            Appetite::Little
        }
    }

    /// Whether the answer at the head is awaited. One that was begun goes on being awaited: it may hold
    /// what others wait for.
    fn may_answer(&self) -> bool {
        self.unheld.is_none() && (self.outbox.has_room() || self.head_begun)
    }

    fn may_take(&self) -> bool {
        self.parked.is_none()
            && self.pending.is_none()
            && self.due.len() < self.shared.limits.requests_in_flight_max
    }

    fn is_done(&self) -> bool {
        self.parked.is_none()
            && self.pending.is_none()
            && self.due.is_empty()
            && self.unheld.is_none()
            && self.outbox.is_empty()
    }

    /// Dispatches the whole frames that have come. One whose memory is not to be had now stays where it
    /// is, and no other is taken until it is granted; answers go out meanwhile.
    fn take_frames(&mut self) -> Result<(), End> {
        while self.may_take() {
            let whole = self.frames.whole().map_err(|error| End::Protocol(error.to_string()))?;
            let Some(length) = whole else { break };
            let granted = self.arriving.take();
            let granted = granted.or_else(|| self.shared.memory.try_hold(clamped(length)));
            let Some(held) = granted else { break };
            self.frame_begun = None;
            let frame = self.frames.take(length);
            self.dispatch(frame, held)?;
        }
        self.settle()
    }

    /// Asks for the memory of what is left, before anything is awaited. First that of the bytes which
    /// have come, then that of the next frame: it is whole, or large and gets all its memory before it
    /// arrives. Nobody who holds the second ever waits for the first, so they cannot lock each other.
    fn settle(&mut self) -> Result<(), End> {
        let whole = self.frames.whole().map_err(|error| End::Protocol(error.to_string()))?;
        if self.ended && whole.is_none() {
            return Ok(());
        }
        self.count_partial();
        if !self.frames.is_mid_frame() {
            return Ok(());
        }
        self.frame_begun.get_or_insert_with(Instant::now);
        if !self.may_take() || self.arriving.is_some() {
            return Ok(());
        }
        if let Some(length) = whole {
            let (memory, bytes) = (self.shared.memory.clone(), clamped(length));
            self.park(Purpose::Frame, Box::pin(async move { memory.hold(bytes).await }));
        } else if let Some(bytes) = self.frames.large_frame_bytes() {
            self.arriving = self.shared.memory.try_hold_large(clamped(bytes));
            if self.arriving.is_some() {
                self.begin_large();
            } else {
                let (memory, bytes) = (self.shared.memory.clone(), clamped(bytes));
                self.park(Purpose::Frame, Box::pin(async move { memory.hold_large(bytes).await }));
            }
        }
        Ok(())
    }

    /// Holds memory for what the buffer takes until the begun frame is whole.
    fn count_partial(&mut self) {
        let budget = &self.shared.partial;
        let bytes = clamped(self.frames.settle()).min(budget.total());
        if self.partial.as_ref().map_or(0, Held::bytes) >= bytes as usize {
            if bytes == 0 {
                self.partial = None;
            }
            return;
        }
        // Nobody waits for more while holding some: they would wait for one another for ever.
        self.partial = None;
        self.partial = budget.try_hold(bytes);
        if self.partial.is_none() && self.parked.is_none() {
            let budget = budget.clone();
            let memory = Box::pin(async move { budget.hold_contending(bytes).await });
            self.park(Purpose::Partial, memory);
        }
    }

    /// The memory of a large frame is granted: its buffer is that, and no longer a partial one.
    fn begin_large(&mut self) {
        self.frames.own();
        self.count_partial();
    }

    fn park(&mut self, purpose: Purpose, memory: BoxFuture<'static, Held>) {
        self.parked = Some(Parked { memory, purpose });
    }

    /// The peer had to wait for us; its time begins now.
    fn unpark(&mut self, held: Held) {
        self.moved_at = Instant::now();
        self.frame_begun = Some(self.moved_at);
        match self.parked.take().map(|parked| parked.purpose) {
            Some(Purpose::Frame) => {
                self.arriving = Some(held);
                self.begin_large();
            }
            Some(Purpose::Partial) => self.partial = Some(held),
            None => {}
        }
    }

    fn dispatch(&mut self, frame: Bytes, held: Held) -> Result<(), End> {
        let dispatched = self.service.dispatch(frame);
        self.place(dispatched, held)
    }

    fn unpend(&mut self, dispatched: Dispatched) -> Result<(), End> {
        match self.pending.take() {
            Some(pending) => self.place(dispatched, pending.held),
            None => Ok(()),
        }
    }

    fn place(&mut self, dispatched: Dispatched, held: Held) -> Result<(), End> {
        let answer = match dispatched {
            Dispatched::Pending(dispatched) => {
                self.pending = Some(Pending { dispatched, held });
                return Ok(());
            }
            Dispatched::Ready(answer) => Answer::Now(answer),
            Dispatched::Later(answer) => Answer::Later(answer),
            Dispatched::Silent(end) => Answer::Silent(end),
            Dispatched::Close(reason) => return Err(End::Protocol(reason)),
        };
        self.due.push_back(Due { answer, held: Some(held) });
        Ok(())
    }

    /// Moves answers that are ready, from the head on, to the outbox.
    fn gather_ready(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        while self.outbox.has_room() && self.unheld.is_none() {
            let Some(head) = self.due.front_mut() else { return };
            let Poll::Ready(answer) = head.answer.poll(&mut context) else {
                self.head_begun = true;
                return;
            };
            self.pop_due(answer);
        }
    }

    /// Takes the first answer out of the queue. Without a share for what it takes besides records it
    /// waits, and so do those behind it. That is a budget of its own: an answer that waits may hold a
    /// share for its records, and those who hold this one wait for nothing but their clients.
    fn pop_due(&mut self, answer: Option<Parts>) {
        let request = self.due.pop_front().and_then(|due| due.held);
        let Some(answer) = answer else {
            self.head_begun = false;
            return;
        };
        self.head_begun = false;
        if answer.own_bytes() == 0 {
            return self.outbox.push(answer, Holding { request, answer: None });
        }
        let frames = &self.shared.answer_frames;
        let bytes = clamped(answer.own_bytes() + ANSWER_OVERHEAD_BYTES);
        match frames.try_hold(bytes) {
            Some(held) => self.outbox.push(answer, Holding { request, answer: Some(held) }),
            None => {
                let frames = frames.clone();
                let memory = Box::pin(async move { frames.hold_by_size(bytes).await });
                self.unheld = Some(Unheld { answer, request, memory });
            }
        }
    }

    fn take_unheld(&mut self, memory: Held) {
        if let Some(Unheld { answer, request, .. }) = self.unheld.take() {
            self.moved_at = Instant::now();
            self.outbox.push(answer, Holding { request, answer: Some(memory) });
        }
    }

    fn write(&mut self) -> Result<(), End> {
        if self.outbox.is_empty() {
            return Ok(());
        }
        let written = self.outbox.write_to(&self.stream)?;
        if written > 0 {
            self.moved_at = Instant::now();
            self.shared.counters.bytes_out.fetch_add(written as u64, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Answer {
    /// Polled again after a wake-up that was meant for someone else, or after another branch won:
    /// nothing is lost, since the future stays in its place until it is ready.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Parts>> {
        match self {
            Self::Now(answer) => Poll::Ready(Some(std::mem::take(answer))),
            Self::Later(answer) => answer.as_mut().poll(context).map(Some),
            Self::Silent(end) => end.as_mut().poll(context).map(|()| None),
        }
    }
}

/// No budget has more than 4 GiB.
fn clamped(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Waits for the answer at the head; for ever if there is none.
fn head(due: &mut VecDeque<Due>) -> impl Future<Output = Option<Parts>> {
    std::future::poll_fn(|context| match due.front_mut() {
        Some(head) => head.answer.poll(context),
        None => Poll::Pending,
    })
}

/// Waits until the fate of the request is known; for ever if there is none.
fn decided(pending: &mut Option<Pending>) -> impl Future<Output = Dispatched> {
    std::future::poll_fn(|context| match pending {
        Some(pending) => pending.dispatched.as_mut().poll(context),
        None => Poll::Pending,
    })
}

/// Waits for the memory of an answer; for ever if none waits for it.
fn granted_answer(unheld: &mut Option<Unheld>) -> impl Future<Output = Held> {
    std::future::poll_fn(|context| match unheld {
        Some(unheld) => unheld.memory.as_mut().poll(context),
        None => Poll::Pending,
    })
}

/// Waits for the memory that was asked for; for ever if none was.
fn granted(parked: &mut Option<Parked>) -> impl Future<Output = Held> {
    std::future::poll_fn(|context| match parked {
        Some(parked) => parked.memory.as_mut().poll(context),
        None => Poll::Pending,
    })
}
