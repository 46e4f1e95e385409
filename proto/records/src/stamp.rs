//! LogAppendTime: the one thing inside the checksum that a broker writes.

use tidemill_base::TimestampMs;

use crate::batch::BatchView;
use crate::error::RecordsError;
use crate::header::{ATTRIBUTES_AT, CRC_AT, CRC_FROM, MAX_TIMESTAMP_AT};

/// The end of the bytes that stamping may change.
const CHANGED_END: usize = MAX_TIMESTAMP_AT + 8;

/// Makes `batch` (the bytes of exactly one) a LogAppendTime batch of the time `now`: sets the
/// timestamp-type bit, the max timestamp and the checksum. Record bytes are neither read nor
/// changed: the new checksum follows from the old one, so a batch whose checksum was wrong has a
/// wrong one afterwards, too.
///
/// # Errors
/// Those of [`BatchView::parse`]; then nothing is changed.
pub fn stamp_log_append_time(batch: &mut [u8], now: TimestampMs) -> Result<(), RecordsError> {
    let header = *BatchView::parse(batch)?.header();
    let rest_bytes = batch.len() - CHANGED_END;
    let before = crc32c::crc32c(&batch[CRC_FROM..CHANGED_END]);
    let attributes = header.attributes.with_log_append_time();
    batch[ATTRIBUTES_AT..ATTRIBUTES_AT + 2].copy_from_slice(&attributes.0.to_be_bytes());
    batch[MAX_TIMESTAMP_AT..CHANGED_END].copy_from_slice(&now.0.to_be_bytes());
    let after = crc32c::crc32c(&batch[CRC_FROM..CHANGED_END]);
    // A CRC of joined bytes is shift(CRC of the first part) XOR CRC of the second, and the shift is
    // linear; so changing the first part changes the whole by the shifted difference.
    let crc = header.crc ^ crc32c::crc32c_combine(before ^ after, 0, rest_bytes);
    batch[CRC_AT..CRC_FROM].copy_from_slice(&crc.to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::TimestampType;
    use crate::builder::BatchBuilder;
    use crate::codec::Codec;
    use crate::compressor::Compressor;

    fn batch() -> Vec<u8> {
        let mut builder = BatchBuilder::new(Codec::None);
        builder.append_value(TimestampMs(5), Some(b"key"), Some(&[7; 3_000])).unwrap();
        builder.finish(&mut Compressor::new()).unwrap().to_vec()
    }

    #[test]
    fn a_stamped_batch_has_the_time_the_bit_and_a_right_checksum() {
        let original = batch();
        let mut stamped = original.clone();
        stamp_log_append_time(&mut stamped, TimestampMs(99)).unwrap();
        let view = BatchView::parse(&stamped).unwrap();
        view.verify_crc().unwrap();
        assert_eq!(view.header().max_timestamp, TimestampMs(99));
        assert_eq!(view.header().attributes.timestamp_type(), TimestampType::LogAppendTime);
        assert_eq!(view.payload(), BatchView::parse(&original).unwrap().payload());
        stamp_log_append_time(&mut stamped, TimestampMs(100)).unwrap();
        BatchView::parse(&stamped).unwrap().verify_crc().unwrap();
    }

    #[test]
    fn damage_is_not_covered_up() {
        let mut bytes = batch();
        bytes[1_000] ^= 1;
        stamp_log_append_time(&mut bytes, TimestampMs(99)).unwrap();
        assert!(BatchView::parse(&bytes).unwrap().verify_crc().is_err());
    }
}
