//! `tidemill cluster`.

use serde_json::{Value, json};
use tidemill_client::admin::ClusterDescription;

use crate::cli::ClusterCommand;
use crate::commands::configs::broker_config;
use crate::commands::session::Session;
use crate::failure::Failure;
use crate::output::Table;

/// Does what the arguments say.
pub(super) async fn carry_out(
    session: &mut Session,
    command: &ClusterCommand,
) -> Result<(), Failure> {
    match command {
        ClusterCommand::Status => status(session).await,
    }
}

/// What the cluster holds.
struct Holdings {
    topics: usize,
    partitions: usize,
    groups: usize,
}

async fn status(session: &mut Session) -> Result<(), Failure> {
    let admin = session.client.admin().map_err(|error| session.failure(&error))?;
    let cluster = admin.describe_cluster().await.map_err(|error| session.failure(&error))?;
    let topics = admin.list_topics().await.map_err(|error| session.failure(&error))?;
    let groups = admin.list_groups().await.map_err(|error| session.failure(&error))?;
    let holdings = Holdings {
        topics: topics.len(),
        partitions: topics.iter().map(|topic| topic.partitions.len()).sum(),
        groups: groups.len(),
    };
    let mut http = Vec::new();
    for broker in &cluster.brokers {
        let address = broker_config(&admin, broker.id, "tidemill.http.address").await;
        http.push(address.map_err(|error| session.failure(&error))?);
    }
    let object = as_json(&cluster, &holdings, &http);
    session.console.result(object, || as_text(&cluster, &holdings, &http))
}

fn as_json(cluster: &ClusterDescription, holdings: &Holdings, http: &[Option<String>]) -> Value {
    let brokers: Vec<Value> = cluster
        .brokers
        .iter()
        .zip(http)
        .map(|(broker, http)| {
            json!({
                "broker_id": broker.id.0,
                "host": broker.endpoint.host,
                "port": broker.endpoint.port,
                "rack": broker.rack,
                "http_address": http,
            })
        })
        .collect();
    json!({
        "cluster_id": cluster.cluster_id,
        "controller_id": cluster.controller.map(|id| id.0),
        "brokers": brokers,
        "topics_count": holdings.topics,
        "partitions_count": holdings.partitions,
        "groups_count": holdings.groups,
    })
}

fn as_text(cluster: &ClusterDescription, holdings: &Holdings, http: &[Option<String>]) -> String {
    let Holdings { topics, partitions, groups } = holdings;
    let mut table = Table::new(&["BROKER", "ADDRESS", "RACK", "HTTP"]);
    for (broker, http) in cluster.brokers.iter().zip(http) {
        table.row([
            broker.id.0.to_string(),
            broker.endpoint.to_string(),
            broker.rack.clone().unwrap_or_else(|| "-".to_owned()),
            http.clone().unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    format!(
        "cluster  {}\nholds    {topics} topics, {partitions} partitions, {groups} groups\n\n{}",
        cluster.cluster_id,
        table.render()
    )
}
