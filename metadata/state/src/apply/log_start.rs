//! `AdvanceLogStart`: records below an offset are gone.

use super::Change;
use crate::command::{AdvanceLogStart, LogStartAdvance};
use crate::event::Event;
use crate::outcome::{LogStartOutcome, Outcome};
use crate::state::MetadataState;

impl MetadataState {
    pub(super) fn advance_log_starts(
        &mut self,
        command: &AdvanceLogStart,
        change: &mut Change,
    ) -> Outcome {
        let advances = command.advances.iter();
        Outcome::LogStarts(
            advances.map(|advance| self.advance_log_start(advance, change)).collect(),
        )
    }

    fn advance_log_start(
        &mut self,
        advance: &LogStartAdvance,
        change: &mut Change,
    ) -> LogStartOutcome {
        let id = advance.partition;
        let Some(partition) = self.partitions.get_mut(&id) else {
            return LogStartOutcome::PartitionGone;
        };
        let log = &mut partition.log;
        let to = advance.to.unwrap_or(log.high_watermark);
        if to > log.high_watermark || to.0 < 0 {
            return LogStartOutcome::OutOfRange;
        }
        if to > log.log_start {
            let event = Event::LogStartAdvanced { partition: id, log_start: to };
            change.events.push(event);
            let dropped = log.advance(to, |item| {
                self.files.release(item, change.freed, &mut change.events);
            });
            self.changed.chunks(id, dropped);
            self.changed.partition(id, partition);
        }
        LogStartOutcome::StartsAt(partition.log.log_start)
    }
}
