//! Forgetting producers: when they have been idle for long, and when there is no more room.

use std::collections::BTreeSet;

use tidemill_base::{BatchFacts, PartitionId, ProducerId, TimestampMs};

use crate::outcome::Outcome;
use crate::state::MetadataState;

/// How long a producer must have been idle before it may be evicted to make room.
pub(crate) const EVICTION_IDLE_MS: i64 = 15 * 60 * 1000;
/// How long a partition remembers an idle producer, unless `producer.id.expiration.ms` says.
pub(crate) const EXPIRATION_MS: i64 = 24 * 60 * 60 * 1000;
/// About how many producers one tick looks at.
const EXAMINED_PER_TICK: usize = 16_384;
/// Evicting looks through all producers, so it is done at most this often.
const EVICTION_PAUSE_MS: i64 = 1000;

impl MetadataState {
    /// Lets time pass: expires idle producers, a bounded part of the partitions at a time.
    pub(super) fn tick(&mut self) -> Outcome {
        let expiration = self.cluster_config.producer_id_expiration_ms.unwrap_or(EXPIRATION_MS);
        let idle_before = self.cluster.time.0.saturating_sub(expiration);
        let mut examined = 0;
        let mut expired = Vec::new();
        let mut cursor = PartitionId(0);
        for (id, partition) in self.partitions.range(self.cluster.expiry_cursor..) {
            if examined >= EXAMINED_PER_TICK {
                cursor = *id;
                break;
            }
            examined += 1 + partition.producers.entries.len();
            let idle = partition
                .producers
                .entries
                .iter()
                .filter(|(_, producer)| producer.last_active.0 <= idle_before);
            expired.extend(idle.map(|(producer, _)| (*id, *producer)));
        }
        self.cluster.expiry_cursor = cursor;
        self.forget_producers(&expired);
        Outcome::Done
    }

    /// Evicts idle producers if the batches bring more new ones than there is room for.
    pub(super) fn make_producer_room(&mut self, batches: &[BatchFacts], now: TimestampMs) {
        let max = self.cluster.limits.producer_entries_max;
        if self.producer_entries + batches.len() as u64 <= max || now < self.cluster.no_idle_before
        {
            return;
        }
        let new: BTreeSet<(PartitionId, ProducerId)> = batches
            .iter()
            .filter_map(|batch| Some((batch.partition, batch.producer?.id)))
            .filter(|(partition, producer)| {
                self.partitions
                    .get(partition)
                    .is_some_and(|partition| !partition.producers.entries.contains_key(producer))
            })
            .collect();
        if self.producer_entries + new.len() as u64 > max {
            self.evict_producers(new.len().max((max / 64) as usize), now);
        }
    }

    /// Evicts the `count` producers that have been idle longest, of those idle long enough.
    fn evict_producers(&mut self, count: usize, now: TimestampMs) {
        let idle_before = now.0.saturating_sub(EVICTION_IDLE_MS);
        let mut least_idle = i64::MAX;
        let mut idle = Vec::new();
        for (id, partition) in &self.partitions {
            for (producer, entry) in &partition.producers.entries {
                if entry.last_active.0 <= idle_before {
                    idle.push((entry.last_active, *id, *producer));
                } else {
                    least_idle = least_idle.min(entry.last_active.0);
                }
            }
        }
        idle.sort_unstable();
        if idle.len() <= count {
            // All that were idle go now. The next becomes idle no sooner than this.
            let earliest = now.0.saturating_add(EVICTION_PAUSE_MS);
            let latest = now.0.saturating_add(EVICTION_IDLE_MS);
            let next = least_idle.saturating_add(EVICTION_IDLE_MS);
            self.cluster.no_idle_before = TimestampMs(next.clamp(earliest, latest));
        }
        let evicted: Vec<_> = idle
            .iter()
            .take(count)
            .map(|(_, partition, producer)| (*partition, *producer))
            .collect();
        self.forget_producers(&evicted);
    }

    fn forget_producers(&mut self, producers: &[(PartitionId, ProducerId)]) {
        for (id, producer) in producers {
            let Some(partition) = self.partitions.get_mut(id) else { continue };
            if partition.producers.forget(*producer) {
                self.producer_entries -= 1;
                self.changed.producers.push((*id, *producer));
                self.changed.partition(*id, partition);
            }
        }
    }
}
