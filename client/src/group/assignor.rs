//! How partitions are shared out among the members of a group (pure).
//!
//! One member, the leader, does it for all. The results are those of Kafka's Java client for the
//! same members and partitions, so that members of both kinds can share a group.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::group::{range, round_robin};
use crate::topic_partition::TopicPartition;

/// A way to share partitions out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assignor {
    /// Each topic by itself: consecutive partitions, as many for each member; the first members
    /// have one more if it does not come out even. Same partitions of two topics go to the same
    /// member if both have equally many.
    Range,
    /// All partitions of all topics one after the other, one to each member in turn.
    RoundRobin,
}

/// A member, as the leader knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub(crate) id: String,
    pub(crate) instance_id: Option<String>,
    pub(crate) topics: Vec<Arc<str>>,
}

/// Each member's partitions, by member id; every member is in it.
pub(crate) type Assignments = BTreeMap<String, Vec<TopicPartition>>;

impl Assignor {
    /// Kafka's name of it, by which members agree.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::RoundRobin => "roundrobin",
        }
    }

    /// The assignor of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Range, Self::RoundRobin].into_iter().find(|assignor| assignor.name() == name)
    }

    /// Shares out the partitions of the topics, of which there are so many each.
    pub(crate) fn assign(
        self,
        members: &[Member],
        partition_counts: &BTreeMap<Arc<str>, i32>,
    ) -> Assignments {
        let mut sorted = members.to_vec();
        sorted.sort_by(Member::order);
        match self {
            Self::Range => range::assign(&sorted, partition_counts),
            Self::RoundRobin => round_robin::assign(&sorted, partition_counts),
        }
    }
}

impl Member {
    /// Static members first, by their instance ids, which outlive member ids; the others by those.
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        match (&self.instance_id, &other.instance_id) {
            (Some(ours), Some(theirs)) => ours.cmp(theirs),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => self.id.cmp(&other.id),
        }
    }

    pub(crate) fn wants(&self, topic: &Arc<str>) -> bool {
        self.topics.contains(topic)
    }
}

#[cfg(test)]
mod assignor_test;
