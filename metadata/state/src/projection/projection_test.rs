//! The queries of a projection, and what it refuses.

use tidemill_base::{AppliedIndex, Offset, PartitionIndex, TimestampMs};

use super::{Covered, NotNext, Projection};
use crate::entry::Entry;
use crate::harness::{BATCH_BYTES, Harness, batch};

fn offsets(entries: &[Entry]) -> Vec<(i64, i64)> {
    entries.iter().map(|entry| (entry.base_offset().0, entry.end_offset().0)).collect()
}

#[test]
fn a_message_that_does_not_follow_is_not_applied() {
    let mut projection = Projection::new();
    let covered = |from, to| Covered { from: AppliedIndex(from), to: AppliedIndex(to) };
    assert_eq!(projection.apply(covered(0, 3), &[]), Ok(()));
    let expected = NotNext { expected: AppliedIndex(3), found: AppliedIndex(2) };
    assert_eq!(projection.apply(covered(2, 5), &[]), Err(expected));
    assert_eq!(projection.applied_index(), AppliedIndex(3));
    assert_eq!(projection.apply(covered(3, 4), &[]), Ok(()));
}

#[test]
fn topics_are_found_by_name_and_id() {
    let mut cluster = Harness::new();
    let ids = cluster.topic("b", 2);
    cluster.topic("a", 1);
    let projection = &cluster.projection;
    let topic = projection.topic("b").expect("it exists");
    assert_eq!(projection.topic_by_id(topic.id), Some(topic));
    assert_eq!(projection.partition_id(topic.id, PartitionIndex(1)), Some(ids[1]));
    assert_eq!(projection.partition_id(topic.id, PartitionIndex(2)), None);
    assert_eq!(projection.partition_id(topic.id, PartitionIndex(-1)), None);
    let view = projection.partition(ids[1]).expect("it exists");
    assert_eq!((view.topic(), view.index(), view.id()), (topic.id, PartitionIndex(1), ids[1]));
    let names: Vec<_> = projection.topics().map(|topic| topic.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(projection.topic("c").is_none());
}

#[test]
fn reads_begin_at_the_entry_that_holds_the_offset() {
    let mut cluster = Harness::new();
    let p = cluster.topic("t", 1)[0];
    for _ in 0..300 {
        cluster.commit(vec![batch(p, 10)]);
    }
    let view = cluster.projection.partition(p).expect("it exists");
    let bytes = u64::from(BATCH_BYTES);
    assert_eq!(offsets(&view.entries_from(Offset(15), bytes, 9)), [(10, 20)]);
    assert_eq!(offsets(&view.entries_from(Offset(20), bytes + 1, 9)), [(20, 30), (30, 40)]);
    assert_eq!(offsets(&view.entries_from(Offset(1_279), 0, 0)), [(1_270, 1_280)], "at least one");
    assert_eq!(view.entries_from(Offset(0), u64::MAX, 7).len(), 7);
    assert_eq!(view.entries_from(Offset(0), u64::MAX, usize::MAX).len(), 300);
    assert_eq!(view.entries_from(Offset(3_000), u64::MAX, 9), []);
    assert_eq!(view.bytes_from(Offset(2_985), u64::MAX), 2 * bytes);
    assert_eq!(view.bytes_from(Offset(0), 250), 3 * bytes);
    assert_eq!(view.bytes(), 300 * bytes);
    assert_eq!(view.last_stable_offset(), view.high_watermark());
}

#[test]
fn timestamps_lead_to_the_first_entry_in_offset_order_that_reaches_them() {
    let mut cluster = Harness::new();
    let p = cluster.topic("t", 1)[0];
    for timestamp in [10, 50, 20, 60, 30] {
        let mut stamped = batch(p, 2);
        stamped.max_timestamp = TimestampMs(timestamp);
        cluster.commit(vec![stamped]);
    }
    let at = |cluster: &Harness, timestamp, from| {
        let view = cluster.projection.partition(p).expect("it exists");
        let entry = view.entry_reaching(TimestampMs(timestamp), Offset(from));
        entry.map(|entry| entry.base_offset().0)
    };
    assert_eq!(at(&cluster, 0, 0), Some(0));
    assert_eq!(at(&cluster, 11, 0), Some(2));
    assert_eq!(at(&cluster, 51, 0), Some(6));
    assert_eq!(at(&cluster, 61, 0), None);
    assert_eq!(at(&cluster, 11, 4), Some(4), "asked again from the end of the candidate");
    let view = cluster.projection.partition(p).expect("it exists");
    assert_eq!(view.max_timestamp(), Some(TimestampMs(60)));
    cluster.advance(p, Some(4));
    assert_eq!(at(&cluster, 11, 0), Some(4), "the log start hides what is below");
}

#[test]
fn files_are_forgotten_with_their_last_entry() {
    let mut cluster = Harness::new();
    let p = cluster.topic("t", 1)[0];
    cluster.commit(vec![batch(p, 1)]);
    let file = cluster.file_id(1);
    assert!(cluster.projection.refers_to(&file));
    cluster.advance(p, None);
    assert!(!cluster.projection.refers_to(&file));
    assert!(cluster.projection.approximate_bytes() > 0);
}
