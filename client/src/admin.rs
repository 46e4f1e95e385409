//! Administration: topics, configs, records, groups, offsets, brokers.
//!
//! Every call asks the broker that can answer, tries again what certainly did not happen until the
//! client's `api_timeout_ms` is over, and answers each item by itself.

mod answer;
mod brokers;
mod configs;
mod groups;
mod offsets;
mod records;
mod topics;

pub use brokers::ClusterDescription;
pub use configs::{ConfigChange, ConfigEntry, ConfigResource, ConfigSource};
pub use groups::{GroupDescription, GroupListing, MemberDescription};
pub use records::DeletedRecords;
pub use topics::{CreatedTopic, NewTopic};

use crate::cluster::Cluster;
use crate::error::Result;

/// An answer for each item asked, in the order asked.
pub type Answers<K, T> = Vec<(K, Result<T>)>;

/// Administers a cluster. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Admin {
    cluster: Cluster,
}

impl Admin {
    pub(crate) fn new(cluster: Cluster) -> Self {
        Self { cluster }
    }

    fn timeout_ms(&self) -> i32 {
        i32::try_from(self.cluster.config().request_timeout_ms).unwrap_or(i32::MAX)
    }
}
