//! Measures the hot command: commits of 20 batches of 1 KiB over 1,000 partitions, folded by the
//! real policy. Prints commits applied per second (apply alone, one core) and what the state and a
//! projection of it take in memory at the end.
//!
//! `cargo run --release -p tidemill-metadata-state --example apply_speed -- [COMMITS] [--state-only]`
//! (10,000,000 commits by default; `--state-only` leaves the projection out, so that the resident
//! memory is the state's alone)

#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
#![expect(clippy::print_stdout, reason = "a measurement prints its result")]

use std::time::{Duration, Instant};

use tidemill_base::{
    AppliedIndex, BaseSequence, BatchFacts, BrokerEpoch, BrokerId, FileId, FileNumber, Incarnation,
    LaneId, LaneKey, LaneSequence, Location, ObjectId, PartitionId, ProducerEpoch, ProducerFacts,
    ProducerId, TimestampMs, TopicId,
};
use tidemill_metadata_state::command::{
    AllocateProducerIds, CommitObject, CreateTopic, RegisterBroker, SealFile,
};
use tidemill_metadata_state::fold::{self, FoldPolicy};
use tidemill_metadata_state::{Command, Covered, MetadataState, Outcome, Projection};
use uuid::Uuid;

/// The allocator of the released binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PARTITIONS: u32 = 1_000;
const BATCHES: u32 = 20;
const BATCH_BYTES: u32 = 1_024;
const FILE_BYTES: u64 = 512 << 20;
/// About five seconds at 10,000 commits a second.
const WRITE_BEHIND_COMMITS: u64 = 50_000;

struct Bench {
    state: MetadataState,
    projection: Option<Projection>,
    index: u64,
    lane: LaneKey,
    file: u32,
    position: u64,
    index_objects: u64,
    sequences: Vec<i32>,
    random: u64,
    applying: Duration,
    projecting: Duration,
    folding: Duration,
}

impl Bench {
    fn new(with_projection: bool) -> Self {
        let state = MetadataState::new(Uuid::from_u128(1), Incarnation(1));
        let projection = with_projection
            .then(|| Projection::from_snapshot(AppliedIndex(0), &state.snapshot_events()));
        let lane = LaneKey { broker: BrokerId(1), epoch: BrokerEpoch(1), lane: LaneId(0) };
        let mut bench = Self {
            state,
            projection,
            index: 0,
            lane,
            file: 1,
            position: 0,
            index_objects: 0,
            sequences: vec![0; PARTITIONS as usize],
            random: 0x9e37_79b9_7f4a_7c15,
            applying: Duration::ZERO,
            projecting: Duration::ZERO,
            folding: Duration::ZERO,
        };
        bench.apply(
            &RegisterBroker {
                broker: BrokerId(1),
                listeners: vec![],
                zone: None,
                http_address: None,
                feature_level_max: 1,
            }
            .into(),
        );
        bench.apply(
            &AllocateProducerIds { broker: BrokerId(1), epoch: BrokerEpoch(1), count: 100 }.into(),
        );
        bench.apply(
            &CreateTopic {
                name: "bench".to_owned(),
                id: TopicId(Uuid::from_u128(7)),
                partitions: PARTITIONS,
                replication_factor: 1,
                configs: vec![],
            }
            .into(),
        );
        bench
    }

    fn apply(&mut self, command: &Command) -> Outcome {
        let from = self.state.applied_index();
        self.index += 1;
        let started = Instant::now();
        let applied = self.state.apply(
            AppliedIndex(self.index),
            TimestampMs(1_700_000_000_000 + self.index as i64 / 1_000),
            command,
        );
        self.applying += started.elapsed();
        let started = Instant::now();
        let covered = Covered { from, to: AppliedIndex(self.index) };
        if let Some(projection) = &mut self.projection {
            projection.apply(covered, &applied.events).expect("events follow");
        }
        self.projecting += started.elapsed();
        applied.outcome
    }

    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn location(&mut self, sequence: u64) -> (ObjectId, Location) {
        let file = FileId {
            incarnation: Incarnation(1),
            lane: self.lane,
            number: FileNumber(self.file),
            sequence: 0,
        };
        let length = BATCHES * BATCH_BYTES + 64;
        let location = Location { file, position: self.position, length };
        self.position += u64::from(length);
        let sequence = LaneSequence(sequence);
        (ObjectId { incarnation: Incarnation(1), lane: self.lane, sequence }, location)
    }

    fn commit(&mut self, sequence: u64) -> Command {
        let (object, location) = self.location(sequence);
        let mut partitions: Vec<u32> =
            (0..BATCHES).map(|_| (self.next_random() >> 20) as u32 % PARTITIONS).collect();
        partitions.sort_unstable();
        let batches = (0..BATCHES).zip(partitions).map(|(at, partition)| {
            let next = &mut self.sequences[partition as usize];
            let base_sequence = BaseSequence(*next);
            *next += 1;
            BatchFacts {
                partition: PartitionId(1 + partition),
                position: 64 + at * BATCH_BYTES,
                length: BATCH_BYTES,
                record_count: 1,
                max_timestamp: TimestampMs(1_700_000_000_000 + sequence as i64 / 1_000),
                producer: Some(ProducerFacts {
                    id: ProducerId(1 + i64::from(partition % 100)),
                    epoch: ProducerEpoch(0),
                    base_sequence,
                    transaction: 0,
                }),
                transactional: false,
            }
        });
        CommitObject {
            object,
            location,
            skips: vec![],
            outcomes_received_up_to: LaneSequence(sequence.saturating_sub(4)),
            batches: batches.collect(),
        }
        .into()
    }

    fn maintain(&mut self) {
        if self.position >= FILE_BYTES {
            let (_, Location { file, position: length, .. }) = self.location(0);
            self.apply(&SealFile { file, length }.into());
            self.file += 1;
            self.position = 0;
        }
        let started = Instant::now();
        while let Some(plan) = fold::plan(&self.state, &FoldPolicy::default()).pop() {
            self.index_objects += 1;
            let lane = LaneKey { lane: LaneId::OBJECTS, ..self.lane };
            let sequence = self.index_objects;
            let file =
                FileId { incarnation: Incarnation(1), lane, number: FileNumber(0), sequence };
            let location = Location { file, position: 0, length: 1 << 20 };
            let sequence = LaneSequence(sequence);
            let index = ObjectId { incarnation: Incarnation(1), lane, sequence };
            for command in plan.commands(index, location) {
                self.apply(&command);
            }
        }
        self.folding += started.elapsed();
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let commits: u64 =
        arguments.iter().find_map(|text| text.replace('_', "").parse().ok()).unwrap_or(10_000_000);
    let mut bench = Bench::new(!arguments.iter().any(|text| text == "--state-only"));
    let mut hot = Duration::ZERO;
    let mut command_bytes = 0;
    let mut saving = Duration::ZERO;
    let mut saved_bytes = 0;
    for sequence in 1..=commits {
        let command = bench.commit(sequence);
        if sequence <= 1_000 {
            command_bytes += command.encode(TimestampMs(0)).len();
        }
        let before = bench.applying;
        let outcome = bench.apply(&command);
        hot += bench.applying - before;
        assert!(matches!(outcome, Outcome::Object(_)), "{outcome:?}");
        if sequence % 1_000 == 0 {
            bench.maintain();
        }
        if sequence % WRITE_BEHIND_COMMITS == 0 {
            let started = Instant::now();
            let set = bench.state.take_changes();
            saving += started.elapsed();
            saved_bytes +=
                set.puts.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        }
    }
    let sampled = commits.clamp(1, 1_000);
    println!("commits                     {commits}");
    println!("command bytes per batch     {:.1}", command_bytes as f64 / (sampled * 20) as f64);
    println!("commits applied per second  {:.0}", commits as f64 / hot.as_secs_f64());
    if bench.projection.is_some() {
        let rate = commits as f64 / bench.projecting.as_secs_f64();
        println!("projected per second        {rate:.0}");
    }
    println!("folding, seconds in all     {:.1}", bench.folding.as_secs_f64());
    println!("index objects               {}", bench.index_objects);
    println!("extents waiting             {}", bench.state.extents_waiting());
    println!("state MiB (estimated)       {:.1}", mebibytes(bench.state.approximate_bytes()));
    if let Some(projection) = &bench.projection {
        println!("projection MiB (estimated)  {:.1}", mebibytes(projection.approximate_bytes()));
    }
    println!("saving, seconds in all      {:.1}", saving.as_secs_f64());
    println!("saved bytes per commit      {:.0}", saved_bytes as f64 / commits as f64);
    println!("resident MiB                {}", resident_mebibytes());
}

fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The memory of this process, as Linux counts it.
fn resident_mebibytes() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kibibytes.map_or_else(|| "unknown".to_owned(), |kibibytes| (kibibytes / 1024).to_string())
}
