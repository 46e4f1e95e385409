//! What operators see of a group, and what they may do with it.

use tidemill_kafka::messages::describe_groups::{DescribedGroup, DescribedGroupMember};
use tidemill_kafka::{ErrorCode, KString, consumer_protocol};
use tidemill_metadata_state::command::Generation;

use super::group::Group;
use super::limits::GroupLimits;
use super::phase::Phase;
use super::static_member::topics;

/// What DescribeGroups says of a group that no coordinator holds at the moment. The id is the
/// caller's to fill in.
#[must_use]
pub fn recorded_description(recorded: Option<&Generation>) -> DescribedGroup {
    Group::restore(GroupLimits::default(), recorded, 0).describe()
}

impl Group {
    /// Kafka's name of the state.
    #[must_use]
    pub fn state_name(&self) -> &'static str {
        self.phase.name()
    }

    /// The kind of group; empty if it never had members.
    #[must_use]
    pub fn protocol_type(&self) -> KString {
        self.protocol_type.clone().unwrap_or_default()
    }

    /// What DescribeGroups says of the group. The id is the caller's to fill in. What members said
    /// and got is shown while the group is stable: at other times it is about to change.
    #[must_use]
    pub fn describe(&self) -> DescribedGroup {
        let is_stable = self.phase == Phase::Stable;
        let protocol = self.protocol.clone().filter(|_| is_stable).unwrap_or_default();
        let members = self.members.iter().map(|(_, member)| {
            let mut described = DescribedGroupMember {
                member_id: member.id.clone(),
                group_instance_id: member.instance_id.clone(),
                client_id: member.client_id.clone(),
                client_host: member.client_host.clone(),
                ..DescribedGroupMember::default()
            };
            if is_stable {
                described.member_metadata = member.protocols.metadata(&protocol);
                described.member_assignment = member.assignment.clone();
            }
            described
        });
        DescribedGroup {
            group_state: KString::from_static(self.state_name()),
            protocol_type: self.protocol_type(),
            members: members.collect(),
            protocol_data: protocol,
            ..DescribedGroup::default()
        }
    }

    /// Takes a request to delete the group. When it returns `Ok` the group is dead here, and the
    /// metadata is to be told.
    ///
    /// # Errors
    /// The code with which the request is refused.
    pub fn handle_delete(&mut self) -> Result<(), ErrorCode> {
        match self.phase {
            Phase::Empty => {
                self.close(ErrorCode::COORDINATOR_NOT_AVAILABLE);
                Ok(())
            }
            Phase::Dead => Err(ErrorCode::GROUP_ID_NOT_FOUND),
            _ => Err(ErrorCode::NON_EMPTY_GROUP),
        }
    }

    /// Whether the offsets of a topic may not be deleted, because a member subscribes to it, or may.
    ///
    /// # Errors
    /// The code with which deleting any offsets is refused.
    pub fn subscribes_to(&self, topic: &str) -> Result<bool, ErrorCode> {
        match self.phase {
            Phase::Dead => return Err(ErrorCode::GROUP_ID_NOT_FOUND),
            Phase::Empty => return Ok(false),
            _ => {}
        }
        if self.protocol_type() != consumer_protocol::PROTOCOL_TYPE {
            return Err(ErrorCode::NON_EMPTY_GROUP);
        }
        let Some(protocol) = &self.protocol else { return Ok(true) };
        let mut metadata =
            self.members.iter().map(|(_, member)| member.protocols.metadata(protocol));
        Ok(metadata.any(|metadata| topics(metadata).is_none_or(|topics| topics.contains(topic))))
    }
}
