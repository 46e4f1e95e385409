//! The assignors against the examples in the documentation of Kafka's own.

use super::*;

fn member(id: &str, topics: &[&str]) -> Member {
    let topics = topics.iter().map(|topic| Arc::from(*topic)).collect();
    Member { id: id.to_owned(), instance_id: None, topics }
}

fn counts(counts: &[(&str, i32)]) -> BTreeMap<Arc<str>, i32> {
    counts.iter().map(|(topic, count)| (Arc::from(*topic), *count)).collect()
}

/// `C0: t0-0 t0-1; C1: t0-2`
fn words(assignments: &Assignments) -> String {
    let one = |(id, partitions): (&String, &Vec<TopicPartition>)| {
        let partitions: Vec<String> = partitions.iter().map(ToString::to_string).collect();
        format!("{id}: {}", partitions.join(" ")).trim_end().to_owned()
    };
    assignments.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// RangeAssignor's example: two consumers, two topics of three partitions.
#[test]
fn range_gives_each_topics_extra_partition_to_the_first_members() {
    let members = [member("C1", &["t0", "t1"]), member("C0", &["t0", "t1"])];
    let assigned = Assignor::Range.assign(&members, &counts(&[("t0", 3), ("t1", 3)]));
    assert_eq!(words(&assigned), "C0: t0-0 t0-1 t1-0 t1-1; C1: t0-2 t1-2");
}

/// RoundRobinAssignor's first example: the same members and topics.
#[test]
fn round_robin_goes_on_from_topic_to_topic() {
    let members = [member("C0", &["t0", "t1"]), member("C1", &["t0", "t1"])];
    let assigned = Assignor::RoundRobin.assign(&members, &counts(&[("t0", 3), ("t1", 3)]));
    assert_eq!(words(&assigned), "C0: t0-0 t0-2 t1-1; C1: t0-1 t1-0 t1-2");
}

/// RoundRobinAssignor's second example: different subscriptions.
#[test]
fn round_robin_skips_members_that_do_not_want_the_topic() {
    let members =
        [member("C0", &["t0"]), member("C1", &["t0", "t1"]), member("C2", &["t0", "t1", "t2"])];
    let topics = counts(&[("t0", 1), ("t1", 2), ("t2", 3)]);
    let assigned = Assignor::RoundRobin.assign(&members, &topics);
    assert_eq!(words(&assigned), "C0: t0-0; C1: t1-0; C2: t1-1 t2-0 t2-1 t2-2");
}

#[test]
fn members_without_partitions_are_told_so_and_topics_nobody_wants_are_left() {
    let members = [member("a", &["t"]), member("b", &["t"]), member("c", &[])];
    let topics = counts(&[("t", 1), ("unwanted", 4)]);
    for assignor in [Assignor::Range, Assignor::RoundRobin] {
        assert_eq!(words(&assignor.assign(&members, &topics)), "a: t-0; b:; c:");
    }
}

#[test]
fn no_members_and_no_partitions_are_no_assignments() {
    for assignor in [Assignor::Range, Assignor::RoundRobin] {
        assert!(assignor.assign(&[], &counts(&[("t", 3)])).is_empty());
        assert_eq!(words(&assignor.assign(&[member("a", &["t"])], &counts(&[]))), "a:");
    }
}

/// RangeAssignor's example of static members: instance ids decide, not member ids.
#[test]
fn static_members_are_ordered_by_their_instance_ids() {
    let fixed = |id: &str, instance_id: &str| Member {
        instance_id: Some(instance_id.to_owned()),
        ..member(id, &["t"])
    };
    let members = [fixed("z", "I1"), member("a", &["t"]), fixed("b", "I2")];
    let assigned = Assignor::Range.assign(&members, &counts(&[("t", 3)]));
    assert_eq!(words(&assigned), "a: t-2; b: t-1; z: t-0");
}

#[test]
fn names_are_kafkas() {
    for assignor in [Assignor::Range, Assignor::RoundRobin] {
        assert_eq!(Assignor::from_name(assignor.name()), Some(assignor));
    }
    assert_eq!(Assignor::from_name("sticky"), None);
}
