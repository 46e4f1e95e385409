//! The batches of one partition (pure): one that takes records, full ones that were never sent,
//! and the flights.

use std::collections::VecDeque;

use tidemill_records::{BatchBuilder, Codec, NewRecord, RecordsError};

use crate::produce::sequencer::{BatchId, Sequencer};

/// A batch that was never sent.
#[derive(Debug)]
pub(crate) struct UnsentBatch {
    pub(crate) id: BatchId,
    pub(crate) builder: BatchBuilder,
    /// When its first record came.
    pub(crate) begun_at_ms: u64,
}

/// Where a record was put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Appended {
    pub(crate) batch: BatchId,
    /// The record's place in the batch.
    pub(crate) delta: u32,
    /// Whether the batch began with it.
    pub(crate) is_first: bool,
    /// Whether a batch became ready to be sent by it.
    pub(crate) filled: bool,
}

/// The batches of one partition.
#[derive(Debug, Default)]
pub(crate) struct PartitionQueue {
    open: Option<UnsentBatch>,
    closed: VecDeque<UnsentBatch>,
    pub(crate) sequencer: Sequencer,
    /// Failures in a row.
    pub(crate) failures: u32,
    /// Nothing is sent before.
    pub(crate) retry_at_ms: u64,
}

impl PartitionQueue {
    /// Appends a record; `next_id` names the batch if a new one is needed, and then rises.
    pub(crate) fn append(
        &mut self,
        now_ms: u64,
        record: &NewRecord<'_>,
        codec: Codec,
        batch_bytes_max: usize,
        next_id: &mut u64,
    ) -> Result<Appended, RecordsError> {
        let mut filled = false;
        if let Some(open) = &self.open
            && !open.builder.fits(record, batch_bytes_max)
        {
            self.close();
            filled = true;
        }
        let is_first = self.open.is_none();
        let open = self.open.get_or_insert_with(|| {
            let id = BatchId(*next_id);
            *next_id += 1;
            UnsentBatch { id, builder: BatchBuilder::new(codec), begun_at_ms: now_ms }
        });
        let delta = open.builder.append(record)?;
        let batch = open.id;
        if open.builder.size_bytes() >= batch_bytes_max {
            self.close();
            filled = true;
        }
        Ok(Appended { batch, delta, is_first, filled })
    }

    /// Lets the open batch take no more records.
    pub(crate) fn close(&mut self) {
        self.closed.extend(self.open.take());
    }

    /// The first batch that was never sent, if it is full or has waited for `linger_ms`.
    pub(crate) fn due(&self, now_ms: u64, linger_ms: u64) -> Option<&UnsentBatch> {
        let open = || self.open.as_ref().filter(|open| open.begun_at_ms + linger_ms <= now_ms);
        self.closed.front().or_else(open)
    }

    /// When the open batch will be due, if nothing else is.
    pub(crate) fn due_at_ms(&self, linger_ms: u64) -> Option<u64> {
        Some(self.open.as_ref()?.begun_at_ms + linger_ms)
    }

    /// Takes the batch of [`Self::due`] out.
    pub(crate) fn take_due(&mut self) -> Option<UnsentBatch> {
        self.closed.pop_front().or_else(|| self.open.take())
    }

    /// When the first of all batches began, if it was never sent.
    pub(crate) fn unsent_since_ms(&self) -> Option<u64> {
        self.closed.front().or(self.open.as_ref()).map(|batch| batch.begun_at_ms)
    }

    /// Whether there is nothing to be sent or waited for.
    pub(crate) fn is_idle(&self) -> bool {
        self.open.is_none() && self.closed.is_empty() && self.sequencer.flights().is_empty()
    }
}
