//! Saving in parts, refusing damaged records, and how much memory the state takes.

use tidemill_base::{AppliedIndex, BrokerEpoch, ErrorKind, Incarnation, TimestampMs};
use uuid::Uuid;

use super::RestoreError;
use crate::command::{AllocateProducerIds, Tick};
use crate::entries::CHUNK_ENTRIES_MAX;
use crate::fixture_test::small_state;
use crate::harness::{BROKER, Harness, batch, produced};
use crate::state::MetadataState;

type Records = Vec<(Vec<u8>, Vec<u8>)>;

#[test]
fn saving_costs_as_much_as_changed() {
    let mut cluster = Harness::new();
    let partitions = cluster.topic("t", 50);
    for _ in 0..CHUNK_ENTRIES_MAX * 3 {
        cluster.commit(vec![batch(partitions[0], 1)]);
    }
    let command =
        cluster.next_object(vec![batch(partitions[0], 1), produced(partitions[1], 1, 5, 0, 0)]);
    cluster.state.apply(AppliedIndex(10_000), cluster.now, &command.into());
    let changes = cluster.state.take_changes();
    // The cluster, the lane and its new outcome, the file, two partitions, their last chunks, one
    // producer. An outcome that was saved and is received by now goes.
    assert_eq!(changes.puts.len(), 9);
    assert_eq!(changes.deletes.len(), 1);
    let bytes: usize = changes.puts.iter().map(|(key, value)| key.len() + value.len()).sum();
    assert!(bytes < 1_500, "{bytes}");
    assert!(cluster.state.take_changes().puts.is_empty(), "nothing has changed since");
}

#[test]
fn a_restored_state_goes_on_as_the_saved_one() {
    let mut state = small_state();
    let mut restored = MetadataState::restore(state.snapshot().puts).expect("it restores");
    for index in 100..103 {
        let (index, time) = (AppliedIndex(index), TimestampMs(i64::MAX / 2));
        let tick = Tick {}.into();
        assert_eq!(state.apply(index, time, &tick), restored.apply(index, time, &tick));
        let ids = AllocateProducerIds { broker: BROKER, epoch: BrokerEpoch(1), count: 3 }.into();
        assert_eq!(state.apply(index, time, &ids), restored.apply(index, time, &ids));
    }
    assert_eq!(state.snapshot(), restored.snapshot());
}

fn refused(records: Records) -> RestoreError {
    match MetadataState::restore(records) {
        Err(error) => error,
        Ok(_) => panic!("damaged records were restored"),
    }
}

#[test]
fn a_missing_record_is_noticed() {
    let records = small_state().snapshot().puts;
    // Records on which nothing else rests: configs, outcomes, producers, offsets, unused files.
    let optional = [2, 5, 10, 12];
    for at in 0..records.len() {
        let mut fewer = records.clone();
        let (key, _) = fewer.remove(at);
        if !optional.contains(&key[0]) && MetadataState::restore(fewer).is_ok() {
            let is_unused = key[0] == 6 || key[0] == 4 || key[0] == 11 || key[0] == 3;
            assert!(is_unused, "record {key:?} was not missed");
        }
    }
}

#[test]
fn damaged_records_are_refused() {
    let records = small_state().snapshot().puts;
    let mut unordered = records.clone();
    unordered.swap(1, 2);
    assert_eq!(refused(unordered), RestoreError::Inconsistent("keys do not rise"));
    let mut cut = records.clone();
    cut[0].1.pop();
    assert_eq!(refused(cut).kind(), ErrorKind::Corrupt);
    let mut unknown = records.clone();
    unknown.push((vec![200], vec![]));
    assert_eq!(refused(unknown), RestoreError::Inconsistent("a key is of no table"));
    assert_eq!(refused(vec![]), RestoreError::Inconsistent("there are no records"));
    assert_eq!(
        refused(records[1..].to_vec()),
        RestoreError::Inconsistent("the first record is not the cluster's")
    );
    let chunk = records.iter().position(|(key, _)| key[0] == 9).expect("there is a chunk");
    let mut torn = records;
    torn.remove(chunk);
    assert!(matches!(refused(torn), RestoreError::Inconsistent(_)));
}

#[test]
fn a_topic_of_one_empty_partition_takes_less_than_six_hundred_bytes() {
    let mut state = MetadataState::new(Uuid::from_u128(1), Incarnation(1));
    let topics = 2_000;
    for at in 0..topics {
        let topic = crate::command::CreateTopic {
            name: format!("a-topic-with-a-name-of-usual-length-{at}"),
            id: tidemill_base::TopicId(Uuid::from_u128(1 + at)),
            partitions: 1,
            replication_factor: 1,
            configs: vec![],
        };
        state.apply(AppliedIndex(1), TimestampMs(1), &topic.into());
    }
    let each = state.approximate_bytes() / topics as usize;
    assert!(each < 600, "{each}");
}

#[test]
fn a_million_producers_take_less_than_128_mebibytes() {
    let mut cluster = Harness::new();
    let partitions = cluster.topic("t", 10);
    let before = cluster.state.approximate_bytes();
    for producer in 1..=900 {
        let batches = partitions.iter().map(|id| produced(*id, 1, producer, 0, 0)).collect();
        let object = cluster.next_object(batches).into();
        cluster.state.apply(AppliedIndex(producer as u64 + 10), cluster.now, &object);
        cluster.position = 0;
    }
    let entries = cluster.state.producer_entries();
    assert_eq!(entries, 9_000);
    let log: usize = cluster
        .state
        .partitions
        .values()
        .map(|partition| partition.log.entries.approximate_bytes())
        .sum();
    let lanes = cluster.state.lanes.approximate_bytes();
    let bytes = cluster.state.approximate_bytes() - before - log - lanes;
    let million = bytes as u64 * 1_000_000 / entries;
    assert!(million < 128 << 20, "{million}");
}
