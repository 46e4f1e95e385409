//! New lives of the cluster, leader epochs, feature levels, time.

use tidemill_base::{
    AppliedIndex, BatchOutcome, BrokerEpoch, Incarnation, LeaderEpoch, Offset, TimestampMs,
};

use crate::command::{AllocateProducerIds, Command};
use crate::command::{RaiseFeatureLevel, RegisterBroker, StartIncarnation, Tick};
use crate::harness::{BROKER, Harness, START, batch, produced};
use crate::outcome::Outcome;
use crate::refusal::Refusal;

#[test]
fn a_new_life_raises_epochs_and_fences_brokers_and_producers() {
    let mut cluster = Harness::new();
    let p = cluster.topic("t", 1)[0];
    cluster.commit(vec![produced(p, 3, 7, 0, 0)]);
    let old = StartIncarnation { incarnation: Incarnation(1) };
    assert_eq!(cluster.apply(old), Outcome::Refused(Refusal::OtherIncarnation));
    assert_eq!(cluster.apply(StartIncarnation { incarnation: Incarnation(4) }), Outcome::Done);
    let image = cluster.state.partition(p).expect("it exists");
    assert_eq!(image.leader_epoch, LeaderEpoch(1));
    assert_eq!(image.epoch_starts, [(LeaderEpoch(0), Offset(0)), (LeaderEpoch(1), Offset(3))]);
    let view = cluster.projection.partition(p).expect("it exists");
    assert_eq!(view.epoch_end(LeaderEpoch(0)), Some(Offset(3)));
    assert_eq!(view.epoch_end(LeaderEpoch(1)), Some(Offset(3)));
    assert_eq!(view.epoch_end(LeaderEpoch(2)), None);
    let object = cluster.next_object(vec![batch(p, 1)]);
    assert_eq!(cluster.apply(object), Outcome::Refused(Refusal::BrokerFenced));
    assert_eq!(cluster.register(BROKER), Outcome::Registered(BrokerEpoch(2)));
    cluster.lane.epoch = BrokerEpoch(2);
    cluster.sequence = 0;
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, 3)), BatchOutcome::Fenced);
    let block = AllocateProducerIds { broker: BROKER, epoch: BrokerEpoch(2), count: 1 };
    let Outcome::ProducerIds { first, .. } = cluster.apply(block) else { panic!() };
    let outcome = cluster.commit_one(produced(p, 1, first.0, 0, 0));
    assert!(matches!(outcome, BatchOutcome::Committed { base_offset: Offset(3), .. }));
    let view = cluster.projection.partition(p).expect("it exists");
    assert_eq!(view.epoch_end(LeaderEpoch(0)), Some(Offset(3)));
    assert_eq!(view.epoch_end(LeaderEpoch(1)), Some(Offset(4)));
}

#[test]
fn state_time_never_goes_back() {
    let mut cluster = Harness::new();
    cluster.now = TimestampMs(START.0 - 500);
    cluster.apply(Tick {});
    assert_eq!(cluster.state.time(), START);
    cluster.now = TimestampMs(START.0 + 500);
    cluster.apply(Tick {});
    assert_eq!(cluster.state.time(), cluster.now);
}

#[test]
fn refused_commands_and_empty_entries_still_count() {
    let mut cluster = Harness::new();
    let index = cluster.state.applied_index();
    let object = cluster.next_object(vec![]);
    let mut wrong = object;
    wrong.object.incarnation = Incarnation(9);
    cluster.apply(wrong);
    assert_eq!(cluster.state.applied_index(), AppliedIndex(index.0 + 1));
    cluster.state.pass(AppliedIndex(index.0 + 5));
    assert_eq!(cluster.state.applied_index(), AppliedIndex(index.0 + 5));
}

#[test]
fn the_feature_level_rises_as_far_as_all_support() {
    let mut cluster = Harness::new();
    assert_eq!(cluster.apply(RaiseFeatureLevel { level: 1 }), Outcome::Done);
    for level in [0, 2] {
        let refused = Outcome::Refused(Refusal::FeatureLevel);
        assert_eq!(cluster.apply(RaiseFeatureLevel { level }), refused);
    }
    let old: Command = RegisterBroker {
        broker: BROKER,
        listeners: vec![],
        zone: None,
        http_address: None,
        feature_level_max: 0,
    }
    .into();
    assert_eq!(cluster.apply(old), Outcome::Refused(Refusal::FeatureLevel));
}
