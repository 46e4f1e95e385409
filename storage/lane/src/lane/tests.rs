//! Exact outputs of the lane, one rule per test.

use super::*;
use tidemill_base::{
    BaseSequence, FileId, Offset, PartitionId, ProducerEpoch, ProducerFacts, ProducerId,
    TimestampMs,
};

const T0: Duration = Duration::ZERO;

fn ms(value: u64) -> Duration {
    Duration::from_millis(value)
}

fn batch(sequence: i32) -> BatchFacts {
    BatchFacts {
        partition: PartitionId(1),
        position: 0,
        length: 100,
        record_count: 10,
        max_timestamp: TimestampMs(0),
        producer: Some(ProducerFacts {
            id: ProducerId(7),
            epoch: ProducerEpoch(0),
            base_sequence: BaseSequence(sequence),
            transaction: 0,
        }),
        transactional: false,
    }
}

fn at(position: u64) -> Location {
    Location { file: FileId::default(), position, length: 100 }
}

fn committed(offset: i64) -> BatchOutcome {
    BatchOutcome::Committed { base_offset: Offset(offset), log_start: Offset(0) }
}

fn drain(lane: &mut Lane) -> Vec<Action> {
    std::iter::from_fn(|| lane.poll_action()).collect()
}

fn limits() -> LaneLimits {
    LaneLimits { flushes_in_flight_max: 3, ..LaneLimits::local_disk() }
}

/// Admits, seals and starts the put of one object with one batch.
fn flush(lane: &mut Lane, now: Duration, base_sequence: i32) -> LaneSequence {
    lane.admit(now, 100, 1).unwrap();
    lane.advance(now);
    let Some(Action::Seal { sequence, submissions: 1 }) = lane.poll_action() else {
        panic!("nothing sealed")
    };
    lane.handle_sealed(now, sequence, vec![batch(base_sequence)]);
    lane.advance(now);
    assert_eq!(drain(lane), [Action::Put { sequence, attempt: 1 }]);
    sequence
}

fn propose(sequence: LaneSequence, position: u64, skips: &[u64], received: u64) -> Action {
    Action::Propose {
        sequence,
        location: at(position),
        skips: skips.iter().copied().map(LaneSequence).collect(),
        outcomes_received_up_to: LaneSequence(received),
    }
}

#[test]
fn an_object_is_put_then_proposed_then_answered() {
    let mut lane = Lane::new(limits());
    let one = flush(&mut lane, T0, 0);
    lane.handle_put(ms(1), one, 1, Ok(at(64)));
    lane.advance(ms(1));
    assert_eq!(drain(&mut lane), [propose(one, 64, &[], 0)]);
    lane.handle_commit(ms(2), one, CommitAnswer::Outcomes(vec![committed(5)]));
    assert_eq!(
        drain(&mut lane),
        [Action::Answer { sequence: one, answers: vec![BatchAnswer::Decided(committed(5))] }]
    );
    assert!(lane.is_idle());
}

#[test]
fn what_arrives_during_a_flush_becomes_the_next_object() {
    let mut lane = Lane::new(LaneLimits::local_disk());
    let one = flush(&mut lane, T0, 0);
    lane.admit(ms(1), 100, 1).unwrap();
    lane.admit(ms(2), 100, 1).unwrap();
    lane.advance(ms(2));
    assert_eq!(drain(&mut lane), []);
    lane.handle_put(ms(3), one, 1, Ok(at(0)));
    lane.advance(ms(3));
    assert_eq!(
        drain(&mut lane),
        [propose(one, 0, &[], 0), Action::Seal { sequence: LaneSequence(2), submissions: 2 }]
    );
}

#[test]
fn an_object_takes_no_more_than_its_limits() {
    let mut lane = Lane::new(LaneLimits { object_bytes_max: 250, ..LaneLimits::local_disk() });
    for _ in 0..3 {
        lane.admit(T0, 100, 1).unwrap();
    }
    lane.advance(T0);
    assert_eq!(drain(&mut lane), [Action::Seal { sequence: LaneSequence(1), submissions: 2 }]);
}

#[test]
fn a_lingering_object_waits_for_its_time_or_its_size() {
    let limits =
        LaneLimits { linger: ms(250), object_bytes_max: 1000, ..LaneLimits::object_store() };
    let mut lane = Lane::new(limits);
    lane.admit(T0, 100, 1).unwrap();
    lane.advance(T0);
    assert_eq!(drain(&mut lane), []);
    assert_eq!(lane.next_deadline(T0), Some(ms(250)));
    lane.admit(ms(10), 900, 1).unwrap();
    lane.advance(ms(10));
    assert_eq!(drain(&mut lane), [Action::Seal { sequence: LaneSequence(1), submissions: 2 }]);
}

#[test]
fn proposals_leave_in_sequence_order() {
    let mut lane = Lane::new(limits());
    let one = flush(&mut lane, T0, 0);
    let two = flush(&mut lane, T0, 10);
    lane.handle_put(ms(1), two, 1, Ok(at(200)));
    lane.advance(ms(1));
    assert_eq!(drain(&mut lane), []);
    lane.handle_put(ms(2), one, 1, Ok(at(100)));
    lane.advance(ms(2));
    assert_eq!(drain(&mut lane), [propose(one, 100, &[], 0), propose(two, 200, &[], 0)]);
}

#[test]
fn a_failed_put_is_tried_again_after_a_wait() {
    let mut lane = Lane::new(limits());
    let one = flush(&mut lane, T0, 0);
    lane.handle_put(ms(1), one, 1, Err(FlushFailure::StoreFailed));
    lane.advance(ms(1));
    assert_eq!(drain(&mut lane), []);
    let again = lane.next_deadline(ms(1)).unwrap();
    lane.advance(again);
    assert_eq!(drain(&mut lane), [Action::Put { sequence: one, attempt: 2 }]);
}

#[test]
fn a_slow_put_is_raced_and_the_first_copy_is_the_only_one_proposed() {
    let mut lane = Lane::new(limits());
    let one = flush(&mut lane, T0, 0);
    let slow = lane.next_deadline(T0).unwrap();
    assert_eq!(slow, Duration::from_secs(2));
    lane.advance(slow);
    assert_eq!(drain(&mut lane), [Action::AbandonFile, Action::Put { sequence: one, attempt: 2 }]);
    lane.handle_put(slow + ms(1), one, 2, Ok(at(900)));
    lane.handle_put(slow + ms(1), one, 1, Ok(at(100)));
    lane.advance(slow + ms(1));
    assert_eq!(drain(&mut lane), [propose(one, 900, &[], 0)]);
}

#[test]
fn a_racer_that_fails_at_once_is_not_followed_by_another_at_once() {
    let mut lane = Lane::new(limits());
    let one = flush(&mut lane, T0, 0);
    let slow = Duration::from_secs(2);
    lane.advance(slow);
    assert_eq!(drain(&mut lane).len(), 2, "the first racer");
    lane.handle_put(slow, one, 2, Err(FlushFailure::StoreFailed));
    lane.advance(slow);
    assert_eq!(drain(&mut lane), []);
    let again = lane.next_deadline(slow).unwrap();
    assert!(again > slow);
    lane.advance(again);
    assert_eq!(drain(&mut lane), [Action::AbandonFile, Action::Put { sequence: one, attempt: 3 }]);
}

#[test]
fn a_late_flush_is_given_up_and_named_as_a_skip_by_the_next() {
    let mut lane = Lane::new(limits());
    let one = flush(&mut lane, T0, 0);
    let two = flush(&mut lane, ms(100), 10);
    lane.handle_put(ms(101), two, 1, Ok(at(200)));
    let late = Duration::from_secs(30);
    lane.advance(late);
    let failed = vec![BatchAnswer::Failed(FlushFailure::StoreFailed)];
    assert_eq!(
        drain(&mut lane),
        [Action::Answer { sequence: one, answers: failed.clone() }, propose(two, 200, &[1], 1)]
    );
    lane.handle_put(late + ms(1), one, 1, Ok(at(100)));
    lane.handle_commit(late + ms(2), two, CommitAnswer::Outcomes(vec![BatchOutcome::OutOfOrder]));
    assert_eq!(
        drain(&mut lane),
        [Action::Answer { sequence: two, answers: failed }],
        "an out-of-order answer behind a failed flush is that flush's failure"
    );
    let three = flush(&mut lane, late + ms(3), 0);
    lane.handle_put(late + ms(4), three, 1, Ok(at(300)));
    lane.advance(late + ms(4));
    lane.handle_commit(late + ms(5), three, CommitAnswer::Outcomes(vec![committed(0)]));
    drain(&mut lane);
    let four = flush(&mut lane, late + ms(6), 90);
    lane.handle_put(late + ms(7), four, 1, Ok(at(400)));
    lane.advance(late + ms(7));
    lane.handle_commit(late + ms(8), four, CommitAnswer::Outcomes(vec![BatchOutcome::OutOfOrder]));
    assert_eq!(
        drain(&mut lane).last(),
        Some(&Action::Answer {
            sequence: four,
            answers: vec![BatchAnswer::Decided(BatchOutcome::OutOfOrder)]
        }),
        "once the producer resumed at the failed sequence, answers are its own again"
    );
}

#[test]
fn a_proposed_flush_is_never_given_up() {
    let mut lane = Lane::new(limits());
    let one = flush(&mut lane, T0, 0);
    lane.handle_put(ms(1), one, 1, Ok(at(64)));
    lane.advance(ms(1));
    drain(&mut lane);
    lane.handle_commit(ms(2), one, CommitAnswer::Ambiguous);
    lane.advance(Duration::from_secs(60));
    assert_eq!(drain(&mut lane), [propose(one, 64, &[], 0)], "asked again with the same location");
}

#[test]
fn a_gap_is_resent_in_order_with_the_same_skips() {
    let mut lane = Lane::new(limits());
    let one = flush(&mut lane, T0, 0);
    let two = flush(&mut lane, T0, 10);
    lane.handle_put(ms(1), one, 1, Ok(at(100)));
    lane.handle_put(ms(1), two, 1, Ok(at(200)));
    lane.advance(ms(1));
    drain(&mut lane);
    lane.handle_commit(ms(2), one, CommitAnswer::NotNow);
    lane.handle_commit(ms(2), two, CommitAnswer::Gap { expected: one });
    lane.advance(ms(50));
    assert_eq!(drain(&mut lane), [propose(one, 100, &[], 0), propose(two, 200, &[], 0)]);
}

#[test]
fn a_full_store_fails_the_flush_at_once() {
    let mut lane = Lane::new(limits());
    let one = flush(&mut lane, T0, 0);
    lane.handle_put(ms(1), one, 1, Err(FlushFailure::StoreFull));
    let failed = vec![BatchAnswer::Failed(FlushFailure::StoreFull)];
    assert_eq!(drain(&mut lane), [Action::Answer { sequence: one, answers: failed }]);
    lane.admit(ms(2), 100, 1).unwrap();
    lane.advance(ms(2));
    assert_eq!(drain(&mut lane), [], "a full store is not tried again at once");
    assert_eq!(lane.next_deadline(ms(2)), Some(ms(251)));
    lane.advance(ms(251));
    let two = LaneSequence(2);
    assert_eq!(drain(&mut lane), [Action::Seal { sequence: two, submissions: 1 }]);
    lane.handle_sealed(ms(251), two, vec![batch(0)]);
    lane.advance(ms(251));
    assert_eq!(drain(&mut lane), [Action::Put { sequence: two, attempt: 1 }]);
    lane.handle_put(ms(252), two, 1, Ok(at(5)));
    lane.advance(ms(252));
    assert_eq!(drain(&mut lane), [propose(two, 5, &[1], 1)]);
}

#[test]
fn a_fenced_lane_stops_and_fails_what_was_never_proposed() {
    let mut lane = Lane::new(limits());
    let one = flush(&mut lane, T0, 0);
    let two = flush(&mut lane, T0, 10);
    lane.handle_put(ms(1), one, 1, Ok(at(100)));
    lane.advance(ms(1));
    drain(&mut lane);
    lane.handle_commit(ms(2), one, CommitAnswer::Ambiguous);
    lane.advance(ms(20));
    drain(&mut lane);
    lane.handle_commit(ms(21), one, CommitAnswer::Fenced);
    let fenced = vec![BatchAnswer::Failed(FlushFailure::Fenced)];
    assert_eq!(
        drain(&mut lane),
        [
            Action::Answer { sequence: one, answers: vec![BatchAnswer::Ambiguous] },
            Action::Stop,
            Action::Answer { sequence: two, answers: fenced },
        ]
    );
    assert_eq!(lane.admit(ms(22), 1, 1), Err(LaneClosed::Closed));
}

#[test]
fn a_full_queue_refuses_and_a_closed_lane_drains() {
    let mut lane = Lane::new(LaneLimits { queue_bytes_max: 150, ..LaneLimits::object_store() });
    lane.admit(T0, 100, 1).unwrap();
    assert_eq!(lane.admit(T0, 100, 1), Err(LaneClosed::Full));
    lane.close();
    lane.advance(T0);
    assert_eq!(drain(&mut lane), [Action::Seal { sequence: LaneSequence(1), submissions: 1 }]);
    assert_eq!(lane.admit(T0, 1, 1), Err(LaneClosed::Closed));
}
