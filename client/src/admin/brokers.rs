//! The cluster itself.

use tidemill_base::BrokerId;
use tidemill_kafka::messages::describe_cluster::DescribeClusterRequest;

use crate::admin::Admin;
use crate::cluster::Target;
use crate::cluster::metadata::{BrokerNode, node};
use crate::error::Result;

/// The brokers of a cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClusterDescription {
    /// The cluster's id.
    pub cluster_id: String,
    /// The broker that takes administrative requests, if it is known.
    pub controller: Option<BrokerId>,
    /// The brokers, by id.
    pub brokers: Vec<BrokerNode>,
}

impl Admin {
    /// The cluster's id, controller and brokers.
    ///
    /// # Errors
    /// `Retry` if no broker can be reached, `Denied`.
    pub async fn describe_cluster(&self) -> Result<ClusterDescription> {
        let request = DescribeClusterRequest::default();
        let ask = self.cluster.ask(Target::Any, &request, true, |response| response.error_code);
        let response = ask.await.map_err(|error| error.during("describe cluster"))?;
        let mut brokers: Vec<BrokerNode> = response
            .brokers
            .iter()
            .filter_map(|one| node(one.broker_id, &one.host, one.port, one.rack.as_ref()))
            .collect();
        brokers.sort_by_key(|broker| broker.id);
        let controller = response.controller_id;
        Ok(ClusterDescription {
            cluster_id: response.cluster_id.as_str().to_owned(),
            controller: (controller >= 0).then_some(BrokerId(controller)),
            brokers,
        })
    }
}
