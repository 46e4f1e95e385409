//! Producer ids, feature level, incarnations.

use tidemill_base::{BrokerEpoch, BrokerId, LeaderEpoch, PartitionId, ProducerId};

use super::Change;
use crate::command::{AllocateProducerIds, RaiseFeatureLevel, StartIncarnation};
use crate::event::Event;
use crate::outcome::Outcome;
use crate::producers::Producers;
use crate::refusal::Refusal;
use crate::state::{FEATURE_LEVEL_MAX, MetadataState};

/// How far counters jump when a life begins: what the last one gave out after its last backup lies
/// below.
const RESTORE_JUMP: u32 = 1 << 30;

impl MetadataState {
    pub(super) fn allocate_producer_ids(
        &mut self,
        command: &AllocateProducerIds,
    ) -> Result<Outcome, Refusal> {
        if !self.brokers.is_live(command.broker, command.epoch) {
            return Err(Refusal::BrokerFenced);
        }
        let count = command.count;
        if !(1..=AllocateProducerIds::COUNT_MAX).contains(&count) {
            return Err(Refusal::Malformed("a block has 1 to 1,000,000 producer ids"));
        }
        let first = self.cluster.next_producer;
        let Some(next) = first.checked_add(i64::from(count)) else {
            return Err(Refusal::Limit { what: "producer ids", max: i64::MAX as u64 });
        };
        self.cluster.next_producer = next;
        Ok(Outcome::ProducerIds { first: ProducerId(first), count })
    }

    pub(super) fn raise_feature_level(
        &mut self,
        command: &RaiseFeatureLevel,
        change: &mut Change,
    ) -> Result<Outcome, Refusal> {
        let level = command.level;
        let supported = self
            .brokers()
            .filter(|broker| !broker.fenced)
            .all(|broker| broker.feature_level_max >= level);
        if level < self.cluster.feature_level || level > FEATURE_LEVEL_MAX || !supported {
            return Err(Refusal::FeatureLevel);
        }
        self.cluster.feature_level = level;
        change.events.push(Event::FeatureLevelRaised { level });
        Ok(Outcome::Done)
    }

    pub(super) fn start_incarnation(
        &mut self,
        command: &StartIncarnation,
        change: &mut Change,
    ) -> Result<Outcome, Refusal> {
        if command.incarnation <= self.cluster.incarnation {
            return Err(Refusal::OtherIncarnation);
        }
        let brokers: Vec<(BrokerId, BrokerEpoch)> =
            self.brokers().map(|broker| (broker.id, broker.epoch)).collect();
        for (broker, epoch) in brokers {
            self.fence(broker, epoch, change);
        }
        self.cluster.incarnation = command.incarnation;
        let incarnation = command.incarnation;
        change.events.push(Event::IncarnationStarted { incarnation });
        self.fence_all_producers();
        let jump = RESTORE_JUMP;
        self.cluster.next_partition = self.cluster.next_partition.saturating_add(jump >> 10);
        self.cluster.next_group_epoch += u64::from(jump);
        let partitions: Vec<PartitionId> = self.partitions.keys().copied().collect();
        for id in partitions {
            self.raise_leader_epoch(id, change);
        }
        Ok(Outcome::Done)
    }

    /// Every producer id given out so far is fenced, and so is what may have been given out since
    /// the backup.
    fn fence_all_producers(&mut self) {
        let jump = i64::from(RESTORE_JUMP);
        self.cluster.next_producer = self.cluster.next_producer.saturating_add(jump);
        self.cluster.producer_floor = self.cluster.next_producer;
        self.producer_entries = 0;
        for (id, partition) in &mut self.partitions {
            let producers = std::mem::take(&mut partition.producers);
            partition.producers = Producers {
                highest_forgotten: producers.highest_forgotten,
                ..Producers::default()
            };
            self.changed
                .producers
                .extend(producers.entries.keys().map(|producer| (*id, *producer)));
        }
    }

    /// Begins an epoch that is kept: history may have been lost before it.
    fn raise_leader_epoch(&mut self, id: PartitionId, change: &mut Change) {
        let Some(partition) = self.partitions.get_mut(&id) else { return };
        let epoch = LeaderEpoch(partition.log.leader_epoch.0.saturating_add(1));
        let start = Some(partition.log.high_watermark);
        partition.log.raise_epoch(epoch, start);
        self.changed.partition(id, partition);
        change.events.push(Event::LeaderEpochRaised { partition: id, epoch, start });
    }
}
