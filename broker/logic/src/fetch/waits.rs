//! Fetches that wait for bytes.
//!
//! A waiter names its partitions and how many bytes it still wants. Each append takes its bytes off;
//! when nothing is missing any more the waiter is due, once. Nothing polls: the time limit of a fetch
//! is a timer of its caller, who then removes the waiter.
//!
//! Bounds: a waiter exists per connection at most, and names at most the partitions of its request.

use std::collections::{BTreeMap, BTreeSet};

use tidemill_base::PartitionId;

/// A waiter's number, unique for the life of the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct WaiterId(u64);

#[derive(Debug)]
struct Waiter {
    partitions: Vec<PartitionId>,
    missing_bytes: u64,
}

/// All fetches that wait.
#[derive(Debug, Default)]
pub struct FetchWaits {
    next: u64,
    waiters: BTreeMap<WaiterId, Waiter>,
    by_partition: BTreeMap<PartitionId, BTreeSet<WaiterId>>,
}

impl FetchWaits {
    /// Adds a waiter that is due once `missing_bytes` more have been appended to `partitions`.
    pub fn wait(&mut self, partitions: Vec<PartitionId>, missing_bytes: u64) -> WaiterId {
        self.next += 1;
        let id = WaiterId(self.next);
        for partition in &partitions {
            self.by_partition.entry(*partition).or_default().insert(id);
        }
        self.waiters.insert(id, Waiter { partitions, missing_bytes });
        id
    }

    /// Takes a waiter away: it has been answered, or its client has gone.
    pub fn remove(&mut self, id: WaiterId) {
        let Some(waiter) = self.waiters.remove(&id) else { return };
        for partition in waiter.partitions {
            if let Some(waiting) = self.by_partition.get_mut(&partition) {
                waiting.remove(&id);
                if waiting.is_empty() {
                    self.by_partition.remove(&partition);
                }
            }
        }
    }

    /// Bytes were appended to a partition. Calls `due` for each waiter that misses nothing any more;
    /// those are removed.
    pub fn appended(&mut self, partition: PartitionId, bytes: u64, mut due: impl FnMut(WaiterId)) {
        let Some(waiting) = self.by_partition.get(&partition) else { return };
        let mut satisfied = Vec::new();
        for id in waiting {
            let Some(waiter) = self.waiters.get_mut(id) else { continue };
            waiter.missing_bytes = waiter.missing_bytes.saturating_sub(bytes);
            if waiter.missing_bytes == 0 {
                satisfied.push(*id);
            }
        }
        for id in satisfied {
            self.remove(id);
            due(id);
        }
    }

    /// Something else about a partition changed (it was deleted, its log start moved): everyone who
    /// waits for it looks again.
    pub fn changed(&mut self, partition: PartitionId, due: impl FnMut(WaiterId)) {
        self.appended(partition, u64::MAX, due);
    }

    /// How many fetches wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiters.len()
    }

    /// Whether no fetch waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(waits: &mut FetchWaits, partition: u32, bytes: u64) -> Vec<WaiterId> {
        let mut due = Vec::new();
        waits.appended(PartitionId(partition), bytes, |id| due.push(id));
        due
    }

    #[test]
    fn a_waiter_is_due_once_when_its_bytes_have_come_from_any_of_its_partitions() {
        let mut waits = FetchWaits::default();
        let both = waits.wait(vec![PartitionId(1), PartitionId(2)], 100);
        let one = waits.wait(vec![PartitionId(1)], 1);
        assert_eq!(due(&mut waits, 3, 1000), []);
        assert_eq!(due(&mut waits, 1, 60), [one]);
        assert_eq!(due(&mut waits, 2, 40), [both]);
        assert_eq!(due(&mut waits, 1, 1000), []);
        assert!(waits.is_empty() && waits.by_partition.is_empty());
    }

    #[test]
    fn a_removed_waiter_is_never_due() {
        let mut waits = FetchWaits::default();
        let id = waits.wait(vec![PartitionId(1)], 1);
        waits.remove(id);
        assert_eq!(due(&mut waits, 1, 10), []);
        assert!(waits.by_partition.is_empty());
    }
}
