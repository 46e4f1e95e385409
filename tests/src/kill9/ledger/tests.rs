//! What the ledger of acknowledged records accepts, and what it calls lost or doubled.

use super::*;

const IDEMPOTENT: u32 = 1;
const PLAIN: u32 = 2;

fn ledger() -> Ledger {
    Ledger::new(vec![TopicPartition::new("t", 0)])
}

fn stamp(producer: u32, number: u64) -> Stamp {
    Stamp { producer, number }
}

fn log(stamps: &[(u32, u64)]) -> Vec<Stamp> {
    stamps.iter().map(|(producer, number)| stamp(*producer, *number)).collect()
}

/// Lost, duplicated, reordered, changed, other.
fn counts(ledger: &Ledger) -> [u64; 5] {
    let v = ledger.violations();
    [v.lost, v.duplicated, v.reordered, v.changed, v.other]
}

#[test]
fn a_log_with_all_that_was_acknowledged_passes_and_goes_on() {
    let ledger = ledger();
    ledger.sent(0, IDEMPOTENT, 3);
    ledger.acked(0, 0, stamp(IDEMPOTENT, 0), 2);
    ledger.acked(0, 3, stamp(PLAIN, 4), 1);
    ledger.seen(0, 0, Some(&stamp(IDEMPOTENT, 0).value()));
    ledger.audit(0, log(&[(IDEMPOTENT, 0), (IDEMPOTENT, 1), (IDEMPOTENT, 2), (PLAIN, 4)]));
    ledger.sent(0, IDEMPOTENT, 4);
    let mut whole = log(&[(IDEMPOTENT, 0), (IDEMPOTENT, 1), (IDEMPOTENT, 2), (PLAIN, 4)]);
    whole.push(stamp(IDEMPOTENT, 3));
    ledger.audit(0, whole);
    assert_eq!(counts(&ledger), [0; 5]);
    assert_eq!(ledger.acked_in_all(), 3);
}

#[test]
fn an_acknowledged_record_that_is_gone_is_lost() {
    let ledger = ledger();
    ledger.acked(0, 0, stamp(PLAIN, 0), 2);
    ledger.audit(0, log(&[(PLAIN, 0)]));
    assert_eq!(counts(&ledger), [1, 0, 0, 0, 0]);
    ledger.audit(0, log(&[]));
    assert_eq!(counts(&ledger), [2, 0, 0, 0, 0]);
}

#[test]
fn a_gap_or_a_missing_end_of_an_idempotent_producer_is_lost() {
    let ledger = ledger();
    ledger.sent(0, IDEMPOTENT, 4);
    ledger.audit(0, log(&[(IDEMPOTENT, 0), (IDEMPOTENT, 2)]));
    assert_eq!(counts(&ledger), [2, 0, 0, 0, 0]);
}

#[test]
fn a_plain_producer_may_leave_numbers_out_but_not_repeat_or_turn_them() {
    let ledger = ledger();
    ledger.audit(0, log(&[(PLAIN, 0), (PLAIN, 5), (PLAIN, 5), (PLAIN, 3)]));
    assert_eq!(counts(&ledger), [0, 1, 1, 0, 0]);
}

#[test]
fn a_record_stored_twice_is_a_duplicate() {
    let ledger = ledger();
    ledger.sent(0, IDEMPOTENT, 2);
    ledger.audit(0, log(&[(IDEMPOTENT, 0), (IDEMPOTENT, 1)]));
    ledger.audit(0, log(&[(IDEMPOTENT, 0), (IDEMPOTENT, 1), (IDEMPOTENT, 0)]));
    assert_eq!(counts(&ledger), [0, 1, 0, 0, 0]);
}

#[test]
fn what_was_seen_or_audited_must_not_change() {
    let ledger = ledger();
    ledger.seen(0, 0, Some(&stamp(PLAIN, 0).value()));
    ledger.audit(0, log(&[(PLAIN, 1)]));
    assert_eq!(counts(&ledger), [0, 0, 0, 1, 0]);
    ledger.audit(0, log(&[(PLAIN, 0)]));
    assert_eq!(counts(&ledger), [0, 0, 0, 2, 0]);
}

#[test]
fn a_consumer_must_not_leave_offsets_out_or_see_damage() {
    let ledger = ledger();
    ledger.seen(0, 1, Some(&stamp(PLAIN, 0).value()));
    ledger.seen(0, 2, Some(b"damage"));
    assert_eq!(counts(&ledger), [0, 0, 0, 1, 1]);
    assert_eq!(ledger.next_seen(0), 3);
}

#[test]
fn one_offset_cannot_be_acknowledged_for_two_records() {
    let ledger = ledger();
    ledger.acked(0, 0, stamp(PLAIN, 0), 1);
    ledger.acked(0, 0, stamp(IDEMPOTENT, 0), 1);
    ledger.acked(0, -1, stamp(IDEMPOTENT, 1), 1);
    assert_eq!(counts(&ledger), [0, 0, 0, 1, 1]);
}
