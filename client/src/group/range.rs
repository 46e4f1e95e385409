//! Range: each topic by itself, in consecutive partitions (pure).

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
    for (topic, count) in partition_counts {
        let wanting: Vec<&Member> = members.iter().filter(|member| member.wants(topic)).collect();
        let Ok(among) = i32::try_from(wanting.len()) else { continue };
        if among == 0 {
            continue;
        }
        let (each, extra) = (count / among, count % among);
        let mut next = 0;
        for (member, place) in wanting.into_iter().zip(0..) {
            let share = each + i32::from(place < extra);
            let partitions =
                (next..next + share).map(|index| TopicPartition::new(topic.clone(), index));
            assignments.entry(member.id.clone()).or_default().extend(partitions);
            next += share;
        }
    }
    assignments
}
