//! Groups: list, describe, delete.

use std::collections::BTreeMap;

use bytes::Bytes;
use tidemill_base::BrokerId;
use tidemill_kafka::consumer_protocol::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, PROTOCOL_TYPE,
};
use tidemill_kafka::messages::delete_groups::DeleteGroupsRequest;
use tidemill_kafka::messages::describe_groups::{
    DescribeGroupsRequest, DescribedGroup, DescribedGroupMember,
};
use tidemill_kafka::messages::list_groups::ListGroupsRequest;

use crate::admin::answer::{outcome, silent};
use crate::admin::{Admin, Answers};
use crate::cluster::{Target, Topics};
use crate::error::Result;
use crate::group::offsets::asks_again;
use crate::topic_partition::TopicPartition;

/// A group in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupListing {
    /// Its id.
    pub group_id: String,
    /// The kind of protocol: "consumer" for consumers; empty if it only keeps offsets.
    pub protocol_type: String,
    /// Its state, if the broker tells it.
    pub state: String,
    /// Its type, "classic" or "consumer", if the broker tells it.
    pub group_type: String,
    /// The broker that coordinates it.
    pub coordinator: BrokerId,
}

/// A group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupDescription {
    /// Its id.
    pub group_id: String,
    /// Empty, PreparingRebalance, CompletingRebalance, Stable or Dead.
    pub state: String,
    /// The kind of protocol: "consumer" for consumers.
    pub protocol_type: String,
    /// The assignor, if one is chosen.
    pub assignor: String,
    /// The broker that coordinates it.
    pub coordinator: BrokerId,
    /// Its members.
    pub members: Vec<MemberDescription>,
}

/// A member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberDescription {
    /// Its id.
    pub member_id: String,
    /// The id of a static member.
    pub group_instance_id: Option<String>,
    /// What its client calls itself.
    pub client_id: String,
    /// Its client's address.
    pub host: String,
    /// The topics that it wants; empty for other protocols than the consumers'.
    pub topics: Vec<String>,
    /// The partitions that it has; empty for other protocols than the consumers'.
    pub assignment: Vec<TopicPartition>,
}

impl Admin {
    /// All groups, by id.
    ///
    /// # Errors
    /// `Retry` if a broker cannot be reached: its groups are not known then. `Denied`.
    pub async fn list_groups(&self) -> Result<Vec<GroupListing>> {
        let what = "list groups";
        let mut retries = self.cluster.api_retries().harmless();
        let metadata = loop {
            match self.cluster.refresh(Topics::Named(&[]), false).await {
                Ok(metadata) => break metadata,
                Err(error) => retries.pause(error.during(what)).await?,
            }
        };
        let mut groups = BTreeMap::new();
        for broker in metadata.brokers.keys() {
            let request = ListGroupsRequest::default();
            let ask = self
                .cluster
                .ask(Target::Broker(*broker), &request, true, |response| response.error_code);
            for group in ask.await.map_err(|error| error.during(what))?.groups {
                let listing = GroupListing {
                    group_id: String::from(&group.group_id),
                    protocol_type: String::from(&group.protocol_type),
                    state: String::from(&group.group_state),
                    group_type: String::from(&group.group_type),
                    coordinator: *broker,
                };
                groups.insert(listing.group_id.clone(), listing);
            }
        }
        Ok(groups.into_values().collect())
    }

    /// These groups and their members. A group that does not exist is described as Dead, or is
    /// `NotFound`, as the broker's version has it.
    ///
    /// # Errors
    /// `Retry` if no broker can be reached. Of a group: `Denied`, `NotFound`.
    pub async fn describe_groups(
        &self,
        group_ids: &[&str],
    ) -> Result<Answers<String, GroupDescription>> {
        let mut answers = Vec::with_capacity(group_ids.len());
        for group_id in group_ids {
            let described = self.describe_group(group_id).await?;
            answers.push(((*group_id).to_owned(), described));
        }
        Ok(answers)
    }

    async fn describe_group(&self, group_id: &str) -> Result<Result<GroupDescription>> {
        let what = format!("describe group {group_id}");
        let request = DescribeGroupsRequest {
            groups: vec![group_id.into()],
            include_authorized_operations: false,
        };
        let ask = self.cluster.ask(Target::Coordinator(group_id), &request, true, |response| {
            asks_again(response.groups.iter().map(|group| group.error_code))
        });
        let response = ask.await.map_err(|error| error.during(&what))?;
        let coordinator = self.cluster.known_coordinator(group_id).map(|node| node.id);
        let Some(group) = response.groups.first() else { return Ok(Err(silent(group_id))) };
        let checked = outcome(what, group.error_code, group.error_message.as_ref());
        Ok(checked.map(|()| GroupDescription::of(group, coordinator.unwrap_or_default())))
    }

    /// Deletes groups that have no members, with their offsets.
    ///
    /// # Errors
    /// `Ambiguous` if an answer was lost: the group may be gone. Of a group: `Conflict` if it has
    /// members, `NotFound`, `Denied`.
    pub async fn delete_groups(&self, group_ids: &[&str]) -> Result<Answers<String, ()>> {
        let mut answers = Vec::with_capacity(group_ids.len());
        for group_id in group_ids {
            let what = format!("delete group {group_id}");
            let request = DeleteGroupsRequest { groups_names: vec![(*group_id).into()] };
            let target = Target::Coordinator(group_id);
            let ask = self.cluster.ask(target, &request, false, |response| {
                asks_again(response.results.iter().map(|one| one.error_code))
            });
            let response = ask.await.map_err(|error| error.during(&what))?;
            let code = response.results.first().map(|one| one.error_code);
            let outcome = match code {
                Some(code) => outcome(what, code, None),
                None => Err(silent(group_id)),
            };
            answers.push(((*group_id).to_owned(), outcome));
        }
        Ok(answers)
    }
}

impl GroupDescription {
    fn of(group: &DescribedGroup, coordinator: BrokerId) -> Self {
        let is_consumer = group.protocol_type == PROTOCOL_TYPE;
        let member = |member: &DescribedGroupMember| MemberDescription::of(member, is_consumer);
        Self {
            group_id: String::from(&group.group_id),
            state: String::from(&group.group_state),
            protocol_type: String::from(&group.protocol_type),
            assignor: String::from(&group.protocol_data),
            coordinator,
            members: group.members.iter().map(member).collect(),
        }
    }
}

impl MemberDescription {
    fn of(member: &DescribedGroupMember, is_consumer: bool) -> Self {
        let bytes = |bytes: &Bytes| (is_consumer && !bytes.is_empty()).then(|| bytes.clone());
        // What a member wrote that is no consumer's is shown as nothing.
        let subscription = bytes(&member.member_metadata)
            .and_then(|bytes| ConsumerProtocolSubscription::from_bytes(bytes).ok());
        let assignment = bytes(&member.member_assignment)
            .and_then(|bytes| ConsumerProtocolAssignment::from_bytes(bytes).ok());
        let topics = subscription.iter().flat_map(|subscription| &subscription.topics);
        let assigned = assignment.iter().flat_map(|assignment| &assignment.assigned_partitions);
        let assigned = assigned.flat_map(|topic| {
            topic.partitions.iter().map(|index| TopicPartition::new(topic.topic.as_str(), *index))
        });
        Self {
            member_id: String::from(&member.member_id),
            group_instance_id: member.group_instance_id.as_ref().map(String::from),
            client_id: String::from(&member.client_id),
            host: String::from(&member.client_host),
            topics: topics.map(String::from).collect(),
            assignment: assigned.collect(),
        }
    }
}
