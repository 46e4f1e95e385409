//! The bytes of a sent batch, kept until it is settled.

use bytes::{Bytes, BytesMut};
use tidemill_base::ProducerFacts;
use tidemill_records::header::{CRC_AT, CRC_FROM};
use tidemill_records::{BATCH_HEADER_BYTES, BatchBuilder, BatchView, Compressor, RecordsError};

/// A finished batch.
#[derive(Clone, Debug)]
pub(crate) struct SealedBatch {
    bytes: Bytes,
    facts: Option<ProducerFacts>,
}

impl SealedBatch {
    /// Finishes a batch that carries `facts`.
    pub(crate) fn seal(
        builder: BatchBuilder,
        facts: Option<ProducerFacts>,
        compressor: &mut Compressor,
    ) -> Result<Self, RecordsError> {
        let builder = match facts {
            Some(facts) => builder.producer(facts),
            None => builder,
        };
        Ok(Self { bytes: builder.finish(compressor)?, facts })
    }

    /// The bytes, carrying `facts`: the header is written anew if they changed.
    pub(crate) fn carrying(&mut self, facts: Option<ProducerFacts>) -> Result<Bytes, RecordsError> {
        if let Some(facts) = facts
            && self.facts != Some(facts)
        {
            self.bytes = rewritten(&self.bytes, facts)?;
            self.facts = Some(facts);
        }
        Ok(self.bytes.clone())
    }
}

fn rewritten(bytes: &Bytes, facts: ProducerFacts) -> Result<Bytes, RecordsError> {
    let mut header = *BatchView::parse(bytes)?.header();
    header.producer_id = facts.id.0;
    header.producer_epoch = facts.epoch.0;
    header.base_sequence = facts.base_sequence.0;
    let mut anew = BytesMut::from(&bytes[..]);
    anew[..BATCH_HEADER_BYTES].copy_from_slice(&header.encode());
    let crc = BatchView::parse(&anew)?.computed_crc();
    anew[CRC_AT..CRC_FROM].copy_from_slice(&crc.to_be_bytes());
    Ok(anew.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemill_base::{BaseSequence, ProducerEpoch, ProducerId, TimestampMs};
    use tidemill_records::Codec;

    fn facts(epoch: i16, base_sequence: i32) -> ProducerFacts {
        ProducerFacts {
            id: ProducerId(7),
            epoch: ProducerEpoch(epoch),
            base_sequence: BaseSequence(base_sequence),
            transaction: 0,
        }
    }

    #[test]
    fn a_batch_that_carries_new_facts_has_a_valid_checksum_and_the_same_records() {
        let mut builder = BatchBuilder::new(Codec::Lz4);
        builder.append_value(TimestampMs(5), Some(b"k"), Some(&[b'v'; 100])).unwrap();
        let compressor = &mut Compressor::new();
        let mut sealed = SealedBatch::seal(builder, Some(facts(0, 10)), compressor).unwrap();
        let first = sealed.carrying(Some(facts(0, 10))).unwrap();
        let second = sealed.carrying(Some(facts(1, 0))).unwrap();
        let (first, second) =
            (BatchView::parse(&first).unwrap(), BatchView::parse(&second).unwrap());
        assert!(first.verify_crc().is_ok() && second.verify_crc().is_ok());
        assert_eq!(first.payload(), second.payload());
        let header = second.header();
        assert_eq!((header.producer_epoch, header.base_sequence), (1, 0));
        assert_eq!(header.max_timestamp, TimestampMs(5));
    }
}
