//! Sequences on retries, by exact verdicts.

use super::*;

const A: BatchId = BatchId(1);
const B: BatchId = BatchId(2);
const C: BatchId = BatchId(3);

fn identity(epoch: i16) -> Identity {
    Identity { id: ProducerId(9), epoch: ProducerEpoch(epoch) }
}

/// Three flights of 10 records each, all on their way, after one record that is stored (sequences
/// 1, 11 and 21); they expire at 100, 200, 300.
fn three() -> Sequencer {
    let mut sequencer = Sequencer::default();
    let me = Some(identity(0));
    let _ = sequencer.send_new(me, BatchId(0), 1, 1, 1);
    assert_eq!(sequencer.settle(BatchId(0), Ok(())), Verdict::Done);
    for (batch, expires_at_ms) in [(A, 100), (B, 200), (C, 300)] {
        assert!(sequencer.takes_new(me, 5));
        let _ = sequencer.send_new(me, batch, 10, 1_000, expires_at_ms);
    }
    sequencer
}

fn code(code: ErrorCode) -> Result<(), Error> {
    Err(Error::answered("produce to t-0", code))
}

fn lost() -> Result<(), Error> {
    Err(Error::new(ErrorKind::Ambiguous, "the connection broke"))
}

fn unsent() -> Result<(), Error> {
    Err(Error::new(ErrorKind::Retry, "not sent"))
}

fn sequences(sequencer: &Sequencer) -> Vec<(u64, i32)> {
    let flights = sequencer.flights().iter();
    flights.map(|flight| (flight.batch.0, flight.base_sequence.0)).collect()
}

fn is_failed(verdict: &Verdict, kind: ErrorKind) -> bool {
    matches!(verdict, Verdict::Failed(error) if error.kind() == kind)
}

#[test]
fn sequences_follow_one_another_and_wrap() {
    let mut sequencer = Sequencer::default();
    let me = Some(identity(3));
    let first = sequencer.send_new(me, A, 7, 1, 1).unwrap();
    let second = sequencer.send_new(me, B, 1, 1, 1).unwrap();
    assert_eq!((first.base_sequence, second.base_sequence), (BaseSequence(0), BaseSequence(7)));
    assert_eq!(first.epoch, ProducerEpoch(3));
    sequencer.next = BaseSequence(i32::MAX);
    let last = sequencer.send_new(me, C, 3, 1, 1).unwrap();
    assert_eq!(last.base_sequence, BaseSequence(i32::MAX));
    assert_eq!(sequencer.next, BaseSequence(2));
}

#[test]
fn the_first_batch_under_an_identity_goes_alone() {
    let mut sequencer = Sequencer::default();
    let me = Some(identity(0));
    assert!(sequencer.takes_new(me, 5));
    let _ = sequencer.send_new(me, A, 10, 1, 1);
    assert!(!sequencer.takes_new(me, 5));
    assert_eq!(sequencer.settle(A, Ok(())), Verdict::Done);
    let _ = sequencer.send_new(me, B, 10, 1, 1);
    assert!(sequencer.takes_new(me, 5));
}

#[test]
fn no_more_flights_than_the_limit_and_none_while_one_waits_to_be_sent_again() {
    let mut sequencer = three();
    assert!(!sequencer.takes_new(Some(identity(0)), 3));
    assert!(sequencer.takes_new(Some(identity(0)), 4));
    assert_eq!(sequencer.settle(B, unsent()), Verdict::Again);
    assert!(!sequencer.takes_new(Some(identity(0)), 4));
}

#[test]
fn after_a_lost_connection_flights_go_again_one_by_one_with_their_sequences() {
    let mut sequencer = three();
    for batch in [A, B, C] {
        assert_eq!(sequencer.settle(batch, lost()), Verdict::Again);
    }
    for (batch, base_sequence) in [(A, 1), (B, 11), (C, 21)] {
        assert_eq!(sequencer.waiting().unwrap().batch, batch);
        let facts = sequencer.send_waiting().unwrap();
        assert_eq!(facts.base_sequence, BaseSequence(base_sequence));
        assert!(sequencer.waiting().is_none());
        assert_eq!(sequencer.settle(batch, Ok(())), Verdict::Done);
    }
    let facts = sequencer.send_new(Some(identity(0)), A, 1, 1, 1).unwrap();
    assert_eq!(facts.base_sequence, BaseSequence(31));
}

#[test]
fn a_flight_behind_another_that_is_out_of_order_waits_for_it() {
    let mut sequencer = three();
    assert_eq!(sequencer.settle(A, code(ErrorCode::NOT_LEADER_OR_FOLLOWER)), Verdict::Again);
    assert_eq!(sequencer.settle(B, code(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER)), Verdict::Again);
    assert_eq!(sequencer.settle(C, code(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER)), Verdict::Again);
    assert_eq!(sequencer.ready_reset(), Reset::No);
    assert_eq!(sequencer.waiting().unwrap().batch, A);
    assert_eq!(sequences(&sequencer), [(1, 1), (2, 11), (3, 21)]);
}

#[test]
fn the_first_flight_out_of_order_begins_a_new_epoch_once_all_are_back() {
    let mut sequencer = three();
    assert_eq!(sequencer.settle(A, code(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER)), Verdict::Again);
    assert_eq!(sequencer.ready_reset(), Reset::No);
    assert!(sequencer.waiting().is_none());
    assert_eq!(sequencer.settle(B, code(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER)), Verdict::Again);
    assert_eq!(sequencer.settle(C, lost()), Verdict::Again);
    assert_eq!(sequencer.ready_reset(), Reset::NextEpoch);
    sequencer.rebase(identity(1));
    assert_eq!(sequences(&sequencer), [(1, 0), (2, 10), (3, 20)]);
    assert_eq!(sequencer.send_waiting().unwrap().epoch, ProducerEpoch(1));
}

#[test]
fn a_refused_batch_closes_the_gap_in_a_new_epoch() {
    let mut sequencer = three();
    let verdict = sequencer.settle(A, code(ErrorCode::MESSAGE_TOO_LARGE));
    assert!(is_failed(&verdict, ErrorKind::Invalid));
    for batch in [B, C] {
        let verdict = sequencer.settle(batch, code(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER));
        assert_eq!(verdict, Verdict::Again);
    }
    assert_eq!(sequencer.ready_reset(), Reset::NextEpoch);
    sequencer.rebase(identity(1));
    assert_eq!(sequences(&sequencer), [(2, 0), (3, 10)]);
}

#[test]
fn what_may_be_stored_is_settled_under_its_own_sequence_before_a_new_epoch() {
    let mut sequencer = three();
    assert_eq!(sequencer.settle(A, lost()), Verdict::Again);
    assert!(is_failed(&sequencer.settle(B, code(ErrorCode::INVALID_RECORD)), ErrorKind::Invalid));
    assert_eq!(sequencer.settle(C, lost()), Verdict::Again);
    assert_eq!(sequencer.ready_reset(), Reset::No);
    assert_eq!(sequencer.waiting().unwrap().batch, A);
    assert_eq!(sequencer.send_waiting().unwrap().base_sequence, BaseSequence(1));
    assert_eq!(sequencer.settle(A, Ok(())), Verdict::Done);
    // C's connection broke, too, but B's refusal stands before it: asking once settles it.
    assert_eq!(sequencer.send_waiting().unwrap().base_sequence, BaseSequence(21));
    let verdict = sequencer.settle(C, code(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER));
    assert_eq!(verdict, Verdict::Again);
    assert_eq!(sequencer.ready_reset(), Reset::NextEpoch);
}

#[test]
fn a_duplicate_too_old_to_be_placed_is_delivered() {
    let mut sequencer = three();
    assert_eq!(sequencer.settle(A, code(ErrorCode::DUPLICATE_SEQUENCE_NUMBER)), Verdict::Done);
}

#[test]
fn a_fenced_producer_needs_a_new_id() {
    let mut sequencer = three();
    let verdict = sequencer.settle(A, code(ErrorCode::INVALID_PRODUCER_EPOCH));
    assert!(is_failed(&verdict, ErrorKind::Fenced));
    let _ = sequencer.settle(B, unsent());
    let _ = sequencer.settle(C, unsent());
    assert_eq!(sequencer.ready_reset(), Reset::NewId);
}

#[test]
fn expiry_tells_what_certainly_was_not_stored_from_what_may_have_been() {
    let mut sequencer = three();
    assert!(sequencer.expire(1_000).is_none(), "all are on their way");
    let _ = sequencer.settle(A, unsent());
    assert!(sequencer.expire(99).is_none());
    let (batch, error) = sequencer.expire(100).unwrap();
    assert_eq!((batch, error.kind()), (A, ErrorKind::Retry));

    let mut sequencer = three();
    let _ = sequencer.settle(A, lost());
    let (batch, error) = sequencer.expire(100).unwrap();
    assert_eq!((batch, error.kind()), (A, ErrorKind::Ambiguous));
    assert!(error.to_string().contains("the connection broke"));
}

#[test]
fn behind_an_open_question_a_lost_flight_is_asked_for_once_more() {
    let mut sequencer = three();
    let _ = sequencer.settle(A, lost());
    let _ = sequencer.settle(B, lost());
    let _ = sequencer.settle(C, lost());
    assert!(sequencer.expire(100).is_some());
    assert!(!sequencer.takes_new(Some(identity(0)), 5));
    assert_eq!(sequencer.ready_reset(), Reset::No);
    assert_eq!(sequencer.send_waiting().unwrap().base_sequence, BaseSequence(11));
    // B is stored, so A was, too; C is settled under its own sequence as well.
    assert_eq!(sequencer.settle(B, Ok(())), Verdict::Done);
    assert_eq!(sequencer.send_waiting().unwrap().base_sequence, BaseSequence(21));
    assert_eq!(sequencer.settle(C, Ok(())), Verdict::Done);
    assert_eq!(sequencer.ready_reset(), Reset::NextEpoch);
}

#[test]
fn behind_an_open_question_a_lost_flight_that_is_not_stored_may_be_stored_later() {
    let mut sequencer = three();
    let _ = sequencer.settle(A, lost());
    let _ = sequencer.settle(B, lost());
    let _ = sequencer.settle(C, code(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER));
    assert!(sequencer.expire(100).is_some());
    let _ = sequencer.send_waiting();
    let verdict = sequencer.settle(B, code(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER));
    assert!(is_failed(&verdict, ErrorKind::Ambiguous));
    // Every attempt of C was answered: it goes on in the next epoch.
    assert_eq!(sequencer.ready_reset(), Reset::NextEpoch);
    sequencer.rebase(identity(1));
    assert_eq!(sequences(&sequencer), [(3, 0)]);
}

#[test]
fn a_refusal_after_a_lost_attempt_is_ambiguous() {
    let mut sequencer = three();
    let _ = sequencer.settle(A, lost());
    let _ = sequencer.settle(B, unsent());
    let _ = sequencer.settle(C, unsent());
    let _ = sequencer.send_waiting();
    let verdict = sequencer.settle(A, code(ErrorCode::MESSAGE_TOO_LARGE));
    assert!(is_failed(&verdict, ErrorKind::Ambiguous));
}

#[test]
fn an_open_question_with_nothing_behind_it_begins_a_new_epoch() {
    let mut sequencer = three();
    let _ = sequencer.settle(A, Ok(()));
    let _ = sequencer.settle(B, Ok(()));
    let _ = sequencer.settle(C, lost());
    assert!(sequencer.expire(300).is_some());
    assert!(!sequencer.takes_new(Some(identity(0)), 5));
    assert_eq!(sequencer.ready_reset(), Reset::NextEpoch);
    sequencer.rebase(identity(1));
    let facts = sequencer.send_new(Some(identity(1)), A, 1, 1, 1).unwrap();
    assert_eq!((facts.epoch, facts.base_sequence), (ProducerEpoch(1), BaseSequence(0)));
}

#[test]
fn a_new_identity_waits_until_the_flights_of_the_old_are_done() {
    let mut sequencer = Sequencer::default();
    let _ = sequencer.send_new(Some(identity(0)), A, 5, 1, 1);
    assert!(!sequencer.takes_new(Some(identity(1)), 5));
    let _ = sequencer.settle(A, Ok(()));
    assert!(sequencer.takes_new(Some(identity(1)), 5));
    let facts = sequencer.send_new(Some(identity(1)), B, 5, 1, 1).unwrap();
    assert_eq!(facts.base_sequence, BaseSequence(0));
}

#[test]
fn without_an_identity_nothing_begins_anew() {
    let mut sequencer = Sequencer::default();
    assert_eq!(sequencer.send_new(None, A, 5, 1, 100), None);
    assert_eq!(sequencer.settle(A, lost()), Verdict::Again);
    assert_eq!(sequencer.send_waiting(), None);
    let verdict = sequencer.settle(A, code(ErrorCode::INVALID_RECORD));
    assert!(is_failed(&verdict, ErrorKind::Ambiguous));
    assert_eq!(sequencer.ready_reset(), Reset::No);
    assert!(sequencer.takes_new(None, 1));
}
