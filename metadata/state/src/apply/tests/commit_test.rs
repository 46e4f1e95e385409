//! Committing objects: offsets, extents, what is refused whole.

use tidemill_base::{BatchOutcome, LeaderEpoch, Offset, PartitionId, TimestampMs};

use crate::command::DeleteTopic;
use crate::entry::{Entry, Extent};
use crate::event::Event;
use crate::harness::{BATCH_BYTES, Harness, START, batch, produced};
use crate::limits::Limits;
use crate::outcome::Outcome;
use crate::refusal::Refusal;

fn committed(base_offset: i64) -> BatchOutcome {
    BatchOutcome::Committed { base_offset: Offset(base_offset), log_start: Offset(0) }
}

#[test]
fn adjacent_batches_of_a_partition_become_one_extent() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let outcomes = cluster.commit(vec![batch(p, 3), batch(p, 1), batch(p, 5)]);
    assert_eq!(outcomes, [committed(0), committed(3), committed(4)]);
    let extent = Extent {
        file: cluster.file_id(1),
        position: 64,
        length: 3 * BATCH_BYTES,
        base_offset: Offset(0),
        record_count: 9,
        max_timestamp: START,
        leader_epoch: LeaderEpoch(0),
    };
    assert_eq!(cluster.entries(p), [Entry::Extent(extent)]);
    assert_eq!(cluster.events(), [Event::Appended { extents: vec![(p, extent)] }]);
    let image = cluster.state.partition(p).expect("it exists");
    assert_eq!((image.log_start, image.high_watermark), (Offset(0), Offset(9)));
}

#[test]
fn a_refused_batch_splits_the_extent() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let outcomes = cluster.commit(vec![
        batch(p, 2),
        produced(p, 1, 7, 0, 5), // out of order
        batch(p, 2),
        batch(p, 2),
    ]);
    assert_eq!(outcomes, [committed(0), BatchOutcome::OutOfOrder, committed(2), committed(4)]);
    let places: Vec<_> = cluster.entries(p).iter().map(place).collect();
    assert_eq!(places, [(64, 100, 0, 2), (264, 200, 2, 4)]);
}

fn place(entry: &Entry) -> (u64, u32, i64, u32) {
    match entry {
        Entry::Extent(extent) => {
            (extent.position, extent.length, extent.base_offset.0, extent.record_count)
        }
        Entry::Folded(folded) => panic!("{folded:?}"),
    }
}

#[test]
fn partitions_share_an_object_and_come_back_to_it() {
    let mut cluster = Harness::new();
    let [p, q] = cluster.topic("t", 2)[..] else { panic!() };
    let outcomes = cluster.commit(vec![batch(p, 1), batch(q, 1), batch(p, 1)]);
    assert_eq!(outcomes, [committed(0), committed(0), committed(1)]);
    assert_eq!(
        cluster.entries(p).iter().map(place).collect::<Vec<_>>(),
        [(64, 100, 0, 1), (264, 100, 1, 1)]
    );
    assert_eq!(cluster.entries(q).iter().map(place).collect::<Vec<_>>(), [(164, 100, 0, 1)]);
}

#[test]
fn a_partition_that_is_gone_refuses_its_batches_alone() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let [q] = cluster.topic("u", 1)[..] else { panic!() };
    let topic = cluster.topic_id("t");
    cluster.apply(DeleteTopic { topic });
    let outcomes = cluster.commit(vec![batch(p, 1), batch(q, 1), batch(PartitionId(77), 1)]);
    assert_eq!(outcomes, [BatchOutcome::PartitionGone, committed(0), BatchOutcome::PartitionGone]);
    assert_eq!(cluster.topic("t", 1), [PartitionId(3)], "ids are never reused");
}

#[test]
fn a_batch_without_timestamps_counts_from_its_commit() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let mut without = batch(p, 1);
    without.max_timestamp = TimestampMs(-1);
    cluster.commit(vec![without]);
    assert_eq!(cluster.entries(p)[0].max_timestamp(), cluster.now);
}

#[test]
fn an_object_that_contradicts_itself_is_refused_whole() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let sound = cluster.next_object(vec![batch(p, 1), batch(p, 1)]);
    let broken: [fn(&mut crate::command::CommitObject); 7] = [
        |object| object.batches[1].position -= 1,
        |object| object.batches[1].length += 1,
        |object| object.batches[0].length = 0,
        |object| object.batches[0].record_count = 0,
        |object| object.batches[0].record_count = u32::MAX,
        |object| object.location.file.lane.lane.0 += 1,
        |object| object.location.position = u64::MAX,
    ];
    for break_it in broken {
        let mut object = sound.clone();
        break_it(&mut object);
        let outcome = cluster.apply(object);
        assert!(matches!(outcome, Outcome::Refused(Refusal::Malformed(_))), "{outcome:?}");
        assert_eq!(cluster.entries(p), []);
    }
    assert!(matches!(cluster.apply(sound), Outcome::Object(_)));
}

#[test]
fn a_full_index_throttles() {
    let limits = Limits { log_entries_max: 3, ..Limits::default() };
    let mut cluster = Harness::with_limits(limits);
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    cluster.commit(vec![batch(p, 1)]);
    cluster.commit(vec![batch(p, 1)]);
    cluster.commit(vec![batch(p, 1)]);
    let object = cluster.next_object(vec![batch(p, 1)]);
    let refused = Refusal::Limit { what: "log entries", max: 3 };
    assert_eq!(cluster.apply(object.clone()), Outcome::Refused(refused));
    cluster.advance(p, Some(2));
    assert!(matches!(cluster.apply(object), Outcome::Object(_)));
}

#[test]
fn commits_encode_small() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let batches: Vec<_> = (0..20).map(|at| produced(p, 1, 1, 0, at)).collect();
    let object: crate::Command = cluster.next_object(batches).into();
    let bytes = object.encode(START).len();
    assert!(bytes <= 20 * 40, "{bytes}");
}
