//! Laying out a log object from the batches of a flush, without copying them.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use tidemill_base::{BatchFacts, ObjectId, PartitionId};

use super::{
    CRC_AT, FIXED_HEADER_BYTES, INDEX_ENTRY_BYTES, LOG_OBJECT_MAGIC, LOG_OBJECT_VERSION, entry,
};
use crate::fields::{put_beginning, put_object_id};

/// The batches of a flush, in the order in which they arrived.
#[derive(Debug)]
pub struct LogObjectBuilder {
    id: ObjectId,
    batches: Vec<(BatchFacts, Bytes)>,
    body_bytes: u64,
}

/// A log object, ready to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EncodedObject {
    /// The object's bytes: the header with its index, then each batch as it was given.
    pub parts: Vec<Bytes>,
    /// What the commit says of each batch, in the order of the parts, with positions and lengths.
    pub facts: Vec<BatchFacts>,
    /// The bytes of all parts together.
    pub length: u32,
}

impl LogObjectBuilder {
    /// An object without batches.
    #[must_use]
    pub fn new(id: ObjectId) -> Self {
        Self { id, batches: Vec::new(), body_bytes: 0 }
    }

    /// Adds a batch: `bytes`, of which `facts` holds true save for its position and length, which
    /// are set when the object is finished.
    pub fn push(&mut self, facts: BatchFacts, bytes: Bytes) {
        self.body_bytes += bytes.len() as u64;
        self.batches.push((facts, bytes));
    }

    /// How many batches have been added.
    #[must_use]
    pub fn batch_count(&self) -> usize {
        self.batches.len()
    }

    /// The bytes that the object would have as it is.
    #[must_use]
    pub fn object_bytes(&self) -> u64 {
        self.header_bytes() as u64 + self.body_bytes
    }

    fn header_bytes(&self) -> usize {
        FIXED_HEADER_BYTES + self.batches.len() * INDEX_ENTRY_BYTES
    }

    /// The finished object: batches grouped by partition, partitions in the order of their first
    /// batch, batches of a partition in the order in which they were added.
    ///
    /// # Panics
    /// If [`Self::object_bytes`] passes `u32::MAX`: a flush is sealed at a few MiB, and what may be
    /// in memory at all is bounded far below.
    #[must_use]
    pub fn finish(mut self) -> EncodedObject {
        let length = u32::try_from(self.object_bytes()).expect("a flush is far below 4 GiB");
        self.group();
        let mut position = self.header_bytes() as u32;
        let mut header = BytesMut::with_capacity(self.header_bytes());
        put_beginning(&mut header, LOG_OBJECT_MAGIC, LOG_OBJECT_VERSION);
        put_object_id(&mut header, &self.id);
        header.put_u32_le(self.batches.len() as u32);
        header.put_u32_le(length);
        header.put_u32_le(0);
        let mut facts = Vec::with_capacity(self.batches.len());
        for (batch, bytes) in &self.batches {
            let batch = BatchFacts { position, length: bytes.len() as u32, ..*batch };
            entry::put(&mut header, &batch);
            facts.push(batch);
            position += batch.length;
        }
        let crc = checksum(&header);
        header[CRC_AT..FIXED_HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
        let mut parts = Vec::with_capacity(1 + self.batches.len());
        parts.push(header.freeze());
        parts.extend(self.batches.into_iter().map(|(_, bytes)| bytes));
        EncodedObject { parts, facts, length }
    }

    fn group(&mut self) {
        // Batches that come sorted, as a writer that sorts gives them, are grouped already.
        if self.batches.is_sorted_by_key(|(facts, _)| facts.partition) {
            return;
        }
        let mut first_arrival: BTreeMap<PartitionId, usize> = BTreeMap::new();
        for (arrival, (facts, _)) in self.batches.iter().enumerate() {
            first_arrival.entry(facts.partition).or_insert(arrival);
        }
        self.batches.sort_by_key(|(facts, _)| first_arrival.get(&facts.partition).copied());
    }
}

/// The sum of a header with its index, the place of the sum itself left out.
pub(super) fn checksum(header: &[u8]) -> u32 {
    let before = crc32c::crc32c(&header[..CRC_AT]);
    crc32c::crc32c_append(before, &header[FIXED_HEADER_BYTES..])
}
