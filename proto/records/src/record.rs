//! A record and its headers, borrowed.

use tidemill_base::{Offset, TimestampMs};

use crate::source::SliceSource;
use crate::walk::{RawRecord, next_header};

/// A record, borrowed from its batch's decompressed bytes. Its headers have been checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordView<'a> {
    /// The offset, counted from the base offset in the batch's bytes.
    pub offset: Offset,
    /// The timestamp: the record's own, or the batch's under LogAppendTime.
    pub timestamp: TimestampMs,
    /// The offset less the batch's base offset.
    pub offset_delta: u32,
    /// The record's own timestamp less the batch's base timestamp.
    pub timestamp_delta: i64,
    /// The key; `None` is null, which is not the same as empty.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is null: a tombstone where topics are compacted.
    pub value: Option<&'a [u8]>,
    /// The headers, in order.
    pub headers: RecordHeaders<'a>,
}

/// A header of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderView<'a> {
    /// The key: UTF-8 by Kafka's protocol, which no broker checks.
    pub key: &'a [u8],
    /// The value; `None` is null.
    pub value: Option<&'a [u8]>,
}

/// The headers of a record: an iterator that can be cloned to start again.
#[derive(Clone, Copy, Debug)]
pub struct RecordHeaders<'a> {
    /// Begins with the headers; may go on with other records.
    data: &'a [u8],
    left: u32,
}

impl<'a> RecordHeaders<'a> {
    pub(crate) fn of(record: &RawRecord<&'a [u8]>) -> Self {
        Self { data: record.headers, left: record.header_count }
    }

    /// How many headers are left.
    #[must_use]
    pub fn count_left(&self) -> usize {
        self.left as usize
    }
}

impl<'a> Iterator for RecordHeaders<'a> {
    type Item = HeaderView<'a>;

    fn next(&mut self) -> Option<HeaderView<'a>> {
        self.left = self.left.checked_sub(1)?;
        let mut source = SliceSource::new(self.data);
        // The headers were read once when the record was, so this cannot fail.
        let header = next_header(&mut source).ok()?;
        self.data = source.remaining();
        Some(HeaderView { key: header.key, value: header.value })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl PartialEq for RecordHeaders<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.left == other.left && Iterator::eq(*self, *other)
    }
}

impl Eq for RecordHeaders<'_> {}
