//! The batches of an extent, one by one.

use bytes::Bytes;
use tidemill_base::Offset;
use tidemill_kafka::ErrorCode;
use tidemill_metadata_state::Extent;
use tidemill_records::Batch;

use crate::broker::Broker;

/// The batches of one extent with their base offsets. The first error is the last item.
pub(super) struct Batches {
    pieces: std::vec::IntoIter<Bytes>,
    piece: Bytes,
    base: Offset,
}

impl Batches {
    /// Reads an extent.
    pub(super) async fn read(broker: &Broker, extent: &Extent) -> Result<Self, ErrorCode> {
        let bytes = broker.reads.bytes();
        let up_to = broker.view.readable_up_to(extent.file);
        let pieces = bytes.read(extent, up_to).await.map_err(|error| error.code())?;
        Ok(Self { pieces: pieces.into_iter(), piece: Bytes::new(), base: extent.base_offset })
    }
}

impl Iterator for Batches {
    type Item = Result<(Batch, Offset), ErrorCode>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.piece.is_empty() {
            self.piece = self.pieces.next()?;
        }
        let Ok(batch) = Batch::split_off(&mut self.piece) else {
            (self.piece, self.pieces) = (Bytes::new(), Vec::new().into_iter());
            return Some(Err(ErrorCode::CORRUPT_MESSAGE));
        };
        let base = self.base;
        self.base = base.plus(batch.header().offsets_taken());
        Some(Ok((batch, base)))
    }
}
