//! One batch: its bytes, exactly, and its header, read once.
//!
//! [`BatchView`] borrows, [`Batch`] owns (sharing the memory of the frame it came in). Both are
//! only ever made of bytes whose length is the batch's own; no more has been checked.

use bytes::Bytes;

use crate::error::RecordsError;
use crate::header::{BATCH_HEADER_BYTES, BatchHeader, CRC_FROM};

/// A borrowed batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchView<'a> {
    header: BatchHeader,
    bytes: &'a [u8],
}

impl<'a> BatchView<'a> {
    /// The batch that `bytes` are.
    ///
    /// # Errors
    /// Those of [`BatchView::parse_prefix`], and [`RecordsError::TrailingBytes`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, RecordsError> {
        let (batch, rest) = Self::parse_prefix(bytes)?;
        if rest.is_empty() {
            Ok(batch)
        } else {
            Err(RecordsError::TrailingBytes { bytes: rest.len() as u64 })
        }
    }

    /// The batch at the start of `bytes`, and what follows it.
    ///
    /// # Errors
    /// Those of [`BatchHeader::parse`]; [`RecordsError::Truncated`] if the batch is not all there.
    pub fn parse_prefix(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), RecordsError> {
        let header = BatchHeader::parse(bytes)?;
        let (bytes, rest) =
            bytes.split_at_checked(header.size_bytes()).ok_or(RecordsError::Truncated {
                needed: header.size_bytes() as u64,
                available: bytes.len() as u64,
            })?;
        Ok((Self { header, bytes }, rest))
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The whole batch.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// What follows the header: the records, compressed as the attributes say.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[BATCH_HEADER_BYTES..]
    }

    /// The checksum of the bytes as they are; reads all of them.
    #[must_use]
    pub fn computed_crc(&self) -> u32 {
        crc32c::crc32c(&self.bytes[CRC_FROM..])
    }

    /// Checks the checksum; reads all bytes.
    ///
    /// # Errors
    /// [`RecordsError::CrcMismatch`].
    pub fn verify_crc(&self) -> Result<(), RecordsError> {
        let (stored, computed) = (self.header.crc, self.computed_crc());
        if stored == computed {
            Ok(())
        } else {
            Err(RecordsError::CrcMismatch { stored, computed })
        }
    }
}

/// An owned batch. Cloning it shares the bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    header: BatchHeader,
    bytes: Bytes,
}

impl Batch {
    /// The batch that `bytes` are.
    ///
    /// # Errors
    /// Those of [`BatchView::parse`].
    pub fn parse(bytes: Bytes) -> Result<Self, RecordsError> {
        let header = *BatchView::parse(&bytes)?.header();
        Ok(Self { header, bytes })
    }

    /// Takes the batch at the start of `bytes` off; on an error `bytes` stay as they are.
    ///
    /// # Errors
    /// Those of [`BatchView::parse_prefix`].
    pub fn split_off(bytes: &mut Bytes) -> Result<Self, RecordsError> {
        let header = *BatchView::parse_prefix(bytes)?.0.header();
        Ok(Self { header, bytes: bytes.split_to(header.size_bytes()) })
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The batch, borrowed.
    #[must_use]
    pub fn view(&self) -> BatchView<'_> {
        BatchView { header: self.header, bytes: &self.bytes }
    }

    /// The whole batch.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The whole batch.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }
}
