//! The engine of a producer, by exact plans.

use tidemill_base::{ProducerEpoch, ProducerId, TimestampMs};
use tidemill_kafka::ErrorCode;

use super::*;

const ME: Identity = Identity { id: ProducerId(7), epoch: ProducerEpoch(0) };

/// Partition n is led by broker n; brokers are ready unless said otherwise.
#[derive(Default)]
struct World {
    leaderless: BTreeSet<i32>,
    states: BTreeMap<i32, BrokerState>,
}

impl View for World {
    fn leader(&self, partition: &TopicPartition) -> Option<BrokerId> {
        let index = partition.partition.0;
        (!self.leaderless.contains(&index)).then_some(BrokerId(index))
    }

    fn broker(&self, broker: BrokerId) -> BrokerState {
        self.states.get(&broker.0).copied().unwrap_or(BrokerState::Ready)
    }
}

fn config() -> EngineConfig {
    EngineConfig {
        codec: Codec::None,
        batch_bytes_max: 300,
        request_bytes_max: 1_000,
        linger_ms: 10,
        delivery_timeout_ms: 1_000,
        partition_in_flight_max: 5,
        idempotent: true,
        backoff: Backoff { initial_ms: 100, max_ms: 100 },
    }
}

/// An engine that knows who it is.
fn engine() -> Engine {
    let mut engine = Engine::new(config(), 1);
    engine.identified(0, Ok(ME));
    engine
}

fn t(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

fn append(engine: &mut Engine, now_ms: u64, partition: i32, value_bytes: usize) -> Appended {
    let value = vec![b'v'; value_bytes];
    let timestamp = TimestampMs(0);
    let record = NewRecord { timestamp, key: None, value: Some(&value), headers: &[] };
    engine.append(now_ms, &t(partition), &record).unwrap()
}

/// The plan in words: what is sent where with which sequence, and the rest.
fn words(plan: &Plan) -> Vec<String> {
    let part = |part: &Part| {
        let sequence = part
            .facts
            .map_or("-".to_owned(), |facts| format!("{}/{}", facts.epoch, facts.base_sequence));
        let kind = if part.builder.is_some() { "" } else { " again" };
        format!("{} b{}@{sequence}{kind}", part.partition, part.batch.0)
    };
    let word = |action: &Action| match action {
        Action::ObtainIdentity => "identify".to_owned(),
        Action::RefreshMetadata(topics) => format!("refresh {}", topics.join(",")),
        Action::Connect(broker) => format!("connect {broker}"),
        Action::Send(broker, parts) => {
            let parts: Vec<String> = parts.iter().map(part).collect();
            format!("send {broker}: {}", parts.join(", "))
        }
        Action::Fail(batch, error) => format!("fail b{} {}", batch.0, error.kind()),
    };
    plan.actions.iter().map(word).collect()
}

fn poll(engine: &mut Engine, now_ms: u64) -> Vec<String> {
    words(&engine.poll(now_ms, false, &World::default()))
}

fn answered(code: ErrorCode) -> Result<(), Error> {
    Err(Error::answered("produce", code))
}

#[test]
fn a_batch_lingers_and_then_goes() {
    let mut engine = engine();
    append(&mut engine, 5, 1, 10);
    append(&mut engine, 9, 1, 10);
    let plan = engine.poll(14, false, &World::default());
    assert!(plan.actions.is_empty());
    assert_eq!(plan.wake_at_ms, Some(15));
    assert_eq!(poll(&mut engine, 15), ["send 1: t-1 b0@0/0"]);
    assert_eq!(poll(&mut engine, 15), [""; 0]);
}

#[test]
fn a_full_batch_goes_at_once_and_the_next_continues_its_sequence() {
    let mut engine = engine();
    let first = append(&mut engine, 0, 1, 150);
    assert_eq!((first.delta, first.is_first, first.filled), (0, true, false));
    let second = append(&mut engine, 0, 1, 150);
    assert_eq!((second.batch, second.delta, second.filled), (BatchId(1), 0, true));
    assert_eq!(poll(&mut engine, 0), ["send 1: t-1 b0@0/0"]);
    assert_eq!(engine.settle(5, &t(1), BatchId(0), Ok(())), Some(Ok(())));
    assert_eq!(poll(&mut engine, 10), ["send 1: t-1 b1@0/1"]);
}

#[test]
fn hurry_and_flush_do_not_linger() {
    let mut engine = engine();
    append(&mut engine, 0, 1, 10);
    let plan = engine.poll(0, true, &World::default());
    assert_eq!(words(&plan), ["send 1: t-1 b0@0/0"]);
    append(&mut engine, 0, 2, 10);
    engine.flush();
    assert_eq!(poll(&mut engine, 0), ["send 2: t-2 b1@0/0"]);
}

#[test]
fn the_identity_is_obtained_first_and_once() {
    let mut engine = Engine::new(config(), 1);
    assert_eq!(poll(&mut engine, 0), [""; 0], "nothing to send, nothing to ask");
    append(&mut engine, 0, 1, 10);
    assert_eq!(poll(&mut engine, 20), ["identify"]);
    assert_eq!(poll(&mut engine, 30), [""; 0]);
    engine.identified(40, answered(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS).map(|()| ME));
    assert_eq!(poll(&mut engine, 41), [""; 0]);
    assert_eq!(poll(&mut engine, 161), ["identify"]);
    engine.identified(170, Ok(ME));
    assert_eq!(poll(&mut engine, 170), ["send 1: t-1 b0@0/0"]);
}

#[test]
fn a_refused_identity_fails_everything() {
    let mut engine = Engine::new(config(), 1);
    append(&mut engine, 0, 1, 10);
    assert_eq!(poll(&mut engine, 20), ["identify"]);
    engine.identified(30, answered(ErrorCode::CLUSTER_AUTHORIZATION_FAILED).map(|()| ME));
    assert_eq!(poll(&mut engine, 30), ["fail b0 denied"]);
    assert!(engine.refusal().is_some());
}

#[test]
fn batches_of_one_broker_share_a_request_up_to_its_size() {
    struct OneBroker;
    impl View for OneBroker {
        fn leader(&self, _: &TopicPartition) -> Option<BrokerId> {
            Some(BrokerId(1))
        }
        fn broker(&self, _: BrokerId) -> BrokerState {
            BrokerState::Ready
        }
    }
    let mut engine = engine();
    for partition in 0..5 {
        append(&mut engine, 0, partition, 200);
    }
    // 270 bytes each: three fit in 1,000; the next request begins behind the last partition served.
    let plan = engine.poll(10, false, &OneBroker);
    assert_eq!(words(&plan), ["send 1: t-0 b0@0/0, t-1 b1@0/0, t-2 b2@0/0"]);
    let plan = engine.poll(10, false, &OneBroker);
    assert_eq!(words(&plan), ["send 1: t-3 b3@0/0, t-4 b4@0/0"]);
}

#[test]
fn brokers_are_connected_to_and_waited_for() {
    let mut engine = engine();
    append(&mut engine, 0, 1, 10);
    append(&mut engine, 0, 2, 10);
    let states = BTreeMap::from([(1, BrokerState::Away), (2, BrokerState::Busy)]);
    let world = World { states, ..World::default() };
    assert_eq!(words(&engine.poll(10, false, &world)), ["connect 1"]);
    assert_eq!(poll(&mut engine, 11), ["send 1: t-1 b0@0/0", "send 2: t-2 b1@0/0"]);
}

#[test]
fn a_partition_without_leader_asks_for_metadata_no_more_often_than_the_backoff() {
    let mut engine = engine();
    append(&mut engine, 0, 1, 10);
    let world = World { leaderless: BTreeSet::from([1]), ..World::default() };
    assert_eq!(words(&engine.poll(10, false, &world)), ["refresh t"]);
    let plan = engine.poll(11, false, &world);
    assert!(plan.actions.is_empty());
    assert!((90..=130).contains(&plan.wake_at_ms.unwrap()), "{:?}", plan.wake_at_ms);
    assert_eq!(words(&engine.poll(131, false, &world)), ["refresh t"]);
}

#[test]
fn a_moved_leader_means_new_metadata_and_the_same_batch_again_after_the_backoff() {
    let mut engine = engine();
    append(&mut engine, 0, 1, 10);
    assert_eq!(poll(&mut engine, 10), ["send 1: t-1 b0@0/0"]);
    let told = engine.settle(20, &t(1), BatchId(0), answered(ErrorCode::NOT_LEADER_OR_FOLLOWER));
    assert_eq!(told, None);
    assert_eq!(poll(&mut engine, 21), ["refresh t"]);
    assert_eq!(poll(&mut engine, 141), ["send 1: t-1 b0@0/0 again"]);
    assert_eq!(engine.settle(150, &t(1), BatchId(0), Ok(())), Some(Ok(())));
    assert_eq!(engine.poll(160, false, &World::default()).wake_at_ms, None);
}

#[test]
fn a_refused_batch_lets_the_others_go_on_in_the_next_epoch() {
    let mut engine = engine();
    for now_ms in [0, 20, 40, 60] {
        append(&mut engine, now_ms, 1, 10);
        let _ = engine.poll(now_ms + 10, false, &World::default());
        let _ = engine.settle(now_ms + 15, &t(1), BatchId(0), Ok(()));
    }
    let told = engine.settle(80, &t(1), BatchId(1), answered(ErrorCode::INVALID_RECORD));
    assert!(matches!(told, Some(Err(error)) if error.kind() == ErrorKind::Invalid));
    for batch in [2, 3] {
        let late = answered(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        assert_eq!(engine.settle(80, &t(1), BatchId(batch), late), None);
    }
    assert_eq!(poll(&mut engine, 300), ["send 1: t-1 b2@1/0 again"]);
    assert_eq!(engine.settle(310, &t(1), BatchId(2), Ok(())), Some(Ok(())));
    assert_eq!(poll(&mut engine, 310), ["send 1: t-1 b3@1/1 again"]);
    append(&mut engine, 310, 2, 10);
    assert_eq!(poll(&mut engine, 320), ["send 2: t-2 b4@1/0"]);
}

#[test]
fn what_was_never_sent_expires_as_retry() {
    let mut engine = engine();
    append(&mut engine, 0, 1, 10);
    let world = World { leaderless: BTreeSet::from([1]), ..World::default() };
    let _ = engine.poll(10, false, &world);
    assert_eq!(words(&engine.poll(1_000, false, &world)), ["fail b0 retry"]);
}

#[test]
fn what_is_on_its_way_does_not_expire_and_what_may_be_stored_expires_as_ambiguous() {
    let mut engine = engine();
    append(&mut engine, 0, 1, 10);
    assert_eq!(poll(&mut engine, 10), ["send 1: t-1 b0@0/0"]);
    assert_eq!(poll(&mut engine, 2_000), [""; 0]);
    let lost = Err(Error::new(ErrorKind::Ambiguous, "the connection broke"));
    assert_eq!(engine.settle(2_000, &t(1), BatchId(0), lost), None);
    let failed = poll(&mut engine, 2_000);
    assert!(failed.contains(&"fail b0 ambiguous".to_owned()), "{failed:?}");
}

#[test]
fn without_idempotence_one_batch_of_a_partition_is_on_its_way() {
    let config = EngineConfig { idempotent: false, partition_in_flight_max: 1, ..config() };
    let mut engine = Engine::new(config, 1);
    append(&mut engine, 0, 1, 200);
    append(&mut engine, 0, 1, 200);
    assert_eq!(poll(&mut engine, 10), ["send 1: t-1 b0@-"]);
    assert_eq!(poll(&mut engine, 10), [""; 0]);
    assert_eq!(engine.settle(20, &t(1), BatchId(0), Ok(())), Some(Ok(())));
    assert_eq!(poll(&mut engine, 20), ["send 1: t-1 b1@-"]);
}

#[test]
fn draining_gives_up_what_was_sent_and_what_was_not() {
    let mut engine = engine();
    append(&mut engine, 0, 1, 200);
    append(&mut engine, 0, 1, 200);
    append(&mut engine, 0, 1, 200);
    let _ = engine.poll(0, false, &World::default());
    assert_eq!(engine.drain(), [BatchId(0), BatchId(1), BatchId(2)]);
    assert_eq!(poll(&mut engine, 5_000), [""; 0]);
}
