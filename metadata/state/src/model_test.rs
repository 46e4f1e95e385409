//! Random commands against a small model that knows nothing of extents, chunks, folds or saving.
//!
//! The model keeps every accepted batch and every producer's whole history. After each command the
//! harness also holds the projection and the saved copy against the state.

mod model;

use proptest::prelude::*;
use tidemill_base::{
    AppliedIndex, BatchFacts, BrokerEpoch, FileId, FileNumber, LaneId, LaneKey, LaneSequence,
    Location, ObjectId, PartitionId,
};

use crate::command::{
    AdvanceLogStart, AlterConfigs, CommitObject, Condemn, ConfigChange, ConfigOperation,
    ConfigResource, DeleteTopic, ForgetFiles, SealFile, Tick,
};
use crate::harness::{BROKER, Harness, batch, produced};
use crate::outcome::{FoldOutcome, Outcome};
use crate::plan::fold::{FoldPlan, FoldPolicy};
use crate::plan::{fold, garbage, retention};
use crate::refusal::Refusal;
use model::Model;

const HOUR_MS: i64 = 3_600_000;

/// A step: what to do, and two numbers that say with what.
type Step = (u8, u16, u16);

struct World {
    cluster: Harness,
    model: Model,
    partitions: Vec<PartitionId>,
    last: Option<(CommitObject, Outcome)>,
    plans: Vec<FoldPlan>,
    index_objects: u64,
    topics: u32,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            cluster: Harness::new(),
            model: Model::default(),
            partitions: Vec::new(),
            last: None,
            plans: Vec::new(),
            index_objects: 0,
            topics: 0,
        };
        world.create_topic();
        world
    }

    fn step(&mut self, (kind, a, b): Step) {
        match kind % 20 {
            0..=6 => self.commit(a, b),
            7 => self.ask_again(),
            8 => self.leave_a_gap(a),
            9 => self.skip(a, b),
            10 => self.condemn(a),
            11 => self.create_topic(),
            12 => self.delete_topic(a),
            13 => self.advance(a, b),
            14 => self.seal(),
            15 => self.plan_folds(a),
            16 => self.fold(),
            17 => self.collect_garbage(),
            18 => self.pass_time(a),
            _ if a % 4 == 0 => self.register(),
            _ => self.retain(a),
        }
    }

    fn batches(&mut self, a: u16, b: u16) -> Vec<BatchFacts> {
        let count = 1 + a % 5;
        (0..count)
            .map(|at| self.batch(a.rotate_left(u32::from(at)), b.rotate_left(u32::from(at) * 3)))
            .collect()
    }

    fn batch(&self, a: u16, b: u16) -> BatchFacts {
        let partition = self.partitions[usize::from(a) % self.partitions.len()];
        let records = u32::from(1 + b % 3);
        let producer = i64::from(b >> 3 & 3);
        if producer == 0 {
            return batch(partition, records);
        }
        let (epoch, next) = self.model.next_of(partition, producer);
        match b >> 6 & 15 {
            0 => produced(partition, records, producer, epoch + 1, 0),
            1 => produced(partition, records, producer, (epoch - 1).max(0), 0),
            2 => produced(partition, records, producer, epoch, next + 1),
            3..=6 => {
                let back = (b >> 10) as i32 % 20;
                produced(partition, records, producer, epoch, (next - back).max(0))
            }
            _ => produced(partition, records, producer, epoch, next),
        }
    }

    fn apply_commit(&mut self, object: CommitObject) {
        let expected = self.model.commit(&object, self.cluster.now);
        let outcome = self.cluster.apply(object.clone());
        assert_eq!(outcome, Outcome::Object(expected.into()), "{object:?}");
        self.last = Some((object, outcome));
    }

    fn commit(&mut self, a: u16, b: u16) {
        let batches = self.batches(a, b);
        let object = self.cluster.next_object(batches);
        self.apply_commit(object);
    }

    fn ask_again(&mut self) {
        if let Some((object, outcome)) = self.last.clone() {
            assert_eq!(self.cluster.apply(object), outcome);
        }
    }

    fn leave_a_gap(&mut self, a: u16) {
        let mut object = self.cluster.next_object(vec![batch(self.partitions[0], 1)]);
        let expected = object.object.sequence;
        object.object.sequence.0 += 1 + u64::from(a % 3);
        assert_eq!(self.cluster.apply(object), Outcome::Gap { expected });
        self.cluster.sequence -= 1;
    }

    fn skip(&mut self, a: u16, b: u16) {
        let skipped = 1 + u64::from(a % 3);
        let first = self.cluster.sequence + 1;
        self.cluster.sequence += skipped;
        let batches = self.batches(a, b);
        let mut object = self.cluster.next_object(batches);
        object.skips = (first..first + skipped).map(LaneSequence).collect();
        self.apply_commit(object);
    }

    fn condemn(&mut self, a: u16) {
        let object = self.cluster.next_object(vec![batch(self.partitions[0], 1)]);
        let floor = LaneSequence(object.object.sequence.0 + u64::from(a % 2));
        let lane = self.cluster.lane;
        self.cluster.apply(Condemn { lane, floor });
        assert_eq!(self.cluster.apply(object), Outcome::Refused(Refusal::Condemned));
        self.cluster.sequence = floor.0;
    }

    fn create_topic(&mut self) {
        self.topics += 1;
        let name = format!("t{}", self.topics % 3);
        if self.cluster.state.topic(&name).is_none() {
            let partitions = self.cluster.topic(&name, 2);
            assert!(partitions.iter().all(|id| !self.partitions.contains(id)), "ids are new");
            self.model.create(&partitions);
            self.partitions.extend(partitions);
        }
    }

    fn delete_topic(&mut self, a: u16) {
        let name = format!("t{}", a % 6);
        if let Some(topic) = self.cluster.state.topic(&name).cloned() {
            assert_eq!(self.cluster.apply(DeleteTopic { topic: topic.id }), Outcome::Done);
            self.model.delete(&topic.partitions);
        }
    }

    fn advance(&mut self, a: u16, b: u16) {
        let partition = self.partitions[usize::from(a) % self.partitions.len()];
        let Some(image) = self.cluster.state.partition(partition) else { return };
        let to = image.log_start.0
            + (image.high_watermark.0 - image.log_start.0) * i64::from(b % 101) / 100;
        self.cluster.advance(partition, Some(to));
        self.model.advance(partition, to);
    }

    fn seal(&mut self) {
        let (file, length) = (self.cluster.file_id(self.cluster.file), self.cluster.position);
        self.cluster.apply(SealFile { file, length });
        self.cluster.file += 1;
        self.cluster.position = 0;
    }

    fn plan_folds(&mut self, a: u16) {
        let policy = FoldPolicy {
            extents_waiting_max: u64::from(a % 30),
            index_extents_max: 10,
            plans_max: 3,
        };
        self.plans.extend(fold::plan(&self.cluster.state, &policy));
    }

    /// Proposes the oldest plan, however much has happened since it was made.
    fn fold(&mut self) {
        if self.plans.is_empty() {
            return;
        }
        let plan = self.plans.remove(0);
        self.index_objects += 1;
        let (sequence, incarnation) = (self.index_objects, self.cluster.state.incarnation());
        let lane = LaneKey { lane: LaneId::OBJECTS, ..self.cluster.lane };
        let file = FileId { incarnation, lane, number: FileNumber(0), sequence };
        let index = ObjectId { incarnation, lane, sequence: LaneSequence(sequence) };
        let location = Location { file, position: 0, length: 10 };
        for command in plan.commands(index, location) {
            let Outcome::Folds(outcomes) = self.cluster.apply(command) else { panic!() };
            for (outcome, planned) in outcomes.iter().zip(&plan.runs) {
                let gone = self.model.is_below_log_start(&planned.run);
                assert_eq!(*outcome == FoldOutcome::Gone, gone);
            }
        }
    }

    fn collect_garbage(&mut self) {
        let (now, saved) = (self.cluster.now, AppliedIndex(u64::MAX));
        let files = garbage::plan(&self.cluster.state, now, 0, saved, 100);
        self.model.check_unused(&files);
        let count = files.len();
        assert_eq!(self.cluster.apply(ForgetFiles { files }), Outcome::Forgotten(count));
    }

    fn pass_time(&mut self, a: u16) {
        self.cluster.now.0 += HOUR_MS * i64::from(a % 30);
        self.cluster.apply(Tick {});
        self.model.expire(self.cluster.now);
    }

    fn register(&mut self) {
        let epoch = BrokerEpoch(self.cluster.lane.epoch.0 + 1);
        assert_eq!(self.cluster.register(BROKER), Outcome::Registered(epoch));
        self.cluster.lane.epoch = epoch;
        self.cluster.sequence = 0;
        self.cluster.file = 1;
        self.cluster.position = 0;
        self.last = None;
    }

    fn retain(&mut self, a: u16) {
        let Some(topic) = self.cluster.state.topics().next().map(|topic| topic.id) else { return };
        let bytes = u32::from(a % 10) * 100;
        let operation = ConfigOperation::Set(bytes.to_string());
        let name = "retention.bytes".to_owned();
        self.cluster.apply(AlterConfigs {
            resource: ConfigResource::Topic(topic),
            replace_all: true,
            changes: vec![ConfigChange { name, operation }],
        });
        let advances = retention::plan(&self.cluster.state, self.cluster.now, 100);
        for advance in &advances {
            self.model.advance(advance.partition, advance.to.expect("plans name it").0);
        }
        self.cluster.apply(AdvanceLogStart { advances });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_state_agrees_with_a_model_that_keeps_everything(
        steps in proptest::collection::vec(any::<Step>(), 1..120)
    ) {
        let mut world = World::new();
        for step in steps {
            world.step(step);
            world.model.check(&world.cluster.state);
        }
    }
}

/// Each twin that a single state can show must fail the model within these many random histories.
#[cfg(feature = "twins")]
#[test]
fn every_twin_is_caught_by_the_model() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    use tidemill_base::twins::{Twin, switch_on};

    const HISTORIES: usize = 300;
    let steps = proptest::collection::vec(any::<Step>(), 120);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let caught = [
        Twin::OutcomeForgotten,
        Twin::SkippedFlushAccepted,
        Twin::FloorIgnored,
        Twin::FoldWithoutCompare,
        Twin::DuplicateWindowOfFour,
        Twin::TopicIdReused,
        Twin::StaleSequenceAccepted,
    ]
    .map(|twin| {
        let mut runner = TestRunner::deterministic();
        let caught = (0..HISTORIES).any(|_| {
            let history = steps.new_tree(&mut runner).expect("steps are drawn").current();
            let run = || {
                let mut world = World::new();
                let _twin = switch_on(twin);
                for step in history {
                    world.step(step);
                    world.model.check(&world.cluster.state);
                }
            };
            catch_unwind(AssertUnwindSafe(run)).is_err()
        });
        (twin, caught)
    });
    std::panic::set_hook(hook);
    let missed: Vec<_> = caught.into_iter().filter(|(_, caught)| !caught).collect();
    assert_eq!(missed, []);
}
