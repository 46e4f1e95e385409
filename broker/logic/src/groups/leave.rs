//! LeaveGroup: members leave, or an operator removes them by their instance ids.

use tidemill_kafka::{ErrorCode, KString};

use super::group::Group;
use super::members::Seat;
use super::phase::Phase;

/// Who is to leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leaving {
    /// The member; empty if only the instance is known.
    pub member_id: KString,
    /// The id of a static member.
    pub instance_id: Option<KString>,
}

impl Group {
    /// Takes a LeaveGroup request. Returns one code for each of those who are to leave, in order.
    ///
    /// # Errors
    /// The code of the whole request.
    pub fn handle_leave(
        &mut self,
        now_ms: u64,
        leaving: &[Leaving],
    ) -> Result<Vec<ErrorCode>, ErrorCode> {
        if self.phase == Phase::Dead {
            return Err(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        }
        let codes = leaving.iter().map(|leaving| self.leave(now_ms, leaving)).collect();
        self.advance_rebalance(now_ms);
        Ok(codes)
    }

    fn leave(&mut self, now_ms: u64, leaving: &Leaving) -> ErrorCode {
        if self.pending.remove(&leaving.member_id).is_some() {
            return ErrorCode::NONE;
        }
        match self.seat_of(leaving) {
            Ok(seat) => {
                self.remove_member(now_ms, seat);
                ErrorCode::NONE
            }
            Err(code) => code,
        }
    }

    fn seat_of(&self, leaving: &Leaving) -> Result<Seat, ErrorCode> {
        if !leaving.member_id.is_empty() {
            return self.validate(&leaving.member_id, leaving.instance_id.as_ref());
        }
        let instance_id = leaving.instance_id.as_ref();
        let seat = instance_id.and_then(|instance_id| self.members.seat_of_instance(instance_id));
        seat.ok_or(ErrorCode::UNKNOWN_MEMBER_ID)
    }
}
