//! One producer connection: a window of requests in flight, sent by schedule or as the window allows.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

use anyhow::Context;

use crate::driver::schedule::Schedule;
use crate::driver::socket::FramedSocket;
use crate::wire::produce::{ProduceAnswer, ProduceHead, TAIL};

/// A producer connection.
#[derive(Debug)]
pub struct Producer {
    socket: FramedSocket,
    head: ProduceHead,
    partitions: Vec<i32>,
    in_flight: VecDeque<InFlight>,
    in_flight_max: usize,
    schedule: Option<Schedule>,
    /// Nothing is started that is intended at or after this.
    stop_ns: u64,
    started: u64,
    /// How much of the newest request is written, if not all.
    written: Option<usize>,
}

/// A request that was started and not yet answered.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    correlation_id: i32,
    partition: i32,
    intended_ns: u64,
}

/// An answered request.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// The partition.
    pub partition: i32,
    /// When the request was meant to go out.
    pub intended_ns: u64,
    /// Kafka's error code, 0 for none.
    pub error_code: i16,
    /// The batch's first offset.
    pub base_offset: i64,
}

impl Producer {
    /// A producer of one batch per request to `partitions` (not empty) in turn; without a `schedule`
    /// it sends whenever its window has room.
    #[must_use]
    pub fn new(
        socket: FramedSocket,
        head: ProduceHead,
        partitions: Vec<i32>,
        in_flight_max: usize,
        schedule: Option<Schedule>,
    ) -> Self {
        let in_flight = VecDeque::with_capacity(in_flight_max);
        let stop_ns = u64::MAX;
        Self {
            socket,
            head,
            partitions,
            in_flight,
            in_flight_max,
            schedule,
            stop_ns,
            started: 0,
            written: None,
        }
    }

    /// The socket, for the poller.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd()
    }

    /// Starts nothing that is intended at or after `stop_ns`.
    pub fn stop_at(&mut self, stop_ns: u64) {
        self.stop_ns = stop_ns;
    }

    /// Whether a request is written in part: the socket's buffer is full.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.written.is_some()
    }

    /// Requests without an answer.
    #[must_use]
    pub fn in_flight_count(&self) -> usize {
        self.in_flight.len()
    }

    /// When the schedule next wants a request, if nothing but time holds it back.
    #[must_use]
    pub fn next_due_ns(&self) -> Option<u64> {
        let intended_ns = self.schedule?.intended_ns(self.started);
        let has_room = self.written.is_none() && self.in_flight.len() < self.in_flight_max;
        (has_room && intended_ns < self.stop_ns).then_some(intended_ns)
    }

    /// Writes what is due at `now_ns`; tells `on_departure` the partition and the intended time of
    /// each request it starts. With the gate closed, only what is started already is written on.
    pub fn pump(
        &mut self,
        now_ns: u64,
        gate_open: bool,
        batch: &[u8],
        mut on_departure: impl FnMut(i32, u64) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        loop {
            if let Some(written) = self.written {
                let parts = [self.head.bytes(), batch, &TAIL];
                let done = self.socket.write(parts, written).context("write a produce request")?;
                let is_whole = done == parts.iter().map(|part| part.len()).sum::<usize>();
                self.written = (!is_whole).then_some(done);
                if !is_whole {
                    return Ok(());
                }
            }
            let Some(intended_ns) = self.due_ns(now_ns).filter(|_| gate_open) else {
                return Ok(());
            };
            let partition = self.start_request(intended_ns);
            on_departure(partition, intended_ns)?;
        }
    }

    /// Reads answers and tells each to `on_ack`.
    pub fn read(&mut self, mut on_ack: impl FnMut(Ack)) -> anyhow::Result<()> {
        let in_flight = &mut self.in_flight;
        self.socket.read(|frame| {
            let answer = ProduceAnswer::read(frame)?;
            let request = in_flight.pop_front().context("an answer to nothing")?;
            anyhow::ensure!(
                answer.correlation_id == request.correlation_id,
                "answer {} came before answer {}",
                answer.correlation_id,
                request.correlation_id
            );
            on_ack(Ack {
                partition: request.partition,
                intended_ns: request.intended_ns,
                error_code: answer.error_code,
                base_offset: answer.base_offset,
            });
            Ok(())
        })
    }

    /// The intended times of all that was meant before `end_ns` and is not answered.
    pub fn unanswered_ns(&self, end_ns: u64) -> impl Iterator<Item = u64> {
        let unsent = self.schedule.into_iter().flat_map(move |schedule| {
            (self.started..)
                .map(move |n| schedule.intended_ns(n))
                .take_while(move |intended| *intended < end_ns)
        });
        self.in_flight.iter().map(|request| request.intended_ns).chain(unsent)
    }

    fn due_ns(&self, now_ns: u64) -> Option<u64> {
        match self.schedule {
            Some(_) => self.next_due_ns().filter(|intended| *intended <= now_ns),
            None => (self.in_flight.len() < self.in_flight_max && now_ns < self.stop_ns)
                .then_some(now_ns),
        }
    }

    /// Patches the head for the next request and answers its partition.
    fn start_request(&mut self, intended_ns: u64) -> i32 {
        let partition = self.partitions[(self.started % self.partitions.len() as u64) as usize];
        let correlation_id = (self.started & 0x7FFF_FFFF) as i32;
        self.head.patch(correlation_id, partition);
        self.started += 1;
        self.written = Some(0);
        self.in_flight.push_back(InFlight { correlation_id, partition, intended_ns });
        partition
    }
}
