//! Floors, sealing and forgetting.

use tidemill_base::{FileId, LaneId, LaneSequence};

use super::Change;
use super::commit_object::limit;
use crate::command::{Condemn, ForgetFiles, SEQUENCE_END, SealFile};
use crate::outcome::Outcome;
use crate::refusal::Refusal;
use crate::state::MetadataState;

impl MetadataState {
    pub(super) fn condemn(&mut self, command: &Condemn) -> Result<Outcome, Refusal> {
        if command.floor.0 >= SEQUENCE_END {
            return Err(Refusal::Malformed("a floor lies below 2^63"));
        }
        // The lanes of a registration that has ended are at the maximum already.
        if self.brokers.is_live(command.lane.broker, command.lane.epoch) {
            let lanes = self.lanes.0.len() as u64;
            let added = u64::from(!self.lanes.0.contains_key(&command.lane));
            limit("lanes", lanes + added, self.cluster.limits.lanes_max.into())?;
            self.lanes.0.entry(command.lane).or_default().condemn(command.floor);
            self.changed.lanes.insert(command.lane);
        }
        Ok(Outcome::Done)
    }

    pub(super) fn seal_file(
        &mut self,
        command: &SealFile,
        change: &mut Change,
    ) -> Result<Outcome, Refusal> {
        let file = command.file;
        if !file.is_append_file() || file.sequence != 0 {
            return Err(Refusal::Malformed("only append files are sealed"));
        }
        if self.files.slots.find(&file).is_none() {
            let floor = self.lanes.0.get(&file.lane).map_or(0, |lane| lane.file_floor.0);
            if file.number.0 <= floor {
                return Ok(Outcome::Done);
            }
            let files = self.files.slots.len() as u64 + 1;
            limit("files", files, self.cluster.limits.files_max.into())?;
        }
        let slot = self.files.intern(file, command.length, false);
        self.files.seal(slot, command.length, change.freed, &mut change.events);
        Ok(Outcome::Done)
    }

    pub(super) fn forget_files(&mut self, command: &ForgetFiles) -> Outcome {
        let forgotten = command.files.iter().filter(|file| self.forget_file(file)).count();
        Outcome::Forgotten(forgotten)
    }

    /// Forgets a file that has been deleted, and sees to it that it can never come back.
    fn forget_file(&mut self, file: &FileId) -> bool {
        if !self.files.forget(file) {
            return false;
        }
        let live = self.brokers.is_live(file.lane.broker, file.lane.epoch)
            && file.incarnation == self.cluster.incarnation;
        if live && (file.is_append_file() || file.lane.lane == LaneId::OBJECTS) {
            let lane = self.lanes.0.entry(file.lane).or_default();
            if file.is_append_file() {
                lane.file_floor = lane.file_floor.max(file.number);
            } else {
                lane.condemn(LaneSequence(file.sequence));
            }
            self.changed.lanes.insert(file.lane);
        }
        true
    }
}
