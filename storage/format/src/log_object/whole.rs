//! A log object held whole, for scrubbing and for tests.

use bytes::Bytes;
use tidemill_base::BatchFacts;

use super::header::LogObjectHeader;
use crate::error::FormatError;

/// A log object with its batches. Only header and index have been summed: each batch carries its
/// own checksum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogObject {
    header: LogObjectHeader,
    bytes: Bytes,
}

impl LogObject {
    /// Reads an object that `bytes` hold exactly.
    ///
    /// # Errors
    /// Those of [`LogObjectHeader::decode`]; [`FormatError::Inconsistent`] if bytes follow.
    pub fn decode(bytes: Bytes) -> Result<Self, FormatError> {
        let header = LogObjectHeader::decode(&bytes)?;
        let (needed, available) = (u64::from(header.length), bytes.len() as u64);
        if needed > available {
            return Err(FormatError::Truncated { needed, available });
        }
        if needed < available {
            return Err(FormatError::Inconsistent { what: "bytes follow the object" });
        }
        Ok(Self { header, bytes })
    }

    /// The header and index.
    #[must_use]
    pub fn header(&self) -> &LogObjectHeader {
        &self.header
    }

    /// The batches in order, each with what the index says of it.
    pub fn batches(&self) -> impl Iterator<Item = (&BatchFacts, Bytes)> {
        self.header.facts.iter().map(|facts| {
            let begin = facts.position as usize;
            (facts, self.bytes.slice(begin..begin + facts.length as usize))
        })
    }
}
