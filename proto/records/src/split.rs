//! Bytes that hold batches end to end.

use bytes::Bytes;

use crate::batch::Batch;
use crate::error::RecordsError;

/// The batches that `bytes` hold, in order, without copying.
///
/// The bounds are exact: bytes that are no whole batch are an error, and the error is the last
/// item. (A Kafka broker may cut the last batch of a fetch short; a consumer that wants to be
/// lenient about it ends at [`RecordsError::Truncated`].)
#[must_use]
pub fn batches(bytes: &Bytes) -> Batches {
    Batches { rest: bytes.clone() }
}

/// The one batch that `bytes` must be, as Kafka demands of each partition of a produce request
/// from version 3.
///
/// # Errors
/// Those of [`Batch::parse`]; a second batch is [`RecordsError::TrailingBytes`].
pub fn single_batch(bytes: &Bytes) -> Result<Batch, RecordsError> {
    Batch::parse(bytes.clone())
}

/// The iterator of [`batches`].
#[derive(Clone, Debug)]
pub struct Batches {
    rest: Bytes,
}

impl Batches {
    /// What has not been split off.
    #[must_use]
    pub fn rest(&self) -> &Bytes {
        &self.rest
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, RecordsError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let batch = Batch::split_off(&mut self.rest);
        if batch.is_err() {
            self.rest = Bytes::new();
        }
        Some(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::BatchBuilder;
    use crate::codec::Codec;
    use crate::compressor::Compressor;
    use tidemill_base::TimestampMs;

    fn batch(value: &[u8]) -> Bytes {
        let mut builder = BatchBuilder::new(Codec::None);
        builder.append_value(TimestampMs(1), None, Some(value)).unwrap();
        builder.finish(&mut Compressor::new()).unwrap()
    }

    #[test]
    fn several_batches_are_split_at_their_bounds() {
        let (one, two) = (batch(b"one"), batch(b"number two"));
        let both = Bytes::from([&one[..], &two[..]].concat());
        let found: Vec<_> = batches(&both).map(|batch| batch.unwrap().into_bytes()).collect();
        assert_eq!(found, [one, two]);
        assert!(matches!(single_batch(&both), Err(RecordsError::TrailingBytes { .. })));
    }

    #[test]
    fn garbage_after_a_batch_is_the_last_item() {
        let bytes = Bytes::from([&batch(b"one")[..], b"x"].concat());
        let found: Vec<_> = batches(&bytes).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(found[1], Err(RecordsError::Truncated { needed: 61, available: 1 }));
    }
}
