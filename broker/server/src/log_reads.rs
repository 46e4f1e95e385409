//! Reading whole batches of one partition, from memory or from the store.
//!
//! The entries come from one version of the projection; their bytes are shared slices of what is in
//! memory, ranges of files that the socket takes from the page cache (`lending.rs`), or one buffer
//! read from the store. Where they are not lent, nothing is copied but the 16 head bytes of each
//! batch, which are written here: base offset and leader epoch are known only since the commit.
//!
//! What an answer holds in memory is a share of a budget until it is sent (P7). When that is used up,
//! by readers who do not take what they asked for, batches are lent though they are in memory, and
//! only what cannot be lent waits.

use std::sync::Arc;

use bytes::Bytes;
use tidemill_base::{ErrorKind, LeaderEpoch, Offset, PartitionId};
use tidemill_kafka::{ErrorCode, RecordParts};
use tidemill_metadata_state::{Entry, Extent};
use tidemill_records::{BATCH_HEAD_BYTES, Batch, head16};

use crate::budget::{Budget, Held};
use crate::lending::{Lending, Wanted};
use crate::log_bytes::{LogBytes, ReadError};
use crate::request_metrics::FailedReads;
use crate::view::View;

/// Entries looked at for one partition of one fetch.
const ENTRIES_MAX: usize = 2_048;

/// Why nothing was read.
enum NotRead {
    Refused(ErrorCode),
    Bytes(ReadError),
}

/// Reads batches.
#[derive(Clone)]
pub struct LogReads {
    view: Arc<View>,
    bytes: LogBytes,
    answers: Budget,
    failed: Arc<FailedReads>,
}

/// What to read of a partition.
#[derive(Clone, Copy, Debug)]
pub struct ReadSpec {
    /// The partition.
    pub partition: PartitionId,
    /// The first offset wanted.
    pub offset: Offset,
    /// The most bytes, but for a first batch under `at_least_one`.
    pub bytes_max: usize,
    /// Whether the first batch comes whatever its size.
    pub at_least_one: bool,
}

/// Where a partition stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// The first offset that may be read.
    pub log_start: Offset,
    /// The end of the log.
    pub high_watermark: Offset,
    /// Up to where read_committed may read.
    pub last_stable_offset: Offset,
    /// The leader epoch.
    pub leader_epoch: LeaderEpoch,
}

/// Batches read, and where the partition stood in the same version.
#[derive(Debug)]
pub struct ReadBatches {
    /// Whole batches, heads filled in.
    pub records: RecordParts,
    /// How many records they hold. About, where a part of an extent is lent: by its share of the
    /// bytes, so that fetches of all parts add up to the whole.
    pub records_count: u64,
    /// Where the partition stood.
    pub bounds: Bounds,
}

impl LogReads {
    /// Reads what `view` knows, through `bytes`. What answers hold in memory until they are sent is
    /// part of `answers`.
    #[must_use]
    pub fn new(view: Arc<View>, bytes: LogBytes, answers: Budget) -> Self {
        Self { view, bytes, answers, failed: Arc::default() }
    }

    /// The memory of answers.
    #[must_use]
    pub fn answers(&self) -> &Budget {
        &self.answers
    }

    /// Reads that failed.
    #[must_use]
    pub fn failed(&self) -> &Arc<FailedReads> {
        &self.failed
    }

    /// Where bytes come from.
    #[must_use]
    pub fn bytes(&self) -> &LogBytes {
        &self.bytes
    }

    /// Where a partition stands, or `None` if it does not exist.
    #[must_use]
    pub fn bounds(&self, partition: PartitionId) -> Option<Bounds> {
        let projection = self.view.projection();
        projection.partition(partition).map(|view| Bounds {
            log_start: view.log_start(),
            high_watermark: view.high_watermark(),
            last_stable_offset: view.last_stable_offset(),
            leader_epoch: view.leader_epoch(),
        })
    }

    /// Reads whole batches from the first whose last offset reaches the one asked.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION, OFFSET_OUT_OF_RANGE, or KAFKA_STORAGE_ERROR if bytes cannot be
    /// read and nothing was read before them.
    pub async fn read(&self, spec: ReadSpec) -> Result<ReadBatches, ErrorCode> {
        let read = match self.read_version(spec).await {
            // The file may have been deleted because the entry was replaced: look again, once.
            Err(NotRead::Bytes(error)) if error.kind() == ErrorKind::NotFound => {
                self.read_version(spec).await
            }
            other => other,
        };
        read.map_err(|not_read| match not_read {
            NotRead::Refused(code) => code,
            NotRead::Bytes(error) => {
                self.failed.failed(self.name(spec.partition), spec.offset.0, error);
                ErrorCode::KAFKA_STORAGE_ERROR
            }
        })
    }

    /// A partition as people name it.
    fn name(&self, partition: PartitionId) -> String {
        let projection = self.view.projection();
        let Some(view) = projection.partition(partition) else { return partition.to_string() };
        match projection.topic_by_id(view.topic()) {
            Some(topic) => format!("{}-{}", topic.name, view.index()),
            None => format!("{}-{}", view.topic(), view.index()),
        }
    }

    /// Reads entries of one version of the projection.
    async fn read_version(&self, spec: ReadSpec) -> Result<ReadBatches, NotRead> {
        let (bounds, entries) = self.look_up(&spec).map_err(NotRead::Refused)?;
        let mut reading = Reading::new(spec);
        for entry in entries {
            let read = match entry {
                Entry::Extent(extent) => self.read_extent(&extent, &mut reading).await,
                Entry::Folded(folded) => self.read_folded(&folded, &mut reading).await,
            };
            match read {
                Ok(()) if reading.full => break,
                Ok(()) => {}
                Err(_) if !reading.records.is_empty() => break,
                Err(error) => return Err(NotRead::Bytes(error)),
            }
        }
        if let Some(held) = reading.held {
            reading.records.keep(Arc::new(held));
        }
        let Reading { records, records_count, .. } = reading;
        Ok(ReadBatches { records, records_count, bounds })
    }

    fn look_up(&self, spec: &ReadSpec) -> Result<(Bounds, Vec<Entry>), ErrorCode> {
        let projection = self.view.projection();
        let view =
            projection.partition(spec.partition).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        let bounds = Bounds {
            log_start: view.log_start(),
            high_watermark: view.high_watermark(),
            last_stable_offset: view.last_stable_offset(),
            leader_epoch: view.leader_epoch(),
        };
        if spec.offset < bounds.log_start || spec.offset > bounds.high_watermark {
            return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
        }
        if spec.offset == bounds.high_watermark || (spec.bytes_max == 0 && !spec.at_least_one) {
            return Ok((bounds, Vec::new()));
        }
        Ok((bounds, view.entries_from(spec.offset, spec.bytes_max as u64, ENTRIES_MAX)))
    }

    async fn read_extent(&self, extent: &Extent, reading: &mut Reading) -> Result<(), ReadError> {
        if !reading.wants_more() {
            reading.full = true;
            return Ok(());
        }
        if let Some(pieces) = self.bytes.in_memory(extent)
            && reading.try_hold(&self.answers, extent.length)
        {
            return reading.take_pieces(extent, pieces);
        }
        if reading.take_lent(extent, self.bytes.lend(extent, reading.wanted())) {
            return Ok(());
        }
        let wanted = reading.wanted();
        // An extent is not read for a part of it, if something is answered already; the rest of the
        // answer stays empty instead.
        if !wanted.at_least_one && extent.length as usize > wanted.bytes_max {
            reading.full = true;
            return Ok(());
        }
        if !reading.try_hold(&self.answers, extent.length) {
            // Who holds a share never waits for another: two such would wait for each other.
            if !wanted.at_least_one {
                reading.full = true;
                return Ok(());
            }
            self.bytes.open(extent).await?;
            if reading.take_lent(extent, self.bytes.lend(extent, wanted)) {
                return Ok(());
            }
            reading.held = Some(self.answers.hold_contending(extent.length).await);
        }
        let pieces = self.bytes.read(extent, self.view.readable_up_to(extent.file)).await?;
        reading.take_pieces(extent, pieces)
    }

    async fn read_folded(
        &self,
        folded: &tidemill_metadata_state::Folded,
        reading: &mut Reading,
    ) -> Result<(), ReadError> {
        let from = reading.spec.offset;
        let wanted = reading.missing_bytes() as u64;
        let extents =
            self.bytes.unfold(reading.spec.partition, folded, from, wanted, ENTRIES_MAX).await?;
        for extent in extents {
            self.read_extent(&extent, reading).await?;
            if reading.full {
                break;
            }
        }
        Ok(())
    }
}

/// A read under way.
struct Reading {
    spec: ReadSpec,
    records: RecordParts,
    records_count: u64,
    /// What the records in memory take of the memory of answers.
    held: Option<Held>,
    full: bool,
}

impl Reading {
    fn new(spec: ReadSpec) -> Self {
        Self { spec, records: RecordParts::new(), records_count: 0, held: None, full: false }
    }

    /// Takes a share of the memory of answers, if there is one to be had now.
    fn try_hold(&mut self, answers: &Budget, bytes: u32) -> bool {
        let Some(share) = answers.try_hold(bytes) else { return false };
        match &mut self.held {
            Some(held) => held.join(share),
            none => *none = Some(share),
        }
        true
    }

    fn missing_bytes(&self) -> usize {
        self.spec.bytes_max.saturating_sub(self.records.len()).max(1)
    }

    fn wants_more(&self) -> bool {
        self.records.len() < self.spec.bytes_max
            || (self.records.is_empty() && self.spec.at_least_one)
    }

    /// What is still wanted.
    fn wanted(&self) -> Wanted {
        Wanted {
            from: self.spec.offset,
            bytes_max: self.spec.bytes_max.saturating_sub(self.records.len()),
            at_least_one: self.records.is_empty() && self.spec.at_least_one,
        }
    }

    /// Takes what was lent. `false`: the extent has to be read.
    fn take_lent(&mut self, extent: &Extent, lending: Lending) -> bool {
        match lending {
            Lending::Lent(lent) => {
                self.records_count += lent_records(extent, lent.range.len() as u64);
                self.records.push_lent(lent.range);
                self.full = !lent.to_the_end || self.records.len() >= self.spec.bytes_max;
                true
            }
            Lending::TooLong => {
                self.full = true;
                true
            }
            Lending::Read => false,
        }
    }

    /// Takes the batches of an extent, in pieces that each hold whole batches.
    fn take_pieces(&mut self, extent: &Extent, pieces: Vec<Bytes>) -> Result<(), ReadError> {
        let mut base_offset = extent.base_offset;
        for mut piece in pieces {
            while !piece.is_empty() {
                let batch = Batch::split_off(&mut piece).map_err(ReadError::Batch)?;
                let next_offset = base_offset.plus(batch.header().offsets_taken());
                if next_offset > self.spec.offset {
                    self.take(&batch, base_offset, extent.leader_epoch);
                    if self.full {
                        return Ok(());
                    }
                }
                base_offset = next_offset;
            }
        }
        Ok(())
    }

    fn take(&mut self, batch: &Batch, base_offset: Offset, epoch: LeaderEpoch) {
        let fits = self.records.len() + batch.bytes().len() <= self.spec.bytes_max;
        let comes_anyway = self.records.is_empty() && self.spec.at_least_one;
        if !fits && !comes_anyway {
            self.full = true;
            return;
        }
        self.records_count += u64::from(batch.header().counted());
        let head = head16(base_offset, epoch, batch.header().batch_length);
        self.records.push_batch(head, batch.bytes().slice(BATCH_HEAD_BYTES..));
        self.full = self.records.len() >= self.spec.bytes_max;
    }
}

/// How many records `bytes` of an extent hold, about.
fn lent_records(extent: &Extent, bytes: u64) -> u64 {
    u64::from(extent.record_count) * bytes / u64::from(extent.length).max(1)
}
