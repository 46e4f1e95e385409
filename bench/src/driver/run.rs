//! The event loop of one run.
//!
//! Warm-up, window, drain: all that was intended within the window is waited for (at most
//! `DRAIN_NS_MAX`) so that the slowest answers are not the ones that go uncounted.

use std::ops::Range;

use anyhow::Context;

use crate::clock::{Clock, SECOND_NS};
use crate::driver::consumer::Consumer;
use crate::driver::crew;
use crate::driver::load::Load;
use crate::driver::meters::Meters;
use crate::driver::poller::{Poller, Ready};
use crate::driver::producer::Producer;
use crate::driver::report::{LoadReport, Watch};

/// How long answers may take after the window.
const DRAIN_NS_MAX: u64 = 10 * SECOND_NS;

/// Between two looks at the broker's memory.
const SAMPLE_NS: u64 = SECOND_NS / 4;

/// The longest wait for events, so that no boundary is missed by more.
const WAIT_NS_MAX: u64 = SECOND_NS / 20;

/// Runs a load and says what it found.
pub fn run(load: &Load) -> anyhow::Result<LoadReport> {
    let mut run = Run::start(load)?;
    while !run.is_over() {
        run.turn()?;
    }
    run.report()
}

#[derive(Clone, Copy, Debug)]
enum Actor {
    Producer(usize),
    Tail(usize),
    Backlog(usize),
}

struct Run<'a> {
    load: &'a Load,
    clock: Clock,
    window_ns: Range<u64>,
    poller: Poller,
    ready: Vec<Ready>,
    actors: Vec<Actor>,
    wants_write: Vec<bool>,
    producers: Vec<Producer>,
    tail: Vec<Consumer>,
    backlog: Vec<Consumer>,
    meters: Meters,
    watch: Watch,
    next_sample_ns: u64,
    now_ns: u64,
}

impl<'a> Run<'a> {
    fn start(load: &'a Load) -> anyhow::Result<Self> {
        let tail = crew::tail_consumers(load)?;
        let backlog = crew::backlog_consumers(load)?;
        let producers = crew::producers(load)?;
        let clock = Clock::start();
        let actors: Vec<Actor> = (0..producers.len())
            .map(Actor::Producer)
            .chain((0..tail.len()).map(Actor::Tail))
            .chain((0..backlog.len()).map(Actor::Backlog))
            .collect();
        let window_ns = load.timing.warm_up_ns..load.timing.warm_up_ns + load.timing.measure_ns;
        let mut run = Self {
            load,
            clock,
            meters: Meters::new(load, &window_ns)?,
            window_ns,
            poller: Poller::new()?,
            ready: Vec::new(),
            wants_write: vec![false; actors.len()],
            actors,
            producers,
            tail,
            backlog,
            watch: Watch::new(load.broker_pid),
            next_sample_ns: 0,
            now_ns: 0,
        };
        run.stop_at(run.window_ns.end);
        run.register()?;
        Ok(run)
    }

    fn register(&mut self) -> anyhow::Result<()> {
        for (token, actor) in (0u64..).zip(&self.actors) {
            let fd = match *actor {
                Actor::Producer(at) => self.producers[at].fd(),
                Actor::Tail(at) => self.tail[at].fd(),
                Actor::Backlog(at) => self.backlog[at].fd(),
            };
            self.poller.add(fd, token)?;
        }
        for consumer in self.tail.iter_mut().chain(&mut self.backlog) {
            consumer.fetch()?;
        }
        Ok(())
    }

    fn stop_at(&mut self, stop_ns: u64) {
        for producer in &mut self.producers {
            producer.stop_at(stop_ns);
        }
    }

    /// One turn: send what is due, wait, take what came, look at the clock's boundaries.
    fn turn(&mut self) -> anyhow::Result<()> {
        for at in 0..self.producers.len() {
            self.pump(at)?;
        }
        let due_ns = self.producers.iter().filter_map(Producer::next_due_ns).min();
        let until_ns = due_ns.unwrap_or(u64::MAX).min(self.now_ns + WAIT_NS_MAX);
        let mut ready = std::mem::take(&mut self.ready);
        self.poller.wait(until_ns.saturating_sub(self.now_ns), &mut ready).context("epoll")?;
        for event in &ready {
            self.now_ns = self.clock.now_ns();
            self.on_ready(*event)?;
        }
        self.ready = ready;
        self.now_ns = self.clock.now_ns();
        self.look_at_boundaries()
    }

    fn on_ready(&mut self, event: Ready) -> anyhow::Result<()> {
        let token = usize::try_from(event.token)?;
        let Self { meters, clock, .. } = self;
        match self.actors[token] {
            Actor::Producer(at) => {
                if event.readable {
                    let producer = &mut self.producers[at];
                    producer.read(|ack| meters.acked(clock.now_ns(), ack))?;
                }
                self.now_ns = self.clock.now_ns();
                self.pump(at)?;
                let blocked = self.producers[at].is_blocked();
                self.want_write(token, blocked)
            }
            Actor::Tail(at) => {
                let consumer = &mut self.tail[at];
                consumer.write()?;
                if event.readable {
                    consumer.read(|fetched| meters.tail_fetched(clock.now_ns(), fetched))?;
                }
                let blocked = self.tail[at].is_blocked();
                self.want_write(token, blocked)
            }
            Actor::Backlog(at) => {
                let consumer = &mut self.backlog[at];
                consumer.write()?;
                if event.readable {
                    consumer.read(|fetched| meters.backlog_fetched(clock.now_ns(), fetched))?;
                }
                let blocked = self.backlog[at].is_blocked();
                self.want_write(token, blocked)
            }
        }
    }

    /// Sends what producer `at` has due, and has the poller tell when a full socket drains.
    fn pump(&mut self, at: usize) -> anyhow::Result<()> {
        let gate_open = self.gate_is_open();
        let is_followed = self.load.tail.is_some();
        let Self { meters, load, now_ns, .. } = self;
        let producer = &mut self.producers[at];
        producer.pump(*now_ns, gate_open, &load.batch.bytes, |partition, intended_ns| {
            if is_followed { meters.transit.depart(partition, intended_ns) } else { Ok(()) }
        })?;
        // Producers come first among the actors, so their place is their token.
        let blocked = producer.is_blocked();
        self.want_write(at, blocked)
    }

    fn gate_is_open(&self) -> bool {
        let Some(lag_bytes_max) = self.load.produce.and_then(|produce| produce.lag_bytes_max)
        else {
            return true;
        };
        let lag = self.meters.produce.bytes_all().saturating_sub(self.meters.tail.bytes_all());
        lag <= lag_bytes_max
    }

    fn want_write(&mut self, token: usize, wanted: bool) -> anyhow::Result<()> {
        if self.wants_write[token] != wanted {
            let fd = match self.actors[token] {
                Actor::Producer(at) => self.producers[at].fd(),
                Actor::Tail(at) => self.tail[at].fd(),
                Actor::Backlog(at) => self.backlog[at].fd(),
            };
            self.poller.want_write(fd, token as u64, wanted)?;
            self.wants_write[token] = wanted;
        }
        Ok(())
    }

    fn look_at_boundaries(&mut self) -> anyhow::Result<()> {
        let stop_after_bytes = self.load.produce.and_then(|produce| produce.stop_after_bytes);
        if stop_after_bytes.is_some_and(|bytes| self.meters.produce.bytes_all() >= bytes)
            && self.now_ns < self.window_ns.end
        {
            self.window_ns = self.window_ns.start.min(self.now_ns)..self.now_ns;
            self.stop_at(self.now_ns);
        }
        if !self.watch.has_begun() && self.now_ns >= self.window_ns.start {
            self.watch.begin(self.now_ns)?;
        }
        if !self.watch.has_ended() && self.now_ns >= self.window_ns.end {
            self.watch.end(self.now_ns)?;
        }
        if self.now_ns >= self.next_sample_ns {
            self.next_sample_ns = self.now_ns + SAMPLE_NS;
            self.watch.sample_memory()?;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        if !self.watch.has_ended() {
            return false;
        }
        let end_ns = self.window_ns.end;
        let is_answered =
            self.producers.iter().all(|producer| producer.unanswered_ns(end_ns).next().is_none());
        let has_arrived = self.load.tail.is_none()
            || self.meters.tail.bytes_all() >= self.meters.produce.bytes_all();
        self.now_ns >= end_ns + DRAIN_NS_MAX || (is_answered && has_arrived)
    }

    fn report(mut self) -> anyhow::Result<LoadReport> {
        let end_ns = self.window_ns.end;
        let mut unanswered = 0u64;
        let mut oldest_ns = end_ns;
        for producer in &self.producers {
            for intended_ns in producer.unanswered_ns(end_ns) {
                unanswered += 1;
                oldest_ns = oldest_ns.min(intended_ns);
                self.meters.produce.record(intended_ns, self.now_ns);
            }
        }
        let mut report = LoadReport {
            produce: self.load.produce.map(|_| self.meters.produce.report(end_ns)),
            tail: self.load.tail.as_ref().map(|_| self.meters.tail.report(end_ns)),
            backlog: self.load.backlog.as_ref().map(|_| self.meters.backlog.report(end_ns)),
            behind_ms: (end_ns - oldest_ns) as f64 / 1e6,
            errors: self.meters.errors,
            end_offsets: self.meters.end_offsets,
            ..LoadReport::default()
        };
        if unanswered > 0 {
            report.invalid.push(format!("{unanswered} requests stayed unanswered"));
        }
        if !report.errors.is_empty() {
            report.invalid.push(format!("errors were answered: {:?}", report.errors));
        }
        self.watch.fill(&mut report);
        Ok(report)
    }
}
