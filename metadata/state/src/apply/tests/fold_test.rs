//! Folding: compare-and-swap on the exact extents.

use tidemill_base::digest::ExtentDigest;
use tidemill_base::{
    AppliedIndex, BatchOutcome, FileId, FileNumber, LaneId, LaneKey, LaneSequence, Location,
    ObjectId, Offset, PartitionId,
};

use crate::command::{Command, Condemn, FoldExtents, ForgetFiles, SealFile};
use crate::entry::Entry;
use crate::event::Event;
use crate::harness::{Harness, batch};
use crate::outcome::{FoldOutcome, Outcome};
use crate::plan::fold::{self, FoldPlan, FoldPolicy};
use crate::plan::garbage;
use crate::refusal::Refusal;

/// The index object of that sequence in the broker's object lane.
fn index(cluster: &Harness, sequence: u64) -> (ObjectId, Location) {
    let lane = LaneKey { lane: LaneId::OBJECTS, ..cluster.lane };
    let incarnation = cluster.state.incarnation();
    let file = FileId { incarnation, lane, number: FileNumber(0), sequence };
    let object = ObjectId { incarnation, lane, sequence: LaneSequence(sequence) };
    (object, Location { file, position: 0, length: 500 })
}

/// Partitions 1 and 2 with `count` extents each in file 1, which is sealed.
fn sealed(count: u32) -> (Harness, PartitionId, PartitionId) {
    let mut cluster = Harness::new();
    let [p, q] = cluster.topic("t", 2)[..] else { panic!() };
    for _ in 0..count {
        cluster.commit(vec![batch(p, 2), batch(q, 1)]);
    }
    let (file, length) = (cluster.file_id(1), cluster.position);
    cluster.apply(SealFile { file, length });
    cluster.file = 2;
    cluster.position = 0;
    (cluster, p, q)
}

fn plan(cluster: &Harness) -> FoldPlan {
    let plans = fold::plan(&cluster.state, &FoldPolicy::default());
    assert_eq!(plans.len(), 1);
    plans[0].clone()
}

fn fold(cluster: &mut Harness, plan: &FoldPlan, sequence: u64) -> Vec<FoldOutcome> {
    let (object, location) = index(cluster, sequence);
    let commands = plan.commands(object, location);
    let outcomes = commands.into_iter().map(|command| match cluster.apply(command) {
        Outcome::Folds(outcomes) => outcomes,
        other => panic!("{other:?}"),
    });
    outcomes.flatten().collect()
}

fn fold_command(plan: &FoldPlan, index: (ObjectId, Location)) -> FoldExtents {
    match plan.commands(index.0, index.1).remove(0) {
        Command::FoldExtents(command) => command,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_sealed_file_becomes_one_entry_for_each_partition() {
    let (mut cluster, p, q) = sealed(5);
    let plan = plan(&cluster);
    assert_eq!(plan.file, cluster.file_id(1));
    assert_eq!(plan.runs.len(), 2);
    assert_eq!(plan.runs[0].extents.len(), 5);
    assert_eq!(fold(&mut cluster, &plan, 1), [FoldOutcome::Folded; 2]);
    let [Entry::Folded(folded)] = cluster.entries(p)[..] else { panic!() };
    assert_eq!((folded.base_offset, folded.record_count), (Offset(0), 10));
    assert_eq!((folded.length, folded.extents), (500, 5));
    assert_eq!(folded.index, index(&cluster, 1).1);
    assert!(matches!(cluster.events()[0], Event::RunFolded { partition, .. } if partition == p));
    let data = cluster.state.file(&plan.file).expect("it is known");
    assert_eq!((data.live_bytes, data.references), (1000, 2));
    assert_eq!(cluster.state.extents_waiting(), 0);
    assert!(fold::plan(&cluster.state, &FoldPolicy::default()).is_empty());
    cluster.commit(vec![batch(q, 1)]);
    assert_eq!(cluster.entries(q).len(), 2);
}

#[test]
fn a_fold_proposed_twice_is_refused_and_its_output_garbage() {
    let (mut cluster, ..) = sealed(3);
    let plan = plan(&cluster);
    fold(&mut cluster, &plan, 1);
    assert_eq!(fold(&mut cluster, &plan, 1), [FoldOutcome::Changed; 2], "the same again");
    assert_eq!(cluster.state.file(&index(&cluster, 1).1.file).and_then(|file| file.freed), None);
    assert_eq!(fold(&mut cluster, &plan, 2), [FoldOutcome::Changed; 2], "another worker's");
    let other = index(&cluster, 2).1.file;
    assert_eq!(cluster.events(), [Event::FileUnreachable { file: other, at: cluster.now }]);
    let command = fold_command(&plan, index(&cluster, 2));
    assert_eq!(cluster.apply(command), Outcome::Refused(Refusal::Condemned), "it is garbage");
}

#[test]
fn extents_gone_from_the_front_do_not_refuse() {
    let (mut cluster, p, q) = sealed(5);
    let plan = plan(&cluster);
    cluster.advance(p, Some(5));
    cluster.advance(q, None);
    assert_eq!(fold(&mut cluster, &plan, 1), [FoldOutcome::Folded, FoldOutcome::Gone]);
    let [Entry::Folded(folded)] = cluster.entries(p)[..] else { panic!() };
    assert_eq!((folded.base_offset, folded.record_count, folded.extents), (Offset(4), 6, 3));
}

#[test]
fn anything_else_that_changed_refuses() {
    let (mut cluster, p, _) = sealed(5);
    let sound = fold_command(&plan(&cluster), index(&cluster, 1));
    let broken: [fn(&mut FoldExtents); 6] = [
        |fold| fold.runs[0].digest = ExtentDigest(1),
        |fold| fold.runs[0].entries += 1,
        |fold| fold.runs[0].end_offset.0 -= 1,
        |fold| fold.runs[0].first_offset.0 += 1,
        |fold| fold.runs[0].end_offset.0 += 1,
        |fold| fold.file.number.0 += 1,
    ];
    for (sequence, break_it) in (10..).zip(broken) {
        let (object, location) = index(&cluster, sequence);
        let mut command = FoldExtents { index: object, location, ..sound.clone() };
        command.runs.truncate(1);
        break_it(&mut command);
        assert_eq!(cluster.apply(command), Outcome::Folds(vec![FoldOutcome::Changed]));
        assert_eq!(cluster.entries(p).len(), 5);
    }
    let mut command = sound.clone();
    command.runs[0].partition = PartitionId(99);
    let outcomes = vec![FoldOutcome::Gone, FoldOutcome::Folded];
    assert_eq!(cluster.apply(command), Outcome::Folds(outcomes), "each run is judged alone");
}

#[test]
fn index_objects_obey_their_lane() {
    let (mut cluster, ..) = sealed(2);
    let plan = plan(&cluster);
    let lane = LaneKey { lane: LaneId::OBJECTS, ..cluster.lane };
    cluster.apply(Condemn { lane, floor: LaneSequence(5) });
    let condemned = fold_command(&plan, index(&cluster, 5));
    assert_eq!(cluster.apply(condemned), Outcome::Refused(Refusal::Condemned));
    let mut wrong_lane = fold_command(&plan, index(&cluster, 6));
    wrong_lane.index.lane.lane = LaneId(0);
    wrong_lane.location.file.lane.lane = LaneId(0);
    assert!(matches!(cluster.apply(wrong_lane), Outcome::Refused(Refusal::Malformed(_))));
    let mut fenced = fold_command(&plan, index(&cluster, 6));
    fenced.index.lane.epoch.0 = 0;
    fenced.location.file.lane.epoch.0 = 0;
    assert_eq!(cluster.apply(fenced), Outcome::Refused(Refusal::BrokerFenced));
    let mut half = fold_command(&plan, index(&cluster, 9));
    let mut rest = half.clone();
    half.runs.truncate(1);
    rest.runs.remove(0);
    assert_eq!(cluster.apply(half), Outcome::Folds(vec![FoldOutcome::Folded]));
    let mut longer = rest.clone();
    longer.location.length += 1;
    assert_eq!(cluster.apply(longer), Outcome::Refused(Refusal::OtherLocation));
    assert_eq!(cluster.apply(rest), Outcome::Folds(vec![FoldOutcome::Folded]), "in two commands");
}

#[test]
fn retention_takes_folded_entries_and_their_index_objects() {
    let (mut cluster, p, q) = sealed(3);
    let plan = plan(&cluster);
    fold(&mut cluster, &plan, 1);
    cluster.advance(p, None);
    cluster.advance(q, None);
    let (data, index_file) = (cluster.file_id(1), index(&cluster, 1).1.file);
    assert_eq!(
        cluster.events()[1..],
        [
            Event::FileUnreachable { file: data, at: cluster.now },
            Event::FileUnreachable { file: index_file, at: cluster.now },
        ]
    );
    let files = garbage::plan(&cluster.state, cluster.now, 0, AppliedIndex(u64::MAX), 10);
    assert_eq!(files.len(), 2);
    assert_eq!(cluster.apply(ForgetFiles { files }), Outcome::Forgotten(2));
    let command = fold_command(&plan, index(&cluster, 1));
    let refused = cluster.apply(command);
    assert_eq!(refused, Outcome::Refused(Refusal::Condemned), "a deleted object never comes back");
}

#[test]
fn runs_end_where_another_file_or_a_folded_entry_stands() {
    let (mut cluster, p, _) = sealed(2);
    cluster.commit(vec![batch(p, 1)]);
    cluster.commit(vec![batch(p, 1)]);
    let policy = FoldPolicy { extents_waiting_max: 0, plans_max: 4, ..FoldPolicy::default() };
    let plans = fold::plan(&cluster.state, &policy);
    let runs: Vec<_> = plans
        .iter()
        .flat_map(|plan| &plan.runs)
        .map(|planned| (planned.run.partition.0, planned.run.first_offset.0, planned.extents.len()))
        .collect();
    assert_eq!(runs, [(1, 0, 2), (2, 0, 2), (1, 4, 2)]);
}

#[test]
fn the_longest_runs_of_an_open_file_go_first_and_only_as_many_as_needed() {
    let mut cluster = Harness::new();
    let partitions = cluster.topic("t", 4);
    for (partition, count) in partitions.iter().zip([2, 6, 1, 4]) {
        for _ in 0..count {
            cluster.commit(vec![batch(*partition, 1)]);
        }
    }
    let policy = FoldPolicy { extents_waiting_max: 8, index_extents_max: 3, plans_max: 4 };
    let plans = fold::plan(&cluster.state, &policy);
    assert_eq!(plans.len(), 1);
    assert_eq!(plans[0].runs.iter().map(|run| run.extents.len()).collect::<Vec<_>>(), [6]);
    let none = FoldPolicy { extents_waiting_max: 13, ..policy };
    assert!(fold::plan(&cluster.state, &none).is_empty());
}

#[test]
fn a_committed_batch_stays_where_it_is_after_many_folds() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let policy = FoldPolicy { extents_waiting_max: 0, ..FoldPolicy::default() };
    for round in 1..=150 {
        for _ in 0..3 {
            let outcome = cluster.commit_one(batch(p, 1));
            assert!(matches!(outcome, BatchOutcome::Committed { .. }));
        }
        let plan = fold::plan(&cluster.state, &policy).remove(0);
        assert_eq!(fold(&mut cluster, &plan, round), [FoldOutcome::Folded]);
    }
    let entries = cluster.entries(p);
    assert_eq!(entries.len(), 150);
    assert!(entries.windows(2).all(|pair| pair[0].end_offset() == pair[1].base_offset()));
}

#[test]
fn a_large_fold_is_proposed_in_several_commands() {
    let mut cluster = Harness::new();
    let partitions = cluster.topic("t", 50);
    for _ in 0..500 {
        let batches = partitions.iter().map(|partition| batch(*partition, 1)).collect();
        let object = cluster.next_object(batches).into();
        let index = AppliedIndex(cluster.state.applied_index().0 + 1);
        cluster.state.apply(index, cluster.now, &object);
    }
    let policy = FoldPolicy { extents_waiting_max: 0, ..FoldPolicy::default() };
    let plan = fold::plan(&cluster.state, &policy).remove(0);
    let (object, location) = index(&cluster, 1);
    let commands = plan.commands(object, location);
    assert_eq!(commands.len(), 3);
    for command in commands {
        let index = AppliedIndex(cluster.state.applied_index().0 + 1);
        let applied = cluster.state.apply(index, cluster.now, &command);
        let Outcome::Folds(outcomes) = applied.outcome else { panic!() };
        assert!(outcomes.iter().all(|outcome| *outcome == FoldOutcome::Folded));
    }
    assert_eq!(cluster.state.extents_waiting(), 0);
}

#[cfg(feature = "twins")]
#[test]
fn without_comparing_a_stale_fold_is_accepted() {
    use tidemill_base::twins::{Twin, switch_on};
    let (mut cluster, ..) = sealed(3);
    let plan = plan(&cluster);
    fold(&mut cluster, &plan, 1);
    let _twin = switch_on(Twin::FoldWithoutCompare);
    assert_eq!(fold(&mut cluster, &plan, 2), [FoldOutcome::Folded; 2]);
}
