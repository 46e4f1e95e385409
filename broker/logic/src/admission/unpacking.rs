//! How much may be decompressed where a batch is judged.
//!
//! On a thread that serves others too, a few bytes that become many would delay them. There the work
//! is limited for all batches of a request together, and what goes beyond is judged again elsewhere.

use tidemill_records::{
    BatchView, Codec, DecompressLimits, Decompressor, RecordFacts, RecordsError, validate_records,
};

use super::Refused;

/// What a compressed batch counts at least, however small it is: about what its decoder costs to set
/// up.
const BATCH_BYTES_MIN: u64 = 1024;

/// A decompressor, and how much it may do here.
#[derive(Debug)]
pub struct Unpacking<'a> {
    decompressor: &'a mut Decompressor,
    bytes_left: Option<u64>,
}

impl<'a> Unpacking<'a> {
    /// Any batch is judged, within what is allowed of batches.
    pub fn unlimited(decompressor: &'a mut Decompressor) -> Self {
        Self { decompressor, bytes_left: None }
    }

    /// Compressed batches are judged until `bytes` went into the decompressor, or came out, whichever
    /// is more; then the answer is [`Refused::NotHere`]. Batches that are not compressed pass.
    pub fn at_most(decompressor: &'a mut Decompressor, bytes: u64) -> Self {
        Self { decompressor, bytes_left: Some(bytes) }
    }

    /// Walks all records of a batch.
    pub(super) fn validate(&mut self, batch: &BatchView<'_>) -> Result<RecordFacts, Refused> {
        let limits = DecompressLimits::default();
        let is_plain = batch.header().attributes.codec()? == Codec::None;
        let Some(left) = self.bytes_left.filter(|_| !is_plain) else {
            return Ok(validate_records(batch, self.decompressor, &limits)?);
        };
        let input_bytes = (batch.payload().len() as u64).max(BATCH_BYTES_MIN);
        if input_bytes > left {
            return Err(Refused::NotHere);
        }
        let output_bytes_max = left.min(limits.output_bytes_max);
        let limits = DecompressLimits { output_bytes_max, ..limits };
        let facts = validate_records(batch, self.decompressor, &limits);
        if matches!(facts, Err(RecordsError::OutputTooLarge { .. })) {
            return Err(Refused::NotHere);
        }
        let bytes = input_bytes.max(self.decompressor.output_bytes());
        self.bytes_left = Some(left.saturating_sub(bytes));
        Ok(facts?)
    }
}
