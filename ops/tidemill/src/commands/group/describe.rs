//! `tidemill group describe`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tidemill_client::admin::{GroupDescription, MemberDescription};
use tidemill_client::cluster::offsets::OffsetSpec;
use tidemill_client::{Admin, IsolationLevel, TopicPartition};

use crate::cli::GroupDescribe;
use crate::commands::group::or_dash;
use crate::commands::session::Session;
use crate::failure::Failure;
use crate::output::Table;

/// The state of a group that does not exist.
const DEAD: &str = "Dead";

/// A group with the offsets it has committed.
struct Described {
    group: GroupDescription,
    offsets: Vec<Position>,
}

/// How far a group is in a partition.
struct Position {
    partition: TopicPartition,
    committed: Option<i64>,
    latest: Option<i64>,
    member: Option<String>,
}

/// Shows groups.
pub(super) async fn describe(
    session: &mut Session,
    admin: &Admin,
    args: &GroupDescribe,
) -> Result<(), Failure> {
    let names: Vec<&str> = args.names.iter().map(String::as_str).collect();
    let answers = admin.describe_groups(&names).await.map_err(|error| session.failure(&error))?;
    let (groups, mut failed) = session.split(answers);
    let mut described = Vec::new();
    for (name, group) in groups {
        let is_dead = group.state == DEAD;
        let one = with_offsets(admin, group).await.map_err(|error| session.failure(&error))?;
        if is_dead && one.offsets.is_empty() {
            let unknown = Failure::not_found(format!("group {name} does not exist"));
            let hint = "see the groups that exist with `tidemill group list`";
            failed = failed.and(Err(unknown.hint(hint)));
        } else {
            described.push(one);
        }
    }
    if described.is_empty() {
        return failed;
    }
    let objects: Vec<Value> = described.iter().map(Described::as_json).collect();
    session.console.result(json!({ "groups": objects }), || {
        described.iter().map(Described::as_text).collect::<Vec<_>>().join("\n")
    })?;
    failed
}

async fn with_offsets(
    admin: &Admin,
    group: GroupDescription,
) -> tidemill_client::Result<Described> {
    let committed = admin.group_offsets(&group.group_id, None).await?;
    let owners: BTreeMap<&TopicPartition, &MemberDescription> = group
        .members
        .iter()
        .flat_map(|member| member.assignment.iter().map(move |partition| (partition, member)))
        .collect();
    let partitions = committed.keys().chain(owners.keys().copied());
    let wanted = partitions.map(|partition| (partition.clone(), OffsetSpec::Latest)).collect();
    let latest = admin.list_offsets(&wanted, IsolationLevel::ReadUncommitted).await;
    let offsets = latest
        .into_iter()
        .map(|(partition, listed)| Position {
            committed: committed.get(&partition).map(|one| one.offset.0),
            // The topic may have been deleted since.
            latest: listed.ok().and_then(|listed| listed.offset).map(|offset| offset.0),
            member: owners.get(&partition).map(|member| member.member_id.clone()),
            partition,
        })
        .collect();
    Ok(Described { group, offsets })
}

impl Position {
    fn lag(&self) -> Option<i64> {
        Some((self.latest? - self.committed?).max(0))
    }
}

impl Described {
    fn as_json(&self) -> Value {
        let group = &self.group;
        let members: Vec<Value> = group.members.iter().map(member_json).collect();
        let offsets: Vec<Value> = self
            .offsets
            .iter()
            .map(|position| {
                json!({
                    "topic": &*position.partition.topic,
                    "partition": position.partition.partition.0,
                    "committed_offset": position.committed,
                    "latest_offset": position.latest,
                    "lag": position.lag(),
                    "member_id": position.member,
                })
            })
            .collect();
        json!({
            "group": group.group_id,
            "state": group.state,
            "protocol_type": group.protocol_type,
            "assignor": group.assignor,
            "coordinator_id": group.coordinator.0,
            "members": members,
            "offsets": offsets,
        })
    }

    fn as_text(&self) -> String {
        let group = &self.group;
        let number = |value: Option<i64>| value.map_or_else(|| "-".to_owned(), |v| v.to_string());
        let mut members = Table::new(&["MEMBER", "CLIENT", "HOST", "PARTITIONS"]);
        for member in &group.members {
            members.row([
                member.member_id.clone(),
                member.client_id.clone(),
                member.host.clone(),
                member.assignment.len().to_string(),
            ]);
        }
        let mut offsets =
            Table::new(&["TOPIC", "PARTITION", "COMMITTED", "LATEST", "LAG", "MEMBER"]);
        for position in &self.offsets {
            offsets.row([
                position.partition.topic.to_string(),
                position.partition.partition.0.to_string(),
                number(position.committed),
                number(position.latest),
                number(position.lag()),
                position.member.clone().unwrap_or_else(|| "-".to_owned()),
            ]);
        }
        format!(
            "group     {}\nstate     {}\nassignor  {}\n\n{}\n{}",
            group.group_id,
            group.state,
            or_dash(&group.assignor),
            members.render(),
            offsets.render()
        )
    }
}

fn member_json(member: &MemberDescription) -> Value {
    let partitions: Vec<Value> = member
        .assignment
        .iter()
        .map(|one| json!({ "topic": &*one.topic, "partition": one.partition.0 }))
        .collect();
    json!({
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "host": member.host,
        "partitions": partitions,
    })
}
