//! One record's fields, read from any source: the only place that knows a record's layout.
//!
//! ```text
//! length varint | attributes i8 | timestamp delta varlong | offset delta varint
//!   | key length varint, key | value length varint, value | header count varint
//!   | header: key length varint, key, value length varint, value ...
//! ```
//!
//! The length counts what follows it, and the fields must fill it exactly. A length of -1 stands
//! for null, where null is allowed (not in a header's key). Kafka takes any negative length for
//! null; nobody sends others than -1, and they are refused here.

use crate::error::{RecordFault, RecordsError};
use crate::source::ByteSource;
use crate::varint::{VARINT32_BYTES_MAX, VARINT64_BYTES_MAX, zigzag32, zigzag64};

/// The least bytes of a record in a batch, its length included.
pub(crate) const RECORD_BYTES_MIN: u64 = 7;

/// A record as it was read; `S` is what the source keeps of a span of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawRecord<S> {
    pub(crate) timestamp_delta: i64,
    pub(crate) offset_delta: u32,
    pub(crate) key: Option<S>,
    pub(crate) value: Option<S>,
    pub(crate) header_count: u32,
    /// Begins with the headers, which have been checked.
    pub(crate) headers: S,
}

/// One header of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawHeader<S> {
    pub(crate) key: S,
    pub(crate) value: Option<S>,
}

/// Reads the next record. Errors do not know its place in the batch.
pub(crate) fn read_record<S: ByteSource>(
    source: &mut S,
) -> Result<RawRecord<S::Span>, RecordsError> {
    let (raw, _) = source.varint(VARINT32_BYTES_MAX)?;
    let length = zigzag32(raw).map_err(RecordsError::fault)?;
    let left = u32::try_from(length).map_err(|_| negative())?;
    let mut fields = Fields { source, left };
    fields.byte()?;
    let timestamp_delta = fields.i64()?;
    let offset_delta =
        u32::try_from(fields.i32()?).map_err(|_| RecordsError::fault(RecordFault::OffsetDelta))?;
    let key = fields.nullable()?;
    let value = fields.nullable()?;
    let header_count = u32::try_from(fields.i32()?).map_err(|_| negative())?;
    let headers = fields.source.rest();
    for _ in 0..header_count {
        read_header(&mut fields)?;
    }
    if fields.left > 0 {
        return Err(RecordsError::fault(RecordFault::Leftover));
    }
    Ok(RawRecord { timestamp_delta, offset_delta, key, value, header_count, headers })
}

/// Reads the next header from a source that stands at one.
pub(crate) fn next_header<S: ByteSource>(
    source: &mut S,
) -> Result<RawHeader<S::Span>, RecordsError> {
    read_header(&mut Fields { source, left: u32::MAX })
}

fn read_header<S: ByteSource>(
    fields: &mut Fields<'_, S>,
) -> Result<RawHeader<S::Span>, RecordsError> {
    let key = fields.nullable()?.ok_or_else(negative)?;
    Ok(RawHeader { key, value: fields.nullable()? })
}

#[cold]
fn negative() -> RecordsError {
    RecordsError::fault(RecordFault::LengthNegative)
}

/// The fields of one record: a source that ends where the record does.
struct Fields<'s, S> {
    source: &'s mut S,
    left: u32,
}

impl<S: ByteSource> Fields<'_, S> {
    #[inline(always)]
    fn spend(&mut self, bytes: usize) -> Result<(), RecordsError> {
        let left = u32::try_from(bytes).ok().and_then(|bytes| self.left.checked_sub(bytes));
        self.left = left.ok_or(RecordsError::fault(RecordFault::Overrun))?;
        Ok(())
    }

    #[inline(always)]
    fn byte(&mut self) -> Result<u8, RecordsError> {
        self.spend(1)?;
        self.source.byte()
    }

    #[inline(always)]
    fn i32(&mut self) -> Result<i32, RecordsError> {
        let (raw, length) = self.source.varint(VARINT32_BYTES_MAX)?;
        self.spend(length)?;
        zigzag32(raw).map_err(RecordsError::fault)
    }

    #[inline(always)]
    fn i64(&mut self) -> Result<i64, RecordsError> {
        let (raw, length) = self.source.varint(VARINT64_BYTES_MAX)?;
        self.spend(length)?;
        Ok(zigzag64(raw))
    }

    /// A length and as many bytes, or null.
    fn nullable(&mut self) -> Result<Option<S::Span>, RecordsError> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length = u32::try_from(length).map_err(|_| negative())?;
                self.spend(length as usize)?;
                self.source.take(length).map(Some)
            }
        }
    }
}
