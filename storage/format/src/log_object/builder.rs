//! Laying out a log object from the batches of a flush, without copying them.
//!
//! A batch may be given a head of its own: the first 16 bytes that lie in the object in place of the
//! batch's. They are outside every checksum but the frame's.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use tidemill_base::{BatchFacts, ObjectId, PartitionId};

use super::{
    CRC_AT, FIXED_HEADER_BYTES, INDEX_ENTRY_BYTES, LOG_OBJECT_MAGIC, LOG_OBJECT_VERSION, entry,
};
use crate::fields::{put_beginning, put_object_id};

/// The bytes at the start of a batch that its producer does not decide: base offset, length, leader
/// epoch.
pub type BatchHead = [u8; 16];

/// Batches up to this length are copied next to each other: cheaper than one more part in the write.
const COPIED_BYTES_MAX: usize = 512;

/// The batches of a flush, in the order in which they arrived.
#[derive(Debug)]
pub struct LogObjectBuilder {
    id: ObjectId,
    batches: Vec<Given>,
    body_bytes: u64,
}

#[derive(Debug)]
struct Given {
    facts: BatchFacts,
    head: Option<BatchHead>,
    bytes: Bytes,
}

/// A log object, ready to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EncodedObject {
    /// The object's bytes: the header with its index, then the batches, with the heads they were
    /// given. The first part is the header alone.
    pub parts: Vec<Bytes>,
    /// The batches as they were given, without other heads, in the object's order.
    pub bodies: Vec<Bytes>,
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
        self.add(Given { facts, head: None, bytes });
    }

    /// Adds a batch that lies in the object with `head` in place of its first bytes; one that is
    /// shorter than a head lies there as it is.
    pub fn push_with_head(&mut self, facts: BatchFacts, head: BatchHead, bytes: Bytes) {
        let head = (bytes.len() >= head.len()).then_some(head);
        self.add(Given { facts, head, bytes });
    }

    fn add(&mut self, given: Given) {
        self.body_bytes += given.bytes.len() as u64;
        self.batches.push(given);
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
        for given in &self.batches {
            let length = given.bytes.len() as u32;
            let batch = BatchFacts { position, length, ..given.facts };
            entry::put(&mut header, &batch);
            facts.push(batch);
            position += batch.length;
        }
        let crc = checksum(&header);
        header[CRC_AT..FIXED_HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
        let mut parts = vec![header.freeze()];
        lay_out(&self.batches, &mut parts);
        let bodies = self.batches.into_iter().map(|given| given.bytes).collect();
        EncodedObject { parts, bodies, facts, length }
    }

    fn group(&mut self) {
        // Batches that come sorted, as a writer that sorts gives them, are grouped already.
        if self.batches.is_sorted_by_key(|given| given.facts.partition) {
            return;
        }
        let mut first_arrival: BTreeMap<PartitionId, usize> = BTreeMap::new();
        for (arrival, given) in self.batches.iter().enumerate() {
            first_arrival.entry(given.facts.partition).or_insert(arrival);
        }
        self.batches.sort_by_key(|given| first_arrival.get(&given.facts.partition).copied());
    }
}

impl Given {
    /// The bytes that are copied rather than shared: all of a small batch, the head of another.
    fn copied_bytes(&self) -> usize {
        match self.bytes.len() {
            small @ 0..=COPIED_BYTES_MAX => small,
            _ => self.head.map_or(0, |head| head.len()),
        }
    }
}

/// The batches as parts: what is copied lies in one buffer, cut where shared bytes come between.
fn lay_out(batches: &[Given], parts: &mut Vec<Bytes>) {
    let mut open = BytesMut::with_capacity(batches.iter().map(Given::copied_bytes).sum());
    for given in batches {
        let head: &[u8] = given.head.as_ref().map_or(&[], |head| head);
        open.put_slice(head);
        let copied = given.copied_bytes();
        open.put_slice(&given.bytes[head.len()..copied]);
        if copied < given.bytes.len() {
            if !open.is_empty() {
                parts.push(open.split().freeze());
            }
            parts.push(given.bytes.slice(copied..));
        }
    }
    if !open.is_empty() {
        parts.push(open.freeze());
    }
}

/// The sum of a header with its index, the place of the sum itself left out.
pub(super) fn checksum(header: &[u8]) -> u32 {
    let before = crc32c::crc32c(&header[..CRC_AT]);
    crc32c::crc32c_append(before, &header[FIXED_HEADER_BYTES..])
}
