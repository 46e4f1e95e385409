//! A Fetch answer taken from a socket without its records: what is read is the fields, and of each
//! partition's records the heads of the first and of the last whole batch; all between is skipped.
//!
//! Every batch of a run has the same size and the same number of records, so two heads tell of all
//! batches between them. That is checked: the last batch must begin where the first one's size says,
//! be as large, and have the offset that the first one's records say.
//!
//! This does no I/O. It says what it wants next ([`Next`]), and is given that.

use crate::wire::cursor::Cursor;
use crate::wire::{FRAME_LENGTH_BYTES, WireError};

/// Bytes of a batch before the fields that its length field counts.
const BATCH_OVERHEAD_BYTES: usize = 12;

/// Bytes from which a batch's offset, size and last offset delta are known.
const HEAD_BYTES: usize = 27;

/// Where a batch's last offset delta lies.
const LAST_OFFSET_DELTA_AT: usize = 23;

/// Bytes read at a time while fields are looked for: those of one partition and one head.
const FIELDS_BYTES: usize = 128;

/// The largest answer that is taken; a larger one ends the run.
const FRAME_BYTES_MAX: usize = 64 << 20;

/// What the reader wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// At most this many bytes, to look at ([`AnswerReader::take`]).
    Read(usize),
    /// At most this many bytes passed over ([`AnswerReader::skipped`]).
    Skip(usize),
    /// Nothing: the answer is whole ([`AnswerReader::finish`]).
    Whole(FetchAnswer),
}

/// What an answer says besides its batches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FetchAnswer {
    /// The request it answers.
    pub correlation_id: i32,
    /// Kafka's error code for the request as a whole.
    pub error_code: i16,
    /// The session to go on with.
    pub session_id: i32,
}

/// What an answer says of one partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FetchedPartition {
    /// The partition.
    pub partition: i32,
    /// Kafka's error code for it.
    pub error_code: i16,
    /// The whole batches that arrived.
    pub batches: Batches,
}

/// Whole batches in a row, all of a size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Batches {
    /// How many.
    pub count: usize,
    /// The offset of the first one's first record.
    pub base_offset: i64,
    /// The records of each.
    pub records: i64,
    /// The bytes of each.
    pub bytes: usize,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Length,
    Head,
    Topic,
    Partition,
    FirstHead { records_bytes: usize },
    LastHead { rest_bytes: usize },
    PartitionEnd,
    TopicEnd,
    End,
    Whole,
}

/// Reads one answer after another.
#[derive(Debug)]
pub struct AnswerReader {
    stage: Stage,
    /// Bytes that were taken and are not parsed.
    taken: Vec<u8>,
    /// Bytes to pass over before the stage.
    skip: usize,
    /// Bytes of the answer that are still to arrive.
    left: usize,
    topics_left: usize,
    partitions_left: usize,
    answer: FetchAnswer,
    parts: Vec<FetchedPartition>,
}

impl Default for AnswerReader {
    fn default() -> Self {
        Self {
            stage: Stage::Length,
            taken: Vec::with_capacity(4 * FIELDS_BYTES),
            skip: 0,
            left: FRAME_LENGTH_BYTES,
            topics_left: 0,
            partitions_left: 0,
            answer: FetchAnswer::default(),
            parts: Vec::new(),
        }
    }
}

impl AnswerReader {
    /// Parses what is there and says what is wanted.
    pub fn wanted(&mut self) -> Result<Next, WireError> {
        loop {
            let passed = self.skip.min(self.taken.len());
            self.taken.drain(..passed);
            self.skip -= passed;
            if self.skip > 0 {
                return if self.skip <= self.left {
                    Ok(Next::Skip(self.skip))
                } else {
                    Err(WireError::Short)
                };
            }
            if let Stage::Whole = self.stage {
                return Ok(Next::Whole(self.answer));
            }
            let taken = std::mem::take(&mut self.taken);
            let mut cursor = Cursor::new(&taken);
            let parsed = self.parse(&mut cursor);
            let used = taken.len() - cursor.len();
            self.taken = taken;
            match parsed {
                Ok(next) => {
                    self.stage = next;
                    self.taken.drain(..used);
                }
                Err(WireError::Short) if self.left > 0 => {
                    return Ok(Next::Read(self.left.min(FIELDS_BYTES)));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Bytes that arrived.
    pub fn take(&mut self, bytes: &[u8]) {
        self.left = self.left.saturating_sub(bytes.len());
        self.taken.extend_from_slice(bytes);
    }

    /// As many bytes arrived and were thrown away.
    pub fn skipped(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
        self.skip = self.skip.saturating_sub(bytes);
    }

    /// The partitions of the answer that is whole; the reader is ready for another one then.
    pub fn finish(&mut self) -> Vec<FetchedPartition> {
        let parts = std::mem::take(&mut self.parts);
        *self = Self { taken: std::mem::take(&mut self.taken), ..Self::default() };
        parts
    }

    /// Gives the partitions' room back for the next answer.
    pub fn recycle(&mut self, mut parts: Vec<FetchedPartition>) {
        parts.clear();
        self.parts = parts;
    }

    /// Reads a stage's fields, if they are all there, and says what follows.
    fn parse(&mut self, cursor: &mut Cursor<'_>) -> Result<Stage, WireError> {
        match self.stage {
            Stage::Length => {
                self.left = usize::try_from(cursor.i32()?)
                    .ok()
                    .filter(|bytes| *bytes <= FRAME_BYTES_MAX)
                    .ok_or(WireError::Unexpected("length"))?;
                Ok(Stage::Head)
            }
            Stage::Head => {
                let correlation_id = cursor.i32()?;
                cursor.tagged_fields()?;
                cursor.i32()?; // throttle time
                let (error_code, session_id) = (cursor.i16()?, cursor.i32()?);
                self.topics_left = cursor.compact_count()?;
                self.answer = FetchAnswer { correlation_id, error_code, session_id };
                Ok(self.next_topic())
            }
            Stage::Topic => {
                cursor.compact_bytes()?;
                self.partitions_left = cursor.compact_count()?;
                Ok(self.next_partition())
            }
            Stage::Partition => {
                let (part, records_bytes) = read_partition(cursor)?;
                self.parts.push(part);
                Ok(self.first_head(records_bytes))
            }
            Stage::FirstHead { records_bytes } => {
                let first = read_head(cursor)?;
                self.on_first_head(first, records_bytes)
            }
            Stage::LastHead { rest_bytes } => {
                let last = read_head(cursor)?;
                self.on_last_head(last, rest_bytes)
            }
            Stage::PartitionEnd => {
                cursor.tagged_fields()?;
                self.partitions_left -= 1;
                Ok(self.next_partition())
            }
            Stage::TopicEnd => {
                cursor.tagged_fields()?;
                self.topics_left -= 1;
                Ok(self.next_topic())
            }
            Stage::End => {
                cursor.tagged_fields()?;
                if self.left > 0 || !cursor.is_empty() {
                    return Err(WireError::Unexpected("byte after the last field"));
                }
                Ok(Stage::Whole)
            }
            Stage::Whole => Ok(Stage::Whole),
        }
    }

    fn next_topic(&self) -> Stage {
        if self.topics_left > 0 { Stage::Topic } else { Stage::End }
    }

    fn next_partition(&self) -> Stage {
        if self.partitions_left > 0 { Stage::Partition } else { Stage::TopicEnd }
    }

    fn first_head(&mut self, records_bytes: usize) -> Stage {
        if records_bytes >= HEAD_BYTES {
            return Stage::FirstHead { records_bytes };
        }
        self.skip = records_bytes;
        Stage::PartitionEnd
    }

    fn on_first_head(&mut self, first: Batches, records_bytes: usize) -> Result<Stage, WireError> {
        let count = records_bytes / first.bytes;
        if let Some(part) = self.parts.last_mut() {
            part.batches = Batches { count, ..first };
        }
        if count < 2 {
            self.skip = records_bytes - HEAD_BYTES;
            return Ok(Stage::PartitionEnd);
        }
        let last_at = (count - 1) * first.bytes;
        self.skip = last_at - HEAD_BYTES;
        Ok(Stage::LastHead { rest_bytes: records_bytes - last_at - HEAD_BYTES })
    }

    fn on_last_head(&mut self, last: Batches, rest_bytes: usize) -> Result<Stage, WireError> {
        let all = self.parts.last().map(|part| part.batches).unwrap_or_default();
        let base_offset = all.base_offset + (all.count as i64 - 1) * all.records;
        if last != (Batches { count: 1, base_offset, ..all }) {
            return Err(WireError::Unexpected("batch that differs from the first"));
        }
        self.skip = rest_bytes;
        Ok(Stage::PartitionEnd)
    }
}

/// A partition's fields up to its records, and how many bytes those take.
fn read_partition(cursor: &mut Cursor<'_>) -> Result<(FetchedPartition, usize), WireError> {
    let partition = cursor.i32()?;
    let error_code = cursor.i16()?;
    cursor.bytes(3 * 8)?; // high watermark, last stable offset, log start offset
    for _ in 0..cursor.compact_count()? {
        cursor.bytes(2 * 8)?; // an aborted transaction: producer id, first offset
        cursor.tagged_fields()?;
    }
    cursor.i32()?; // preferred read replica
    let records_bytes = cursor.compact_count()?;
    Ok((FetchedPartition { partition, error_code, batches: Batches::default() }, records_bytes))
}

/// One batch by its head.
fn read_head(cursor: &mut Cursor<'_>) -> Result<Batches, WireError> {
    let mut head = Cursor::new(cursor.bytes(HEAD_BYTES)?);
    let base_offset = head.i64()?;
    let length = usize::try_from(head.i32()?).map_err(|_| WireError::Unexpected("batch length"))?;
    head.bytes(LAST_OFFSET_DELTA_AT - BATCH_OVERHEAD_BYTES)?;
    let records = i64::from(head.i32()?) + 1;
    let bytes = length + BATCH_OVERHEAD_BYTES;
    if bytes < HEAD_BYTES || base_offset < 0 || records < 1 {
        return Err(WireError::Unexpected("batch head"));
    }
    Ok(Batches { count: 1, base_offset, records, bytes })
}

#[cfg(test)]
mod answer_test;
