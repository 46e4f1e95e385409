//! What clients did, saw and were told, in one place; and whether it fits together so far.
//!
//! A record's value names who wrote it, as which of its records, and into which life of the topic, so
//! that every record is told from every other.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use uuid::Uuid;

/// A partition of one life of a topic.
pub type Place = (Uuid, i32);

/// What a record says about itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Value {
    /// The life of the topic it was written to.
    pub topic: Uuid,
    /// Who wrote it.
    pub producer: u32,
    /// As which of its records.
    pub number: u64,
    /// Whether the producer was idempotent.
    pub idempotent: bool,
}

/// Bytes of an encoded value.
pub const VALUE_BYTES: usize = 29;

impl Value {
    /// The value as a record carries it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(VALUE_BYTES);
        bytes.extend_from_slice(self.topic.as_bytes());
        bytes.extend_from_slice(&self.producer.to_be_bytes());
        bytes.extend_from_slice(&self.number.to_be_bytes());
        bytes.push(u8::from(self.idempotent));
        bytes
    }

    /// The value in a record, if it is one.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; VALUE_BYTES] = bytes.try_into().ok()?;
        Some(Self {
            topic: Uuid::from_slice(&bytes[..16]).ok()?,
            producer: u32::from_be_bytes(bytes[16..20].try_into().ok()?),
            number: u64::from_be_bytes(bytes[20..28].try_into().ok()?),
            idempotent: bytes[28] == 1,
        })
    }
}

/// Everything that was observed.
#[derive(Default, Debug)]
pub struct Observed {
    /// Records that a fetch showed, by place and offset.
    pub seen: BTreeMap<(Place, i64), Value>,
    /// Records that were acknowledged, by place and offset.
    pub acked: BTreeMap<(Place, i64), Value>,
    /// Topic ids that were ever given out, by name.
    pub topics: Vec<(String, Uuid)>,
    /// Requests answered or lost.
    pub operations: u64,
    violations: Vec<String>,
    /// A running digest of all observations, in order.
    digest: u64,
}

/// The shared history of a run.
#[derive(Clone, Default, Debug)]
pub struct History {
    observed: Arc<Mutex<Observed>>,
}

impl History {
    /// A request was answered or lost.
    pub fn operation(&self, what: &str, result: u64) {
        let mut observed = self.observed.lock();
        observed.operations += 1;
        observed.note(what.as_bytes());
        observed.note(&result.to_be_bytes());
    }

    /// How many requests were answered or lost.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.observed.lock().operations
    }

    /// A produce was acknowledged: its records have the offsets from `base` on.
    pub fn acknowledged(&self, place: Place, base: i64, values: &[Value]) {
        let mut observed = self.observed.lock();
        for (offset, value) in (base..).zip(values) {
            observed.note(&offset.to_be_bytes());
            if let Some(before) = observed.acked.insert((place, offset), *value)
                && before != *value
            {
                observed.violate(format!("offset {offset} of {place:?} was acknowledged twice"));
            }
            observed.compare_seen(place, offset, *value);
        }
    }

    /// A fetch showed a record.
    pub fn saw(&self, place: Place, offset: i64, value: Value) {
        let mut observed = self.observed.lock();
        observed.note(&offset.to_be_bytes());
        if value.topic != place.0 {
            observed
                .violate(format!("offset {offset} of {place:?} holds a record of another topic"));
        }
        observed.compare_seen(place, offset, value);
        observed.seen.insert((place, offset), value);
    }

    /// A topic was created.
    pub fn created(&self, name: &str, id: Uuid) {
        let mut observed = self.observed.lock();
        observed.note(id.as_bytes());
        if observed.topics.iter().any(|(_, known)| *known == id) {
            observed.violate(format!("topic id {id} was given out twice"));
        }
        observed.topics.push((name.to_owned(), id));
    }

    /// Something that must never happen.
    pub fn violation(&self, what: impl Into<String>) {
        self.observed.lock().violate(what.into());
    }

    /// What must never have happened, and did.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.observed.lock().violations.clone()
    }

    /// The digest of everything observed so far, in order.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.observed.lock().digest
    }

    /// Looks at what was observed.
    pub fn with<T>(&self, look: impl FnOnce(&Observed) -> T) -> T {
        look(&self.observed.lock())
    }
}

impl Observed {
    fn compare_seen(&mut self, place: Place, offset: i64, value: Value) {
        let before = self.seen.get(&(place, offset)).or_else(|| self.acked.get(&(place, offset)));
        if let Some(before) = before.copied()
            && before != value
        {
            self.violate(format!(
                "offset {offset} of {place:?} showed {before:?} first and {value:?} later"
            ));
        }
    }

    fn violate(&mut self, what: String) {
        if self.violations.len() < 20 {
            self.violations.push(what);
        }
    }

    /// FNV-1a: stable, and good enough to tell two traces apart.
    fn note(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.digest = (self.digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
