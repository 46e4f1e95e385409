//! Heartbeats and offset commits: both say that a member lives, and ask whether it still is one.

use tidemill_base::GroupGeneration;
use tidemill_base::twins::{self, Twin};
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::command::Committer;

use super::group::Group;
use super::members::Seat;
use super::phase::Phase;

impl Group {
    /// Takes a Heartbeat request and answers it.
    pub fn handle_heartbeat(
        &mut self,
        now_ms: u64,
        generation: i32,
        member_id: &str,
        instance_id: Option<&KString>,
    ) -> ErrorCode {
        let seat = match self.validate_generation(generation, member_id, instance_id) {
            Ok(seat) => seat,
            Err(code) => return code,
        };
        if let Some(member) = self.members.get_mut(seat) {
            member.restart_session(now_ms);
        }
        match self.phase {
            Phase::PreparingRebalance { .. } => ErrorCode::REBALANCE_IN_PROGRESS,
            _ => ErrorCode::NONE,
        }
    }

    /// Takes an OffsetCommit request: as whom the metadata is to be told of the offsets, `None` for a
    /// client outside any generation.
    ///
    /// # Errors
    /// The code with which the request is refused.
    pub fn handle_offset_commit(
        &mut self,
        now_ms: u64,
        generation: i32,
        member_id: &str,
        instance_id: Option<&KString>,
    ) -> Result<Option<Committer>, ErrorCode> {
        if self.phase == Phase::Dead {
            return Err(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        }
        if generation < 0 {
            let is_nobody = member_id.is_empty() && instance_id.is_none();
            match self.phase {
                // Kafka only stores offsets for this group.
                Phase::Empty => return Ok(None),
                _ if is_nobody => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
                _ => {}
            }
        } else if self.generation == 0 && self.members.is_empty() {
            return Err(ErrorCode::ILLEGAL_GENERATION);
        }
        let is_late = (0..self.generation).contains(&generation);
        let unnoticed = is_late && twins::is_on(Twin::OldGenerationCommits);
        let generation = if unnoticed { self.generation } else { generation };
        let seat = self.validate_generation(generation, member_id, instance_id)?;
        if let Some(member) = self.members.get_mut(seat) {
            member.restart_session(now_ms);
        }
        // Before its generation is recorded a member has no assignment, hence nothing to commit.
        if self.phase == Phase::CompletingRebalance || generation > self.generation_recorded {
            return Err(ErrorCode::REBALANCE_IN_PROGRESS);
        }
        let generation = GroupGeneration(generation);
        Ok(Some(Committer { generation, member_id: member_id.to_owned() }))
    }

    fn validate_generation(
        &self,
        generation: i32,
        member_id: &str,
        instance_id: Option<&KString>,
    ) -> Result<Seat, ErrorCode> {
        if self.phase == Phase::Dead {
            return Err(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        }
        let seat = self.validate(member_id, instance_id)?;
        if generation != self.generation {
            return Err(ErrorCode::ILLEGAL_GENERATION);
        }
        Ok(seat)
    }
}
