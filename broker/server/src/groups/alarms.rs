//! When which group wants to be woken, and the task that wakes them.
//!
//! An alarm may ring early (a heartbeat moves a deadline away without moving its alarm): the group
//! then finds nothing due and names its next deadline.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Groups;

/// After how long without alarms the task looks whether the table still exists.
const IDLE: Duration = Duration::from_secs(5);

/// One alarm for each group, at most.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    set: Mutex<Set>,
    /// The first alarm has changed.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Set {
    by_time: BTreeSet<(u64, Arc<str>)>,
    by_group: BTreeMap<Arc<str>, u64>,
}

impl Alarms {
    /// Wakes the group at `at_ms`, or earlier if it is to be woken earlier already.
    pub(super) fn set(&self, group: &Arc<str>, at_ms: u64) {
        let mut set = self.set.lock();
        match set.by_group.insert(Arc::clone(group), at_ms) {
            Some(earlier_ms) if earlier_ms <= at_ms => {
                set.by_group.insert(Arc::clone(group), earlier_ms);
                return;
            }
            Some(later_ms) => {
                set.by_time.remove(&(later_ms, Arc::clone(group)));
            }
            None => {}
        }
        set.by_time.insert((at_ms, Arc::clone(group)));
        let is_first = set.by_time.first().is_some_and(|(first_ms, _)| *first_ms == at_ms);
        drop(set);
        if is_first {
            self.changed.notify_one();
        }
    }

    /// The next group whose alarm is due.
    fn take_due(&self, now_ms: u64) -> Option<Arc<str>> {
        let mut set = self.set.lock();
        let (at_ms, _) = set.by_time.first()?;
        if *at_ms > now_ms {
            return None;
        }
        let (_, group) = set.by_time.pop_first()?;
        set.by_group.remove(&group);
        Some(group)
    }

    fn first(&self) -> Option<u64> {
        self.set.lock().by_time.first().map(|(at_ms, _)| *at_ms)
    }
}

/// Wakes groups until their table is gone.
pub(super) async fn ring(table: Weak<Groups>) {
    loop {
        let Some(groups) = table.upgrade() else { return };
        let now_ms = groups.now_ms();
        while let Some(group) = groups.alarms.take_due(now_ms) {
            if let Some(coordinator) = groups.held(&group) {
                coordinator.advance();
            }
        }
        let wait = groups
            .alarms
            .first()
            .map_or(IDLE, |at_ms| Duration::from_millis(at_ms.saturating_sub(now_ms)).min(IDLE));
        let alarms = Arc::clone(&groups.alarms);
        drop(groups);
        // Whichever comes first, the alarms are looked at again.
        let _ = tokio::time::timeout(wait, alarms.changed.notified()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_alarm_of_a_group_counts_and_rings_once() {
        let alarms = Alarms::default();
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        alarms.set(&a, 20);
        alarms.set(&b, 15);
        alarms.set(&a, 30);
        alarms.set(&a, 10);
        assert_eq!(alarms.first(), Some(10));
        assert_eq!(alarms.take_due(9), None);
        assert_eq!(alarms.take_due(15), Some(a));
        assert_eq!(alarms.take_due(15), Some(b));
        assert_eq!(alarms.take_due(100), None);
    }
}
