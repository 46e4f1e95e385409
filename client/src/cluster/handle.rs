//! `Cluster`: metadata kept fresh, and requests brought to the right broker.
//!
//! Each producer, consumer and admin has one. Metadata is refreshed one request at a time; who
//! waits for the same refresh shares it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tidemill_base::{BrokerId, ErrorKind};
use tidemill_kafka::messages::leader_hint::{LeaderIdAndEpoch, NodeEndpoint};
use tidemill_kafka::messages::metadata::{MetadataRequest, MetadataRequestTopic, MetadataResponse};
use tidemill_kafka::{ErrorCode, Request};
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::cluster::endpoint::Endpoint;
use crate::cluster::metadata::{BrokerNode, Metadata, TopicMetadata};
use crate::cluster::retries::Retries;
use crate::cluster::routes::{Role, Routes};
use crate::config::ClientConfig;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::net::connection::Connection;
use crate::net::versions::ANY;
use crate::prng::Prng;
use crate::topic_partition::TopicPartition;

/// The first version of Metadata in which a topic is not created by asking for it.
const NO_AUTO_CREATE_FROM: i16 = 4;

/// How many coordinators are remembered; beyond, the first by name is forgotten.
const COORDINATORS_MAX: usize = 1_000;

/// Which topics to ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Topics<'a> {
    /// All that exist.
    All,
    /// These.
    Named(&'a [Arc<str>]),
}

/// The cluster as one producer, consumer or admin sees it. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Cluster(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    config: Arc<ClientConfig>,
    environment: Environment,
    bootstrap: Vec<Endpoint>,
    metadata: Mutex<Known>,
    refreshing: tokio::sync::Mutex<()>,
    /// At most [`COORDINATORS_MAX`].
    coordinators: Mutex<BTreeMap<String, BrokerNode>>,
    routes: Routes,
    prng: Arc<Mutex<Prng>>,
}

#[derive(Debug)]
struct Known {
    metadata: Arc<Metadata>,
    read_at: Option<Instant>,
}

impl Cluster {
    pub(crate) fn new(config: Arc<ClientConfig>, environment: Environment) -> Result<Self> {
        let bootstrap = Endpoint::parse_list(&config.bootstrap_servers)?;
        let prng = Arc::new(Mutex::new(Prng::new(environment.seed)));
        let routes = Routes::new(&config, prng.clone());
        Ok(Self(Arc::new(Shared {
            config,
            environment,
            bootstrap,
            metadata: Mutex::new(Known { metadata: Arc::default(), read_at: None }),
            refreshing: tokio::sync::Mutex::new(()),
            coordinators: Mutex::new(BTreeMap::new()),
            routes,
            prng,
        })))
    }

    pub(crate) fn config(&self) -> &ClientConfig {
        &self.0.config
    }

    pub(crate) fn prng(&self) -> Arc<Mutex<Prng>> {
        self.0.prng.clone()
    }

    /// What is known now.
    pub(crate) fn metadata(&self) -> Arc<Metadata> {
        self.0.metadata.lock().metadata.clone()
    }

    /// Whether the metadata was never read or is older than it may be.
    pub(crate) fn is_stale(&self) -> bool {
        let age_max = Duration::from_millis(self.config().metadata_age_max_ms);
        self.0.metadata.lock().read_at.is_none_or(|read_at| read_at.elapsed() >= age_max)
    }

    /// Attempts within `timeout_ms`.
    pub(crate) fn retries(&self, timeout_ms: u64) -> Retries {
        let config = self.config();
        let backoff =
            Backoff { initial_ms: config.retry_backoff_ms, max_ms: config.retry_backoff_max_ms };
        let deadline = Instant::now() + Duration::from_millis(timeout_ms);
        Retries::new(deadline, backoff, self.prng())
    }

    /// Attempts within `api_timeout_ms`.
    pub(crate) fn api_retries(&self) -> Retries {
        self.retries(self.config().api_timeout_ms)
    }

    /// Reads metadata once. Topics that do not exist are created if `create` says so and the
    /// broker does that.
    ///
    /// # Errors
    /// `Retry` if no broker can be reached.
    pub(crate) async fn refresh(&self, topics: Topics<'_>, create: bool) -> Result<Arc<Metadata>> {
        let seen = self.metadata().version;
        let _refreshing = self.0.refreshing.lock().await;
        let now = self.metadata();
        if now.version > seen && is_covered(&now, topics) {
            return Ok(now);
        }
        let connection = self.any().await?;
        let version = connection.version(MetadataRequest::API, ANY)?;
        if !create && version < NO_AUTO_CREATE_FROM {
            tracing::debug!(version, "the broker may create topics that are asked for");
        }
        let request = request(topics, create);
        let response = connection.call(&request, ANY, Duration::ZERO).await?;
        if response.error_code.is_error() {
            return Err(Error::answered("read metadata", response.error_code));
        }
        Ok(self.learn(&response))
    }

    /// Topics as they are now, whatever is known; with their errors.
    ///
    /// # Errors
    /// `Retry` if no broker can be reached.
    pub(crate) async fn topics(&self, topics: Topics<'_>) -> Result<Vec<Arc<TopicMetadata>>> {
        let connection = self.any().await?;
        let request = request(topics, false);
        let response = connection.call(&request, ANY, Duration::ZERO).await?;
        if response.error_code.is_error() {
            return Err(Error::answered("read metadata", response.error_code));
        }
        Ok(Metadata::default().after(&response).topics.into_values().collect())
    }

    /// A topic, read if it is not known, tried again while it has an error that may pass.
    ///
    /// # Errors
    /// `NotFound` if it does not exist after `timeout_ms`.
    pub(crate) async fn topic(
        &self,
        name: &Arc<str>,
        create: bool,
        timeout_ms: u64,
    ) -> Result<Arc<TopicMetadata>> {
        let mut retries = self.retries(timeout_ms).harmless();
        let mut metadata = self.metadata();
        loop {
            if let Some(topic) = metadata.topics.get(name).filter(|topic| topic.error.is_ok()) {
                return Ok(topic.clone());
            }
            let names = [name.clone()];
            let error = match self.refresh(Topics::Named(&names), create).await {
                Ok(refreshed) => {
                    metadata = refreshed;
                    match metadata.topics.get(name) {
                        Some(topic) if topic.error.is_ok() => continue,
                        Some(topic) => Error::answered(format!("topic {name}"), topic.error),
                        None => {
                            let code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
                            Error::answered(format!("topic {name}"), code)
                        }
                    }
                }
                Err(error) => error,
            };
            retries.pause(error).await?;
        }
    }

    /// Takes over what a broker told of a leader beside an error.
    pub(crate) fn learn_leader(
        &self,
        partition: &TopicPartition,
        hint: &LeaderIdAndEpoch,
        endpoints: &[NodeEndpoint],
    ) {
        let mut known = self.0.metadata.lock();
        if let Some(next) = known.metadata.after_hint(partition, hint, endpoints) {
            known.metadata = Arc::new(next);
        }
    }

    /// Forgets a topic, so that it is read again when it is next needed.
    pub(crate) fn forget(&self, topic: &str) {
        let mut known = self.0.metadata.lock();
        if known.metadata.topics.contains_key(topic) {
            known.metadata = Arc::new(known.metadata.without(topic));
        }
    }

    /// The coordinator of a group, as last remembered.
    pub(crate) fn known_coordinator(&self, group: &str) -> Option<BrokerNode> {
        self.0.coordinators.lock().get(group).cloned()
    }

    pub(crate) fn remember_coordinator(&self, group: &str, node: BrokerNode) {
        let mut coordinators = self.0.coordinators.lock();
        if coordinators.len() >= COORDINATORS_MAX {
            coordinators.pop_first();
        }
        coordinators.insert(group.to_owned(), node);
    }

    /// Forgets a coordinator that turned out not to be one.
    pub(crate) fn forget_coordinator(&self, group: &str) {
        self.0.coordinators.lock().remove(group);
    }

    /// A connection to a broker.
    ///
    /// # Errors
    /// `Retry` if the broker is not known or cannot be reached.
    pub(crate) async fn broker(&self, broker: BrokerId, role: Role) -> Result<Connection> {
        let Some(node) = self.metadata().brokers.get(&broker).cloned() else {
            let message = format!("broker {broker} is not one of the cluster's at the moment");
            return Err(Error::new(ErrorKind::Retry, message));
        };
        let peer = format!("broker {broker} ({})", node.endpoint);
        self.connect(&node.endpoint, role, peer).await
    }

    /// The live connection to a broker, if there is one.
    pub(crate) fn live(&self, broker: BrokerId, role: Role) -> Option<Connection> {
        let metadata = self.metadata();
        self.0.routes.live(&metadata.brokers.get(&broker)?.endpoint, role)
    }

    /// A connection to an address that a broker told.
    ///
    /// # Errors
    /// `Retry` if it cannot be reached.
    pub(crate) async fn connect(
        &self,
        endpoint: &Endpoint,
        role: Role,
        peer: String,
    ) -> Result<Connection> {
        let shared = &self.0;
        shared.routes.connect(&shared.environment, &shared.config, endpoint, role, peer).await
    }

    /// A connection to any broker: a live one if there is one, else the first that can be made,
    /// known brokers before those to begin with.
    ///
    /// # Errors
    /// `Retry` if none can be reached.
    pub(crate) async fn any(&self) -> Result<Connection> {
        let mut candidates: Vec<Endpoint> =
            self.metadata().brokers.values().map(|node| node.endpoint.clone()).collect();
        self.shuffle(&mut candidates);
        let mut beginnings = self.0.bootstrap.clone();
        self.shuffle(&mut beginnings);
        candidates.extend(beginnings);
        let routes = &self.0.routes;
        for endpoint in &candidates {
            if let Some(connection) = routes.live(endpoint, Role::Control) {
                return Ok(connection);
            }
        }
        candidates.sort_by_key(|endpoint| routes.is_backing_off(endpoint, Role::Control));
        let mut last = None;
        for endpoint in &candidates {
            let peer = format!("broker {endpoint}");
            match self.connect(endpoint, Role::Control, peer).await {
                Ok(connection) => return Ok(connection),
                Err(error) => last = Some(error),
            }
        }
        let last = last.unwrap_or_else(|| Error::new(ErrorKind::Bug, "no broker to begin with"));
        Err(last.during("no broker can be reached"))
    }

    fn shuffle<T>(&self, items: &mut [T]) {
        let mut prng = self.0.prng.lock();
        for end in (1..items.len()).rev() {
            items.swap(end, prng.below(end as u64 + 1) as usize);
        }
    }

    fn learn(&self, response: &MetadataResponse) -> Arc<Metadata> {
        let mut known = self.0.metadata.lock();
        let next = Arc::new(known.metadata.after(response));
        *known = Known { metadata: next.clone(), read_at: Some(Instant::now()) };
        drop(known);
        let bootstrap = &self.0.bootstrap;
        self.0.routes.retain(|endpoint| {
            bootstrap.contains(endpoint)
                || next.brokers.values().any(|node| node.endpoint == *endpoint)
        });
        next
    }
}

/// Whether a refresh that someone else made tells what was asked.
fn is_covered(metadata: &Metadata, topics: Topics<'_>) -> bool {
    match topics {
        Topics::All => false,
        Topics::Named(names) => names.iter().all(|name| metadata.topics.contains_key(name)),
    }
}

fn request(topics: Topics<'_>, create: bool) -> MetadataRequest {
    let topics = match topics {
        Topics::All => None,
        Topics::Named(names) => Some(
            names
                .iter()
                .map(|name| MetadataRequestTopic {
                    name: Some((&**name).into()),
                    ..MetadataRequestTopic::default()
                })
                .collect(),
        ),
    };
    MetadataRequest { topics, allow_auto_topic_creation: create, ..MetadataRequest::default() }
}

/// The names of the topics of some partitions, each once.
pub(crate) fn topics_of<'a>(
    partitions: impl IntoIterator<Item = &'a TopicPartition>,
) -> Vec<Arc<str>> {
    let names: BTreeSet<Arc<str>> =
        partitions.into_iter().map(|partition| partition.topic.clone()).collect();
    names.into_iter().collect()
}
