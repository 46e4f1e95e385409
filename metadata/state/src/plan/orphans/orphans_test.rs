//! What nobody knows goes, and whatever could still be committed stays.

use proptest::prelude::*;
use tidemill_base::{AppliedIndex, BatchFacts, BrokerEpoch, Location, ObjectId, PartitionId};

use super::*;
use crate::command::{FenceBroker, FoldExtents, ForgetFiles, StartIncarnation};
use crate::harness::{BROKER, Harness, batch};
use crate::outcome::Outcome;
use crate::plan::garbage;
use crate::refusal::Refusal;

const LIMITS: OrphanLimits =
    OrphanLimits { patience: Duration::from_secs(60), grace: Duration::from_secs(600) };

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn object(cluster: &Harness, lane: LaneId, sequence: u64) -> FileId {
    let lane = LaneKey { lane, ..cluster.lane };
    let incarnation = cluster.state.incarnation();
    FileId { incarnation, lane, number: FileNumber(0), sequence }
}

fn found(cluster: &Harness, files: &[FileId]) -> Vec<Found> {
    let found = |file: &FileId| Found {
        file: *file,
        length: 100,
        standing: standing(&cluster.state, file),
    };
    files.iter().map(found).collect()
}

fn look(watch: &mut OrphanWatch, cluster: &Harness, at: u64, files: &[FileId]) -> OrphanPlan {
    watch.look(secs(at), LIMITS, &found(cluster, files))
}

/// A fold that names `file` as its index object.
fn late_fold(cluster: &Harness, file: FileId) -> FoldExtents {
    let sequence = LaneSequence(file.sequence);
    let index = ObjectId { incarnation: file.incarnation, lane: file.lane, sequence };
    let location = Location { file, position: 0, length: 100 };
    FoldExtents { file: cluster.file_id(1), index, location, runs: Vec::new() }
}

fn in_file(cluster: &mut Harness, number: u32, batches: Vec<BatchFacts>) -> Command {
    cluster.file = number;
    cluster.position = 0;
    cluster.next_object(batches).into()
}

fn topic(cluster: &mut Harness) -> PartitionId {
    cluster.topic("t", 1)[0]
}

#[test]
fn a_file_that_its_lane_left_is_sealed_after_the_patience_and_then_garbage() {
    let mut cluster = Harness::new();
    let p = topic(&mut cluster);
    // File 1 holds a flush that failed; the lane goes on in file 2.
    let late = in_file(&mut cluster, 1, vec![batch(p, 1)]);
    cluster.sequence -= 1;
    let next = in_file(&mut cluster, 2, vec![batch(p, 1)]);
    assert!(matches!(cluster.apply(next), Outcome::Object(_)));
    let files = [cluster.file_id(1), cluster.file_id(2)];
    let mut watch = OrphanWatch::default();
    assert_eq!(look(&mut watch, &cluster, 10, &files), OrphanPlan::default());
    assert_eq!(watch.due_in(secs(30), LIMITS), Some(secs(40)));
    assert_eq!(look(&mut watch, &cluster, 69, &files), OrphanPlan::default());
    let plan = look(&mut watch, &cluster, 70, &files);
    let seal = SealFile { file: files[0], length: 100 };
    assert_eq!(plan, OrphanPlan { commands: vec![seal.clone().into()], ..OrphanPlan::default() });
    cluster.apply(seal);
    let Command::CommitObject(mut late) = late else { panic!() };
    late.object.sequence = LaneSequence(2);
    assert_eq!(cluster.apply(late), Outcome::Refused(Refusal::FileSealed));
    assert_eq!(look(&mut watch, &cluster, 80, &files), OrphanPlan::default());
    let saved = AppliedIndex(u64::MAX);
    assert_eq!(garbage::plan(&cluster.state, cluster.now, 600_000, saved, 9), []);
    cluster.now.0 += 600_000;
    assert_eq!(garbage::plan(&cluster.state, cluster.now, 600_000, saved, 9), [files[0]]);
}

#[test]
fn the_newest_file_of_a_lane_is_left_to_it() {
    let cluster = Harness::new();
    let files = [cluster.file_id(1)];
    let mut watch = OrphanWatch::default();
    for at in [0, 1_000, 100_000] {
        assert_eq!(look(&mut watch, &cluster, at, &files), OrphanPlan::default());
    }
    assert_eq!(watch.due_in(secs(0), LIMITS), None);
}

#[test]
fn a_file_below_one_that_was_forgotten_is_deleted_after_the_grace() {
    let mut cluster = Harness::new();
    let newer = cluster.file_id(2);
    cluster.apply(SealFile { file: newer, length: 0 });
    cluster.apply(ForgetFiles { files: vec![newer] });
    let files = [cluster.file_id(1), cluster.file_id(3)];
    assert_eq!(standing(&cluster.state, &files[0]), Standing::Refused);
    let mut watch = OrphanWatch::default();
    assert_eq!(look(&mut watch, &cluster, 0, &files), OrphanPlan::default());
    assert_eq!(look(&mut watch, &cluster, 599, &files), OrphanPlan::default());
    assert_eq!(look(&mut watch, &cluster, 600, &files).deletable, [files[0]]);
}

#[test]
fn an_index_object_of_a_refused_fold_is_condemned_and_deleted_after_the_grace() {
    let mut cluster = Harness::new();
    let files = [1, 2].map(|sequence| object(&cluster, LaneId::OBJECTS, sequence));
    let mut watch = OrphanWatch::default();
    assert_eq!(look(&mut watch, &cluster, 0, &files[..1]), OrphanPlan::default());
    // The second came later: the floor stays below it.
    assert_eq!(look(&mut watch, &cluster, 59, &files), OrphanPlan::default());
    let plan = look(&mut watch, &cluster, 60, &files);
    let condemn = Condemn { lane: files[0].lane, floor: LaneSequence(1) };
    assert_eq!(plan.commands, [condemn.clone().into()]);
    assert_eq!(plan.deletable, []);
    cluster.apply(condemn);
    let late = late_fold(&cluster, files[0]);
    assert_eq!(cluster.apply(late), Outcome::Refused(Refusal::Condemned));
    assert_eq!(look(&mut watch, &cluster, 61, &files), OrphanPlan::default());
    assert_eq!(look(&mut watch, &cluster, 660, &files).deletable, []);
    assert_eq!(look(&mut watch, &cluster, 661, &files).deletable, [files[0]]);
    // It landed once more, late: it is found again, and goes again.
    assert_eq!(look(&mut watch, &cluster, 662, &files[..1]).deletable, [files[0]]);
}

#[test]
fn an_index_object_that_a_fold_named_in_time_is_kept() {
    let mut cluster = Harness::new();
    let file = object(&cluster, LaneId::OBJECTS, 1);
    let mut watch = OrphanWatch::default();
    look(&mut watch, &cluster, 0, &[file]);
    let in_time = late_fold(&cluster, file);
    cluster.apply(in_time);
    // It is known: garbage here, for it has no run, which is not this plan's.
    assert_eq!(standing(&cluster.state, &file), Standing::Kept);
    assert_eq!(look(&mut watch, &cluster, 1_000, &[file]), OrphanPlan::default());
}

#[test]
fn a_floor_never_rises_above_what_a_log_lane_has_decided() {
    let mut cluster = Harness::new();
    let p = topic(&mut cluster);
    cluster.commit(vec![batch(p, 1)]);
    let lane = cluster.lane.lane;
    let files = [1, 2].map(|sequence| object(&cluster, lane, sequence));
    assert_eq!(standing(&cluster.state, &files[0]), Standing::Open);
    assert_eq!(standing(&cluster.state, &files[1]), Standing::Kept);
    let mut watch = OrphanWatch::default();
    look(&mut watch, &cluster, 0, &files);
    let condemn = Condemn { lane: cluster.lane, floor: LaneSequence(1) };
    assert_eq!(look(&mut watch, &cluster, 60, &files).commands, [condemn.clone().into()]);
    cluster.apply(condemn);
    assert!(matches!(cluster.commit(vec![batch(p, 1)])[..], [_]), "the lane goes on");
}

#[test]
fn what_an_ended_registration_left_goes_at_once_and_what_lies_ahead_is_kept() {
    let mut cluster = Harness::new();
    let old = object(&cluster, LaneId::OBJECTS, 1);
    let ahead = LaneKey { epoch: BrokerEpoch(3), ..cluster.lane };
    let ahead = FileId { lane: ahead, ..cluster.file_id(1) };
    let stranger = LaneKey { broker: tidemill_base::BrokerId(77), ..cluster.lane };
    let stranger = FileId { lane: stranger, ..cluster.file_id(1) };
    let files = [old, cluster.file_id(1), ahead, stranger];
    cluster.register(BROKER);
    let plan = look(&mut OrphanWatch::default(), &cluster, 0, &files);
    assert_eq!(plan, OrphanPlan { left_over: files[..2].to_vec(), ..OrphanPlan::default() });
    cluster.apply(FenceBroker { broker: BROKER, epoch: BrokerEpoch(2) });
    cluster.apply(StartIncarnation { incarnation: tidemill_base::Incarnation(3) });
    let later = FileId { incarnation: tidemill_base::Incarnation(4), ..old };
    assert_eq!(standing(&cluster.state, &later), Standing::Kept);
    assert_eq!(standing(&cluster.state, &old), Standing::Over);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever order condemning, folding, forgetting and registering come in: from when a file is
    /// deletable, every command that names it is refused, and no file that is known is deletable.
    #[test]
    fn what_is_deletable_is_refused_for_ever(
        steps in proptest::collection::vec((0..7_u8, 1..6_u64), 1..60)
    ) {
        let mut cluster = Harness::new();
        let p = topic(&mut cluster);
        let mut files: Vec<FileId> =
            (1..6).map(|sequence| object(&cluster, LaneId::OBJECTS, sequence)).collect();
        files.extend((1..6).map(|number| cluster.file_id(number)));
        let mut gone: Vec<FileId> = Vec::new();
        let mut watch = OrphanWatch::default();
        for (at, (kind, number)) in steps.into_iter().enumerate() {
            match kind {
                0 => {
                    let file = object(&cluster, LaneId::OBJECTS, number);
                    let fold = late_fold(&cluster, file);
                    cluster.apply(fold);
                }
                1 => {
                    let commit = in_file(&mut cluster, number as u32, vec![batch(p, 1)]);
                    if !matches!(cluster.apply(commit), Outcome::Object(_)) {
                        cluster.sequence -= 1;
                    }
                }
                2 => {
                    let saved = AppliedIndex(u64::MAX);
                    let files = garbage::plan(&cluster.state, cluster.now, 0, saved, 10);
                    cluster.apply(ForgetFiles { files });
                }
                3 if number == 1 => {
                    cluster.register(BROKER);
                    cluster.lane.epoch.0 += 1;
                    cluster.sequence = 0;
                }
                _ => {
                    let plan = look(&mut watch, &cluster, at as u64 * 300, &files);
                    for command in plan.commands {
                        cluster.apply(command);
                    }
                    gone.extend(plan.deletable.into_iter().chain(plan.left_over));
                }
            }
            for file in &gone {
                prop_assert_eq!(cluster.state.file(file), None);
                prop_assert!(matches!(
                    standing(&cluster.state, file), Standing::Refused | Standing::Over
                ));
            }
        }
    }
}
