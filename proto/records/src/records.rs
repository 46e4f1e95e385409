//! The records of a batch, one by one, as slices.
//!
//! Opening decompresses the whole batch (bounded) into the decompressor's buffer; an uncompressed
//! batch is borrowed as it is. For a walk that keeps nothing, see [`crate::search`].

use tidemill_base::{Offset, TimestampMs};

use crate::attributes::TimestampType;
use crate::batch::BatchView;
use crate::codec::Codec;
use crate::decompressor::{DecompressLimits, Decompressor};
use crate::error::RecordsError;
use crate::header::BatchHeader;
use crate::record::{RecordHeaders, RecordView};
use crate::source::SliceSource;
use crate::walk::read_record;

/// The decompressed records of one batch.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    header: BatchHeader,
    data: &'a [u8],
}

impl<'a> Records<'a> {
    /// Opens the records of `batch`. The checksum is not verified.
    ///
    /// # Errors
    /// [`RecordsError::UnknownCodec`], [`RecordsError::Decompress`],
    /// [`RecordsError::OutputTooLarge`].
    pub fn open(
        batch: BatchView<'a>,
        decompressor: &'a mut Decompressor,
        limits: &DecompressLimits,
    ) -> Result<Self, RecordsError> {
        let data = match batch.header().attributes.codec()? {
            Codec::None => batch.payload(),
            codec => decompressor.decompress(codec, batch.payload(), limits)?,
        };
        Ok(Self { header: *batch.header(), data })
    }

    /// The records in order. The first error is the last item.
    #[must_use]
    pub fn iter(&self) -> RecordIter<'a> {
        RecordIter {
            source: SliceSource::new(self.data),
            header: self.header,
            next: 0,
            ended: false,
        }
    }

    /// The records' bytes, decompressed.
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        self.data
    }
}

impl<'a> IntoIterator for &Records<'a> {
    type Item = Result<RecordView<'a>, RecordsError>;
    type IntoIter = RecordIter<'a>;

    fn into_iter(self) -> RecordIter<'a> {
        self.iter()
    }
}

/// The iterator of [`Records`].
#[derive(Clone, Debug)]
pub struct RecordIter<'a> {
    source: SliceSource<'a>,
    header: BatchHeader,
    next: u32,
    ended: bool,
}

impl<'a> RecordIter<'a> {
    fn read(&mut self) -> Result<Option<RecordView<'a>>, RecordsError> {
        let counted = self.header.counted();
        let at_end = self.source.remaining().is_empty();
        if self.next == counted {
            return if at_end { Ok(None) } else { Err(RecordsError::RecordsTrailing { counted }) };
        }
        if at_end {
            return Err(RecordsError::RecordsMissing { counted, found: self.next });
        }
        let raw = read_record(&mut self.source).map_err(|error| error.at(self.next))?;
        self.next += 1;
        let base_offset = self.header.base_offset.0;
        Ok(Some(RecordView {
            offset: Offset(base_offset.saturating_add(i64::from(raw.offset_delta))),
            timestamp: match self.header.attributes.timestamp_type() {
                TimestampType::LogAppendTime => self.header.max_timestamp,
                TimestampType::CreateTime => {
                    TimestampMs(self.header.base_timestamp.0.saturating_add(raw.timestamp_delta))
                }
            },
            offset_delta: raw.offset_delta,
            timestamp_delta: raw.timestamp_delta,
            key: raw.key,
            value: raw.value,
            headers: RecordHeaders::of(&raw),
        }))
    }
}

impl<'a> Iterator for RecordIter<'a> {
    type Item = Result<RecordView<'a>, RecordsError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.read().transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}
