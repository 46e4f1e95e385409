//! Idempotent producers: what `producers.rs` promises, rule by rule.

use tidemill_base::{BatchOutcome, BrokerEpoch, Offset, PartitionId};

use crate::command::{AllocateProducerIds, ConfigChange, ConfigOperation, Tick};
use crate::command::{AlterConfigs, ConfigResource};
use crate::harness::{BROKER, Harness, produced};
use crate::limits::Limits;
use crate::outcome::Outcome;

const MINUTE: i64 = 60_000;

fn committed(base_offset: i64) -> BatchOutcome {
    BatchOutcome::Committed { base_offset: Offset(base_offset), log_start: Offset(0) }
}

fn duplicate(base_offset: i64) -> BatchOutcome {
    BatchOutcome::Duplicate { base_offset: Offset(base_offset), log_start: Offset(0) }
}

fn cluster() -> (Harness, PartitionId) {
    let mut cluster = Harness::new();
    let partition = cluster.topic("t", 1)[0];
    (cluster, partition)
}

#[test]
fn a_new_producer_begins_at_zero() {
    let (mut cluster, p) = cluster();
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, 3)), BatchOutcome::OutOfOrder);
    assert_eq!(cluster.commit_one(produced(p, 3, 7, 0, 0)), committed(0));
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, 4)), BatchOutcome::OutOfOrder);
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, 3)), committed(3));
}

#[test]
fn five_batches_are_known_again_and_older_ones_are_known_to_be_stored() {
    let (mut cluster, p) = cluster();
    for at in 0..7 {
        assert_eq!(cluster.commit_one(produced(p, 2, 7, 0, at * 2)), committed(i64::from(at) * 2));
    }
    for at in 2..7 {
        assert_eq!(cluster.commit_one(produced(p, 2, 7, 0, at * 2)), duplicate(i64::from(at) * 2));
    }
    for at in 0..2 {
        let outcome = cluster.commit_one(produced(p, 2, 7, 0, at * 2));
        assert_eq!(outcome, BatchOutcome::DuplicateForgotten);
    }
    let log_start_moved = cluster.advance(p, Some(14));
    assert!(matches!(log_start_moved, Outcome::LogStarts(_)));
    let again = cluster.commit_one(produced(p, 2, 7, 0, 12));
    let expected = BatchOutcome::Duplicate { base_offset: Offset(12), log_start: Offset(14) };
    assert_eq!(again, expected);
}

#[test]
fn batches_cut_otherwise_than_the_kept_ones_are_out_of_order() {
    let (mut cluster, p) = cluster();
    cluster.commit_one(produced(p, 4, 7, 0, 0));
    cluster.commit_one(produced(p, 4, 7, 0, 4));
    for (count, sequence) in [(2, 4), (8, 0), (2, 6), (3, 5)] {
        let outcome = cluster.commit_one(produced(p, count, 7, 0, sequence));
        assert_eq!(outcome, BatchOutcome::OutOfOrder, "{count} at {sequence}");
    }
}

#[test]
fn duplicates_within_one_object_are_found() {
    let (mut cluster, p) = cluster();
    let again = produced(p, 1, 7, 0, 0);
    assert_eq!(cluster.commit(vec![again, again]), [committed(0), duplicate(0)]);
    assert_eq!(cluster.entries(p).len(), 1);
}

#[test]
fn sequences_wrap_after_the_largest() {
    let (mut cluster, p) = cluster();
    let largest = i32::MAX as u32;
    assert_eq!(cluster.commit_one(produced(p, largest, 7, 0, 0)), committed(0));
    assert_eq!(cluster.commit_one(produced(p, 3, 7, 0, i32::MAX)), committed(i64::from(largest)));
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, 1)), BatchOutcome::OutOfOrder);
    let next = i64::from(largest) + 3;
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, 2)), committed(next));
    assert_eq!(cluster.commit_one(produced(p, 3, 7, 0, i32::MAX)), duplicate(i64::from(largest)));
}

#[test]
fn a_newer_epoch_begins_at_zero_and_fences_the_older() {
    let (mut cluster, p) = cluster();
    cluster.commit_one(produced(p, 1, 7, 0, 0));
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 1, 1)), BatchOutcome::OutOfOrder);
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, 1)), committed(1), "nothing was fenced");
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 1, 0)), committed(2));
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, 2)), BatchOutcome::Fenced);
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, 0)), BatchOutcome::Fenced);
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 1, 0)), duplicate(2));
}

#[test]
fn ids_that_were_never_given_out_are_fenced() {
    let (mut cluster, p) = cluster();
    for id in [-1, 0, 1_000, i64::MAX] {
        let outcome = cluster.commit_one(produced(p, 1, id, 0, 0));
        assert_eq!(outcome, BatchOutcome::Fenced, "{id}");
    }
    assert_eq!(cluster.commit_one(produced(p, 1, 7, -1, 0)), BatchOutcome::Fenced);
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, -1)), BatchOutcome::OutOfOrder);
}

#[test]
fn idle_producers_expire_and_may_go_on_in_the_middle() {
    let (mut cluster, p) = cluster();
    cluster.commit_one(produced(p, 1, 7, 0, 0));
    cluster.now.0 += 24 * 60 * MINUTE - 1;
    cluster.apply(Tick {});
    assert_eq!(cluster.state.producer_entries(), 1);
    cluster.now.0 += 1;
    cluster.apply(Tick {});
    assert_eq!(cluster.state.producer_entries(), 0);
    assert_eq!(
        cluster.commit_one(produced(p, 1, 8, 0, 5)),
        BatchOutcome::OutOfOrder,
        "8 is above 7"
    );
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, 5)), committed(1));
    assert_eq!(cluster.commit_one(produced(p, 1, 6, 0, 9)), committed(2), "6 is below 7");
}

#[test]
fn what_was_never_stored_is_never_called_a_duplicate() {
    let (mut cluster, p) = cluster();
    cluster.commit_one(produced(p, 1, 7, 0, 0));
    cluster.now.0 += 25 * 60 * MINUTE;
    cluster.apply(Tick {});
    for at in 5..12 {
        cluster.commit_one(produced(p, 1, 7, 0, at));
    }
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, 5)), BatchOutcome::DuplicateForgotten);
    assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, 4)), BatchOutcome::OutOfOrder);
}

#[test]
fn the_expiration_is_configured() {
    let (mut cluster, p) = cluster();
    cluster.commit_one(produced(p, 1, 7, 0, 0));
    cluster.apply(AlterConfigs {
        resource: ConfigResource::Cluster,
        replace_all: false,
        changes: vec![ConfigChange {
            name: "producer.id.expiration.ms".to_owned(),
            operation: ConfigOperation::Set("1000".to_owned()),
        }],
    });
    cluster.now.0 += 1000;
    cluster.apply(Tick {});
    assert_eq!(cluster.state.producer_entries(), 0);
}

#[test]
fn at_the_limit_only_idle_producers_make_room() {
    let mut cluster = Harness::with_limits(Limits { producer_entries_max: 3, ..Limits::default() });
    let p = cluster.topic("t", 1)[0];
    for id in [3, 1, 2] {
        cluster.commit_one(produced(p, 1, id, 0, 0));
        cluster.now.0 += MINUTE;
    }
    assert_eq!(cluster.commit_one(produced(p, 1, 4, 0, 0)), BatchOutcome::ProducersFull);
    assert_eq!(cluster.commit_one(produced(p, 1, 1, 0, 1)), committed(3), "known ones go on");
    cluster.now.0 += 12 * MINUTE - 1;
    assert_eq!(cluster.commit_one(produced(p, 1, 4, 0, 0)), BatchOutcome::ProducersFull);
    cluster.now.0 += 1_000;
    assert_eq!(cluster.commit_one(produced(p, 1, 4, 0, 0)), committed(4), "3 was idle longest");
    assert_eq!(cluster.state.producer_entries(), 3);
    assert_eq!(cluster.commit_one(produced(p, 1, 2, 0, 0)), duplicate(2), "2 is still known");
    assert_eq!(cluster.commit_one(produced(p, 1, 3, 0, 1)), BatchOutcome::ProducersFull);
}

#[test]
fn blocks_of_ids_never_overlap_and_go_to_live_brokers() {
    let (mut cluster, _) = cluster();
    let block = |count| AllocateProducerIds { broker: BROKER, epoch: BrokerEpoch(1), count };
    let Outcome::ProducerIds { first, count } = cluster.apply(block(10)) else { panic!() };
    let Outcome::ProducerIds { first: next, .. } = cluster.apply(block(1)) else { panic!() };
    assert_eq!(next.0, first.0 + i64::from(count));
    assert!(matches!(cluster.apply(block(0)), Outcome::Refused(_)));
    assert!(matches!(cluster.apply(block(u32::MAX)), Outcome::Refused(_)));
    cluster.register(BROKER);
    assert!(matches!(cluster.apply(block(1)), Outcome::Refused(_)));
}

#[cfg(feature = "twins")]
mod twins {
    use tidemill_base::twins::{Twin, switch_on};

    use super::*;

    #[test]
    fn a_window_of_four_forgets_the_fifth() {
        let (mut cluster, p) = cluster();
        let _twin = switch_on(Twin::DuplicateWindowOfFour);
        for at in 0..5 {
            cluster.commit_one(produced(p, 1, 7, 0, at));
        }
        assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, 1)), duplicate(1));
        assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, 0)), BatchOutcome::DuplicateForgotten);
    }

    #[test]
    fn a_stale_sequence_is_stored_again() {
        let (mut cluster, p) = cluster();
        cluster.commit_one(produced(p, 1, 7, 0, 0));
        let _twin = switch_on(Twin::StaleSequenceAccepted);
        assert_eq!(cluster.commit_one(produced(p, 1, 7, 0, 0)), committed(1));
    }
}
