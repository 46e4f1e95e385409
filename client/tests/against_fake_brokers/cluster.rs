//! The fake cluster: its state, its faults, and what was asked of it.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tidemill_client::{Client, ClientConfig, Environment, ErrorCode};
use tidemill_kafka::{ApiKey, Uuid};
use tokio::net::TcpListener;

use crate::log::Partition;
use crate::serve;

/// How a request is spoiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// Answered with this code, and not carried out.
    Code(ErrorCode),
    /// The connection is closed instead.
    Drop,
    /// Carried out; then the connection is closed instead of an answer.
    DropAfter,
    /// Carried out, and never answered.
    Silent,
    /// Not carried out; a frame of an absurd length is answered.
    Oversized,
    /// Not carried out; bytes that are no answer are answered.
    Garbage,
}

/// A topic.
pub(crate) struct Topic {
    pub(crate) id: Uuid,
    pub(crate) partitions: Vec<Partition>,
}

/// Everything that the brokers know.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) topics: BTreeMap<String, Topic>,
    pub(crate) faults: BTreeMap<ApiKey, VecDeque<Fault>>,
    /// Broker, API and version of each request.
    pub(crate) requests: Vec<(i32, ApiKey, i16)>,
    pub(crate) next_producer: i64,
    pub(crate) committed: BTreeMap<(String, String, i32), i64>,
    /// The only version of ApiVersions, if the brokers are old.
    pub(crate) api_versions_max: Option<i16>,
    /// Whether leaders are told beside errors.
    pub(crate) hints: bool,
    pub(crate) group: Group,
}

/// The one group, of one member.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) generation: i32,
    pub(crate) member_id: String,
    pub(crate) members_given: u32,
    pub(crate) left: Vec<String>,
}

/// Brokers 1, 2, ... on loopback.
pub(crate) struct FakeCluster {
    pub(crate) state: Arc<Mutex<State>>,
}

impl FakeCluster {
    /// Starts so many brokers.
    pub(crate) async fn start(brokers: i32) -> Self {
        let state = Arc::new(Mutex::new(State { hints: true, ..State::default() }));
        for broker in 1..=brokers {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            state.lock().addresses.push(listener.local_addr().unwrap());
            serve::spawn(serve::accept(broker, listener, state.clone()));
        }
        Self { state }
    }

    /// Adds a topic whose partitions are led by brokers 1, 2, ... in turn.
    pub(crate) fn topic(self, name: &str, partitions: i32) -> Self {
        let mut state = self.state.lock();
        let brokers = state.addresses.len() as i32;
        let id = Uuid::from_u128(100 + state.topics.len() as u128);
        let led = |index: i32| Partition::led_by(index % brokers + 1);
        let partitions = (0..partitions).map(led).collect();
        state.topics.insert(name.to_owned(), Topic { id, partitions });
        drop(state);
        self
    }

    /// Spoils the next requests of an API, one after the other.
    pub(crate) fn spoil(&self, api: ApiKey, faults: &[Fault]) {
        self.state.lock().faults.entry(api).or_default().extend(faults);
    }

    /// Gives a partition to another broker.
    pub(crate) fn move_leader(&self, topic: &str, partition: usize, leader: i32) {
        let mut state = self.state.lock();
        let partition = &mut state.topics.get_mut(topic).unwrap().partitions[partition];
        partition.leader = leader;
        partition.leader_epoch += 1;
    }

    /// The values stored in a partition.
    pub(crate) fn values(&self, topic: &str, partition: usize) -> Vec<String> {
        self.state.lock().topics[topic].partitions[partition].values()
    }

    /// How often an API was asked.
    pub(crate) fn asked(&self, api: ApiKey) -> usize {
        self.state.lock().requests.iter().filter(|request| request.1 == api).count()
    }

    /// Settings for this cluster that try again quickly.
    pub(crate) fn config(&self) -> ClientConfig {
        let servers: Vec<String> =
            self.state.lock().addresses.iter().map(ToString::to_string).collect();
        ClientConfig {
            bootstrap_servers: servers.join(","),
            request_timeout_ms: 5_000,
            api_timeout_ms: 10_000,
            retry_backoff_ms: 2,
            retry_backoff_max_ms: 10,
            reconnect_backoff_ms: 2,
            reconnect_backoff_max_ms: 10,
            ..ClientConfig::default()
        }
    }

    /// A client of this cluster.
    pub(crate) fn client(&self) -> Client {
        client(self.config())
    }
}

/// A client with these settings and a fixed seed.
pub(crate) fn client(config: ClientConfig) -> Client {
    let environment = Environment { seed: 42, ..Environment::real() };
    Client::in_environment(config, environment).unwrap()
}
