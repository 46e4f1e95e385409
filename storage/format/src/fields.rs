//! Numbers in bytes, least first, and the names of objects and files made of them.

use bytes::BufMut;
use tidemill_base::{
    BrokerEpoch, BrokerId, FileId, FileNumber, Incarnation, LaneId, LaneKey, LaneSequence, ObjectId,
};

use crate::error::FormatError;

/// The bytes of an object's name.
pub(crate) const OBJECT_ID_BYTES: usize = 24;
/// The bytes of a file's name.
pub(crate) const FILE_ID_BYTES: usize = 28;

/// Reads fields from front to back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldReader<'a> {
    bytes: &'a [u8],
}

impl<'a> FieldReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let (field, rest) = self.bytes.split_first_chunk().ok_or(FormatError::Truncated {
            needed: N as u64,
            available: self.bytes.len() as u64,
        })?;
        self.bytes = rest;
        Ok(*field)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, FormatError> {
        self.take().map(u16::from_le_bytes)
    }

    pub(crate) fn i16(&mut self) -> Result<i16, FormatError> {
        self.take().map(i16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, FormatError> {
        self.take().map(u32::from_le_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, FormatError> {
        self.take().map(i32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, FormatError> {
        self.take().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, FormatError> {
        self.take().map(i64::from_le_bytes)
    }

    /// A field that must be 0, so that a later version may use it.
    pub(crate) fn reserved(&mut self) -> Result<(), FormatError> {
        match self.u16()? {
            0 => Ok(()),
            _ => Err(FormatError::Inconsistent { what: "a reserved field is not zero" }),
        }
    }

    pub(crate) fn object_id(&mut self) -> Result<ObjectId, FormatError> {
        let (incarnation, lane) = self.lane()?;
        Ok(ObjectId { incarnation, lane, sequence: LaneSequence(self.u64()?) })
    }

    pub(crate) fn file_id(&mut self) -> Result<FileId, FormatError> {
        let (incarnation, lane) = self.lane()?;
        let number = FileNumber(self.u32()?);
        Ok(FileId { incarnation, lane, number, sequence: self.u64()? })
    }

    fn lane(&mut self) -> Result<(Incarnation, LaneKey), FormatError> {
        let incarnation = Incarnation(self.u32()?);
        let broker = BrokerId(self.i32()?);
        let epoch = BrokerEpoch(self.u32()?);
        let lane = LaneId(self.u16()?);
        self.reserved()?;
        Ok((incarnation, LaneKey { broker, epoch, lane }))
    }
}

/// Checks how an object begins: its magic and its version, then a reserved field.
pub(crate) fn check_beginning(
    fields: &mut FieldReader<'_>,
    magic: [u8; 4],
    expected: &'static str,
    version: u16,
) -> Result<(), FormatError> {
    if fields.take::<4>()? != magic {
        return Err(FormatError::WrongMagic { expected });
    }
    let found = fields.u16()?;
    if found != version {
        return Err(FormatError::UnsupportedVersion { version: found });
    }
    fields.reserved()
}

pub(crate) fn put_beginning(out: &mut impl BufMut, magic: [u8; 4], version: u16) {
    out.put_slice(&magic);
    out.put_u16_le(version);
    out.put_u16_le(0);
}

pub(crate) fn put_object_id(out: &mut impl BufMut, id: &ObjectId) {
    put_lane(out, id.incarnation, &id.lane);
    out.put_u64_le(id.sequence.0);
}

pub(crate) fn put_file_id(out: &mut impl BufMut, id: &FileId) {
    put_lane(out, id.incarnation, &id.lane);
    out.put_u32_le(id.number.0);
    out.put_u64_le(id.sequence);
}

fn put_lane(out: &mut impl BufMut, incarnation: Incarnation, lane: &LaneKey) {
    out.put_u32_le(incarnation.0);
    out.put_i32_le(lane.broker.0);
    out.put_u32_le(lane.epoch.0);
    out.put_u16_le(lane.lane.0);
    out.put_u16_le(0);
}

/// The first `length` of `bytes`.
pub(crate) fn prefix(bytes: &[u8], length: u64) -> Result<&[u8], FormatError> {
    usize::try_from(length)
        .ok()
        .and_then(|length| bytes.get(..length))
        .ok_or(FormatError::Truncated { needed: length, available: bytes.len() as u64 })
}

/// Compares a stored sum with the one computed.
pub(crate) fn check_sum(part: &'static str, stored: u32, computed: u32) -> Result<(), FormatError> {
    if stored == computed {
        Ok(())
    } else {
        Err(FormatError::ChecksumMismatch { part, stored, computed })
    }
}
