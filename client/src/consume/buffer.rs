//! What was fetched of a partition and not yet polled (pure).
//!
//! - Batches are unpacked one by one, when their records are wanted, so that a compressed answer
//!   does not fill the memory.
//! - A batch that cannot be read is told once what came before it has been taken.
//! - Under read_committed, records of aborted transactions are left out, by the list that came with
//!   the answer. Control batches are never records.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;
use tidemill_base::{ErrorKind, Offset};
use tidemill_records::{Batch, Decompressor, RecordsError};

use crate::consume::record::ConsumerRecord;
use crate::consume::unpack::{end_of, is_abort, records};
use crate::error::{Error, Result};
use crate::topic_partition::TopicPartition;

/// An answer's bytes for one partition.
#[derive(Clone, Debug)]
pub(crate) struct Fetched {
    pub(crate) bytes: Bytes,
    /// Producer and first offset of aborted transactions, in the order of the offsets; empty under
    /// read_uncommitted.
    pub(crate) aborted: VecDeque<(i64, Offset)>,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    answers: VecDeque<Fetched>,
    unpacked: VecDeque<ConsumerRecord>,
    /// The offset behind the batch that is unpacked.
    unpacked_end: Offset,
    /// Producers whose transaction is one that was aborted.
    aborting: BTreeSet<i64>,
    /// What is wrong with the next batch.
    failure: Option<Error>,
}

impl Buffer {
    /// Adds an answer; it must begin where the last ended.
    pub(crate) fn push(&mut self, fetched: Fetched) {
        self.answers.push_back(fetched);
    }

    /// Bytes that have not been unpacked.
    pub(crate) fn packed_bytes(&self) -> usize {
        self.answers.iter().map(|answer| answer.bytes.len()).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.unpacked.is_empty() && self.failure.is_none()
    }

    /// Takes up to `count` records, and moves `position` behind what was taken or left out.
    ///
    /// # Errors
    /// `Corrupt` or `Invalid`, naming the partition and the offset; the buffer is empty then, and
    /// the records are fetched again.
    pub(crate) fn take(
        &mut self,
        partition: &TopicPartition,
        count: usize,
        position: &mut Offset,
        verify_checksums: bool,
        decompressor: &mut Decompressor,
    ) -> Result<Vec<ConsumerRecord>> {
        let mut taken = Vec::new();
        while taken.len() < count {
            if let Some(record) = self.unpacked.pop_front() {
                // Compaction may have taken the batch's last records.
                let is_last = self.unpacked.is_empty();
                *position = if is_last { self.unpacked_end } else { record.offset.plus(1) };
                taken.push(record);
                continue;
            }
            if let Some(failure) = self.failure.take() {
                if taken.is_empty() {
                    return Err(failure);
                }
                self.failure = Some(failure);
                break;
            }
            let unpacked = self.unpack(partition, *position, verify_checksums, decompressor);
            let end = match unpacked {
                Ok(Some(end)) => end,
                Ok(None) => break,
                Err(error) => {
                    let message = format!("{partition} at offset {position}: {error}");
                    let failure = Some(Error::caused(fault(&error), message, error));
                    *self = Self { failure, ..Self::default() };
                    continue;
                }
            };
            self.unpacked_end = end;
            if self.unpacked.is_empty() {
                *position = (*position).max(end);
            }
        }
        if self.unpacked.is_empty() {
            self.answers.retain(|answer| !answer.bytes.is_empty());
        }
        Ok(taken)
    }

    /// Unpacks the next batch; the offset behind it, `None` if there is none.
    fn unpack(
        &mut self,
        partition: &TopicPartition,
        from: Offset,
        verify_checksums: bool,
        decompressor: &mut Decompressor,
    ) -> Result<Option<Offset>, RecordsError> {
        let Some(answer) = self.answers.front_mut() else { return Ok(None) };
        let batch = match Batch::split_off(&mut answer.bytes) {
            Ok(batch) => batch,
            Err(RecordsError::Truncated { .. }) => {
                // A broker may cut the last batch short; the rest of it is fetched next.
                self.answers.pop_front();
                return self.unpack(partition, from, verify_checksums, decompressor);
            }
            Err(error) => return Err(error),
        };
        if verify_checksums {
            batch.view().verify_crc()?;
        }
        let end = end_of(&batch);
        let header = *batch.header();
        while let Some((producer, _)) =
            answer.aborted.pop_front_if(|(_, first_offset)| *first_offset < end)
        {
            self.aborting.insert(producer);
        }
        if header.attributes.is_control() {
            if is_abort(&batch, decompressor) {
                self.aborting.remove(&header.producer_id);
            }
            return Ok(Some(end));
        }
        let is_aborted =
            header.attributes.is_transactional() && self.aborting.contains(&header.producer_id);
        if !is_aborted {
            self.unpacked.extend(records(partition, &batch, from, decompressor)?);
        }
        Ok(Some(end))
    }
}

/// What cannot be read as it was written is damage to a reader, whatever it is to a writer.
fn fault(error: &RecordsError) -> ErrorKind {
    match error {
        RecordsError::UnsupportedMagic { .. } | RecordsError::OutputTooLarge { .. } => {
            ErrorKind::Invalid
        }
        _ => ErrorKind::Corrupt,
    }
}

#[cfg(test)]
mod buffer_test;
