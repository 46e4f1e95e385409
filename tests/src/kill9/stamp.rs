//! What every record of the load says: who produced it, and which of its records it is. All its bytes
//! follow from that, so a record that reads as a stamp is whole.

use bytes::Bytes;

use crate::chance::Chance;

const HEAD_BYTES: usize = 12;
/// Values are from this many bytes long, 1 KiB on average.
const VALUE_BYTES_MIN: u64 = 148;
const VALUE_BYTES_MAX: u64 = 1900;

/// A record of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    /// The producer; ids are not used again within a cluster.
    pub(crate) producer: u32,
    /// Counts the producer's records in the partition from 0.
    pub(crate) number: u64,
}

impl Stamp {
    /// The record's value.
    pub(crate) fn value(self) -> Bytes {
        let mut chance = Chance::of(u64::from(self.producer), self.number);
        let length = chance.between(VALUE_BYTES_MIN, VALUE_BYTES_MAX) as usize;
        let mut value = vec![0; length];
        value[..4].copy_from_slice(&self.producer.to_be_bytes());
        value[4..HEAD_BYTES].copy_from_slice(&self.number.to_be_bytes());
        chance.fill(&mut value[HEAD_BYTES..]);
        value.into()
    }

    /// The stamp of a value; none if any of its bytes is another.
    pub(crate) fn read(value: &[u8]) -> Option<Self> {
        let producer = u32::from_be_bytes(*value.first_chunk()?);
        let number = u64::from_be_bytes(value.get(4..HEAD_BYTES)?.try_into().ok()?);
        let stamp = Self { producer, number };
        (stamp.value() == value).then_some(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_tells_its_stamp_and_a_changed_one_does_not() {
        for number in [0, 1, 1 << 40] {
            let stamp = Stamp { producer: 7, number };
            let value = stamp.value();
            assert_eq!(Stamp::read(&value), Some(stamp));
            for at in [0, 5, 12, value.len() - 1] {
                let mut changed = value.to_vec();
                changed[at] ^= 1;
                assert_eq!(Stamp::read(&changed), None);
            }
        }
        assert_eq!(Stamp::read(b"short"), None);
    }
}
