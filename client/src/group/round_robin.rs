//! Round-robin: all partitions in a row, one to each member in turn (pure).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::group::assignor::{Assignments, Member};
use crate::topic_partition::TopicPartition;

/// Members come sorted.
pub(crate) fn assign(
    members: &[Member],
    partition_counts: &BTreeMap<Arc<str>, i32>,
) -> Assignments {
    let mut assignments: Assignments =
        members.iter().map(|member| (member.id.clone(), Vec::new())).collect();
    let mut turn = 0;
    for (topic, count) in partition_counts {
        if !members.iter().any(|member| member.wants(topic)) {
            continue;
        }
        for index in 0..*count {
            while !members[turn % members.len()].wants(topic) {
                turn += 1;
            }
            let member = &members[turn % members.len()];
            turn += 1;
            let partition = TopicPartition::new(topic.clone(), index);
            assignments.entry(member.id.clone()).or_default().push(partition);
        }
    }
    assignments
}
