//! Lanes: recorded outcomes, floors, sequences, skips, fencing.

use tidemill_base::{BrokerEpoch, BrokerId, Incarnation, LaneId, LaneKey, LaneSequence};

use crate::command::{CommitObject, Condemn, FenceBroker, SEQUENCE_END};
use crate::event::Event;
use crate::harness::{BROKER, Harness, batch};
use crate::outcome::Outcome;
use crate::refusal::Refusal;

fn gap(expected: u64) -> Outcome {
    Outcome::Gap { expected: LaneSequence(expected) }
}

/// Applies and checks that nothing but the applied index changed.
fn changes_nothing(cluster: &mut Harness, object: CommitObject) -> Outcome {
    let before: Vec<_> = cluster.state.snapshot().puts.into_iter().skip(1).collect();
    let outcome = cluster.apply(object);
    let after: Vec<_> = cluster.state.snapshot().puts.into_iter().skip(1).collect();
    assert_eq!(before, after);
    assert_eq!(cluster.events(), []);
    outcome
}

#[test]
fn the_same_sequence_gets_the_same_outcomes() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let first = cluster.next_object(vec![batch(p, 2)]);
    let outcome = cluster.apply(first.clone());
    cluster.commit(vec![batch(p, 1)]);
    assert_eq!(changes_nothing(&mut cluster, first), outcome);
}

#[test]
fn a_sequence_has_one_location() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let mut first = cluster.next_object(vec![batch(p, 2)]);
    cluster.apply(first.clone());
    first.location.position += 4096;
    let outcome = changes_nothing(&mut cluster, first);
    assert_eq!(outcome, Outcome::Refused(Refusal::OtherLocation));
}

#[test]
fn a_gap_changes_nothing_and_names_what_is_awaited() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let objects: Vec<_> = (0..4).map(|_| cluster.next_object(vec![batch(p, 1)])).collect();
    assert_eq!(changes_nothing(&mut cluster, objects[1].clone()), gap(1));
    assert!(matches!(cluster.apply(objects[0].clone()), Outcome::Object(_)));
    assert_eq!(changes_nothing(&mut cluster, objects[3].clone()), gap(2));
    assert!(matches!(cluster.apply(objects[1].clone()), Outcome::Object(_)));
}

#[test]
fn named_skips_close_a_gap() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    cluster.commit(vec![batch(p, 1)]);
    cluster.sequence = 3;
    let mut object = cluster.next_object(vec![batch(p, 1)]);
    object.skips = vec![LaneSequence(2)];
    assert_eq!(changes_nothing(&mut cluster, object.clone()), gap(3));
    object.skips = vec![LaneSequence(3)];
    assert_eq!(changes_nothing(&mut cluster, object.clone()), gap(2));
    object.skips = vec![LaneSequence(3), LaneSequence(2), LaneSequence(1)];
    assert!(matches!(cluster.apply(object.clone()), Outcome::Object(_)));
    assert_eq!(cluster.state.lane_last(&cluster.lane), Some(LaneSequence(4)));
    object.object.sequence = LaneSequence(3);
    assert_eq!(changes_nothing(&mut cluster, object), gap(5));
}

#[test]
fn a_skip_of_the_sequence_itself_is_a_gap() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let mut object = cluster.next_object(vec![batch(p, 1)]);
    object.skips = vec![LaneSequence(1)];
    assert_eq!(changes_nothing(&mut cluster, object), gap(2));
}

#[test]
fn a_condemned_commit_is_refused_for_ever_and_a_recorded_one_is_not() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let objects: Vec<_> = (0..4).map(|_| cluster.next_object(vec![batch(p, 1)])).collect();
    let first = cluster.apply(objects[0].clone());
    let lane = cluster.lane;
    cluster.apply(Condemn { lane, floor: LaneSequence(3) });
    cluster.apply(Condemn { lane, floor: LaneSequence(2) });
    assert_eq!(cluster.state.lane_floor(&lane), Some(LaneSequence(3)));
    assert_eq!(cluster.apply(objects[0].clone()), first, "its outcome is recorded");
    for object in &objects[1..3] {
        let outcome = changes_nothing(&mut cluster, object.clone());
        assert_eq!(outcome, Outcome::Refused(Refusal::Condemned));
    }
    assert!(matches!(cluster.apply(objects[3].clone()), Outcome::Object(_)), "the floor is passed");
}

#[test]
fn a_lane_always_has_a_next_sequence() {
    let mut cluster = Harness::new();
    let lane = cluster.lane;
    for floor in [SEQUENCE_END, u64::MAX] {
        let outcome = cluster.apply(Condemn { lane, floor: LaneSequence(floor) });
        assert!(matches!(outcome, Outcome::Refused(Refusal::Malformed(_))));
    }
    let floor = LaneSequence(SEQUENCE_END - 1);
    assert_eq!(cluster.apply(Condemn { lane, floor }), Outcome::Done);
    cluster.sequence = SEQUENCE_END;
    let object = cluster.next_object(vec![]);
    assert_eq!(cluster.apply(object), gap(SEQUENCE_END));
}

#[test]
fn outcomes_are_kept_until_received_and_no_more_than_may_be_in_flight() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let mut objects: Vec<_> = (0..66).map(|_| cluster.next_object(vec![batch(p, 1)])).collect();
    for object in &mut objects {
        object.outcomes_received_up_to = LaneSequence(0);
    }
    for object in &objects[..64] {
        assert!(matches!(cluster.apply(object.clone()), Outcome::Object(_)));
    }
    let refused = changes_nothing(&mut cluster, objects[64].clone());
    assert_eq!(refused, Outcome::Refused(Refusal::TooManyInFlight));
    objects[64].outcomes_received_up_to = LaneSequence(1);
    assert!(matches!(cluster.apply(objects[64].clone()), Outcome::Object(_)));
    assert_eq!(changes_nothing(&mut cluster, objects[0].clone()), gap(66), "it is forgotten");
    assert!(matches!(cluster.apply(objects[1].clone()), Outcome::Object(_)), "it is not");
}

#[test]
fn registering_ends_the_lanes_of_older_epochs() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let object = cluster.next_object(vec![batch(p, 1)]);
    cluster.apply(object.clone());
    let old = cluster.lane;
    assert_eq!(cluster.register(BROKER), Outcome::Registered(BrokerEpoch(2)));
    let refused = changes_nothing(&mut cluster, object);
    assert_eq!(refused, Outcome::Refused(Refusal::BrokerFenced), "even a recorded one");
    assert_eq!(cluster.state.lane_floor(&old), Some(LaneSequence(u64::MAX)));
    let new = LaneKey { epoch: BrokerEpoch(2), ..old };
    assert_eq!(cluster.state.lane_floor(&new), Some(LaneSequence(0)));
    assert_eq!(cluster.state.lane_floor(&LaneKey { epoch: BrokerEpoch(3), ..old }), None);
    cluster.apply(Condemn { lane: old, floor: LaneSequence(5) });
    assert_eq!(cluster.state.lane_floor(&old), Some(LaneSequence(u64::MAX)));
}

#[test]
fn fencing_ends_the_present_epoch_and_only_that() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    cluster.commit(vec![batch(p, 1)]);
    cluster.apply(FenceBroker { broker: BROKER, epoch: BrokerEpoch(0) });
    cluster.apply(FenceBroker { broker: BrokerId(9), epoch: BrokerEpoch(1) });
    assert_eq!(cluster.events(), []);
    cluster.apply(FenceBroker { broker: BROKER, epoch: BrokerEpoch(1) });
    assert_eq!(
        cluster.events(),
        [Event::BrokerFenced { broker: BROKER, epoch: BrokerEpoch(1) }],
        "its file still has a live extent"
    );
    assert!(cluster.state.files().all(|file| file.sealed));
    let object = cluster.next_object(vec![batch(p, 1)]);
    assert_eq!(cluster.apply(object), Outcome::Refused(Refusal::BrokerFenced));
}

#[test]
fn objects_of_another_life_or_broker_are_refused() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    let object = cluster.next_object(vec![batch(p, 1)]);
    let mut other = object.clone();
    other.object.incarnation = Incarnation(2);
    assert_eq!(cluster.apply(other), Outcome::Refused(Refusal::OtherIncarnation));
    let mut other = object;
    other.object.lane.broker = BrokerId(2);
    assert_eq!(cluster.apply(other), Outcome::Refused(Refusal::BrokerFenced));
}

#[test]
fn lanes_of_one_broker_are_apart() {
    let mut cluster = Harness::new();
    let [p] = cluster.topic("t", 1)[..] else { panic!() };
    cluster.commit(vec![batch(p, 1)]);
    cluster.lane.lane = LaneId(1);
    cluster.sequence = 0;
    assert_eq!(cluster.commit(vec![batch(p, 1)]).len(), 1);
    assert_eq!(cluster.entries(p).len(), 2);
}

#[cfg(feature = "twins")]
mod twins {
    use tidemill_base::twins::{Twin, switch_on};

    use super::*;

    #[test]
    fn forgotten_outcomes_commit_twice() {
        let mut cluster = Harness::new();
        let [p] = cluster.topic("t", 1)[..] else { panic!() };
        let object = cluster.next_object(vec![batch(p, 2)]);
        let first = cluster.apply(object.clone());
        let _twin = switch_on(Twin::OutcomeForgotten);
        assert_ne!(cluster.apply(object), first);
    }

    #[test]
    fn an_unnamed_skip_is_accepted() {
        let mut cluster = Harness::new();
        let [p] = cluster.topic("t", 1)[..] else { panic!() };
        cluster.sequence = 4;
        let object = cluster.next_object(vec![batch(p, 2)]);
        let _twin = switch_on(Twin::SkippedFlushAccepted);
        assert!(matches!(cluster.apply(object), Outcome::Object(_)));
    }

    #[test]
    fn an_ignored_floor_lets_condemned_objects_in() {
        let mut cluster = Harness::new();
        let [p] = cluster.topic("t", 1)[..] else { panic!() };
        let object = cluster.next_object(vec![batch(p, 2)]);
        let lane = cluster.lane;
        cluster.apply(Condemn { lane, floor: LaneSequence(3) });
        let _twin = switch_on(Twin::FloorIgnored);
        assert!(matches!(cluster.apply(object), Outcome::Object(_)));
    }
}
