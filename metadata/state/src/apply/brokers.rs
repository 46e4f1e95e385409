//! Registering and fencing brokers.

use tidemill_base::{BrokerEpoch, BrokerId, FileId, FileNumber, LaneId, LaneKey};

use super::Change;
use super::commit_object::limit;
use crate::brokers::Broker;
use crate::command::{FenceBroker, RegisterBroker};
use crate::event::Event;
use crate::outcome::Outcome;
use crate::refusal::Refusal;
use crate::state::MetadataState;

impl MetadataState {
    pub(super) fn register_broker(
        &mut self,
        command: &RegisterBroker,
        change: &mut Change,
    ) -> Result<Outcome, Refusal> {
        if command.broker.0 < 0 {
            return Err(Refusal::Malformed("a broker's id is never negative"));
        }
        if !command.is_bounded() {
            return Err(Refusal::Malformed("a registration with too many or too long addresses"));
        }
        if command.feature_level_max < self.cluster.feature_level {
            return Err(Refusal::FeatureLevel);
        }
        let known = self.brokers.0.get(&command.broker).map(|broker| broker.epoch);
        if known.is_none() {
            let brokers = self.brokers.0.len() as u64 + 1;
            limit("brokers", brokers, self.cluster.limits.brokers_max.into())?;
        }
        let old = known.unwrap_or_default();
        self.end_registrations(command.broker, old, change);
        let epoch = BrokerEpoch(old.0 + 1);
        let broker = Broker {
            id: command.broker,
            epoch,
            fenced: false,
            listeners: command.listeners.clone(),
            zone: command.zone.clone(),
            http_address: command.http_address.clone(),
            feature_level_max: command.feature_level_max,
        };
        self.brokers.0.insert(command.broker, broker.clone());
        self.changed.brokers.insert(command.broker);
        change.events.push(Event::BrokerRegistered(broker));
        Ok(Outcome::Registered(epoch))
    }

    pub(super) fn fence_broker(&mut self, command: &FenceBroker, change: &mut Change) -> Outcome {
        self.fence(command.broker, command.epoch, change);
        Outcome::Done
    }

    /// Fences a registration, if it is the present one and lives.
    pub(super) fn fence(&mut self, id: BrokerId, epoch: BrokerEpoch, change: &mut Change) {
        if !self.brokers.is_live(id, epoch) {
            return;
        }
        if let Some(broker) = self.brokers.0.get_mut(&id) {
            broker.fenced = true;
        }
        self.changed.brokers.insert(id);
        change.events.push(Event::BrokerFenced { broker: id, epoch });
        self.end_registrations(id, epoch, change);
    }

    /// Ends everything of a broker's epochs up to `epoch`: lanes are at the maximum from now on,
    /// outcomes are dropped, files sealed.
    fn end_registrations(&mut self, broker: BrokerId, epoch: BrokerEpoch, change: &mut Change) {
        for (key, lane) in self.lanes.raise_to_maximum(broker, epoch) {
            let saved = lane.outcomes.iter().filter(|recorded| recorded.saved);
            self.changed.outcomes.extend(saved.map(|recorded| (key, recorded.sequence)));
            self.changed.lanes.insert(key);
        }
        let incarnation = self.cluster.incarnation;
        let first = LaneKey { broker, epoch: BrokerEpoch(0), lane: LaneId(0) };
        let last = LaneKey { broker, epoch, lane: LaneId(u16::MAX) };
        let first = FileId { incarnation, lane: first, number: FileNumber(0), sequence: 0 };
        let last =
            FileId { incarnation, lane: last, number: FileNumber(u32::MAX), sequence: u64::MAX };
        for slot in self.files.slots.range(first..=last) {
            if self.files.slots.get(slot).is_some_and(|(_, file)| !file.sealed) {
                self.files.seal(slot, 0, change.freed, &mut change.events);
            }
        }
    }
}
