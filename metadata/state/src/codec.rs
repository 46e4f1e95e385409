//! How commands and saved records become bytes: little-endian, field after field, nothing implied.
//!
//! - A decoder never allocates by a count it has read before that many items can still be in the
//!   bytes that remain, so its memory is bounded by the input.
//! - Every value has one encoding; what does not decode to exactly the end is refused.
//!
//! Not here: which fields a command or record has (beside each of them, by [`encoded!`]).

use bytes::Bytes;
use tidemill_base::digest::ExtentDigest;
use tidemill_base::{
    AppliedIndex, BrokerEpoch, BrokerId, FileId, FileNumber, GroupEpoch, GroupGeneration,
    Incarnation, LaneId, LaneKey, LaneSequence, LeaderEpoch, Location, ObjectId, Offset,
    PartitionId, PartitionIndex, ProducerId, TimestampMs, TopicId,
};
use uuid::Uuid;

/// Bytes that are not what they should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("decode {what}: {problem} ({remaining} bytes before the end)")]
pub struct DecodeError {
    /// What was being decoded.
    pub what: &'static str,
    /// What is wrong with it.
    pub problem: &'static str,
    /// How far from the end of the input it stands.
    pub remaining: usize,
}

/// Collects encoded fields.
#[derive(Default, Debug)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

/// Takes fields off the front of encoded bytes.
#[derive(Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

/// What has an encoding.
pub(crate) trait Encoded: Sized {
    /// The fewest bytes an encoding takes: the bound of a count of them.
    const BYTES_MIN: usize;

    fn encode(&self, to: &mut Writer);

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

impl Writer {
    pub(crate) fn put<T: Encoded>(&mut self, value: &T) {
        value.encode(self);
    }

    fn count(&mut self, count: usize) {
        let count = u32::try_from(count).expect("a command or record holds less than 4 GiB");
        self.0.extend_from_slice(&count.to_le_bytes());
    }
}

/// The encoding of one value alone.
pub(crate) fn to_bytes<T: Encoded>(value: &T) -> Vec<u8> {
    let mut to = Writer::default();
    to.put(value);
    to.0
}

/// The value of which `bytes` are the whole encoding.
pub(crate) fn from_bytes<T: Encoded>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut from = Reader::new(bytes);
    let value = from.take()?;
    from.end()?;
    Ok(value)
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn take<T: Encoded>(&mut self) -> Result<T, DecodeError> {
        T::decode(self)
    }

    /// The next `length` bytes.
    pub(crate) fn slice(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let Some((head, tail)) = self.0.split_at_checked(length) else {
            return Err(self.error("field", "is cut short"));
        };
        self.0 = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.slice(N)?);
        Ok(array)
    }

    /// A count of items that take at least `bytes_min` each.
    pub(crate) fn count(&mut self, bytes_min: usize) -> Result<usize, DecodeError> {
        let count = u32::from_le_bytes(self.array()?) as usize;
        if count.saturating_mul(bytes_min.max(1)) > self.0.len() {
            return Err(self.error("count", "is more than the bytes can hold"));
        }
        Ok(count)
    }

    pub(crate) fn end(&self) -> Result<(), DecodeError> {
        if self.0.is_empty() { Ok(()) } else { Err(self.error("end", "is followed by more")) }
    }

    pub(crate) fn error(&self, what: &'static str, problem: &'static str) -> DecodeError {
        DecodeError { what, problem, remaining: self.0.len() }
    }
}

macro_rules! encoded_number {
    ($($number:ty),*) => { $(
        impl Encoded for $number {
            const BYTES_MIN: usize = size_of::<$number>();
            fn encode(&self, to: &mut Writer) {
                to.0.extend_from_slice(&self.to_le_bytes());
            }
            fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(<$number>::from_le_bytes(from.array()?))
            }
        }
    )* };
}
encoded_number!(u8, u16, u32, u64, i16, i32, i64);

macro_rules! encoded_id {
    ($($id:ident),*) => { $(
        impl Encoded for $id {
            const BYTES_MIN: usize = size_of::<$id>();
            fn encode(&self, to: &mut Writer) {
                self.0.encode(to);
            }
            fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok($id(from.take()?))
            }
        }
    )* };
}
encoded_id!(
    AppliedIndex,
    BrokerEpoch,
    BrokerId,
    ExtentDigest,
    FileNumber,
    GroupEpoch,
    GroupGeneration,
    Incarnation,
    LaneId,
    LaneSequence,
    LeaderEpoch,
    Offset,
    PartitionId,
    PartitionIndex,
    ProducerId,
    TimestampMs,
    TopicId
);

/// Declares structs and, in the order of their fields, their encodings.
macro_rules! encoded {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty ),* $(,)?
        }
    )*) => { $(
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        $vis struct $name {
            $( $(#[$field_meta])* $field_vis $field: $type ),*
        }
        $crate::codec::encoded_fields!($name { $($field: $type),* });
    )* };
}
pub(crate) use encoded;

/// Gives a struct declared elsewhere its encoding: its fields in the order named here.
macro_rules! encoded_fields {
    ($name:ident { $($field:ident : $type:ty),* $(,)? }) => {
        impl $crate::codec::Encoded for $name {
            const BYTES_MIN: usize =
                0 $( + <$type as $crate::codec::Encoded>::BYTES_MIN )*;
            fn encode(&self, to: &mut $crate::codec::Writer) {
                $( $crate::codec::Encoded::encode(&self.$field, to); )*
                let _ = to;
            }
            fn decode(
                from: &mut $crate::codec::Reader<'_>,
            ) -> Result<Self, $crate::codec::DecodeError> {
                let _ = &from;
                Ok(Self { $( $field: from.take()? ),* })
            }
        }
    };
}
pub(crate) use encoded_fields;

encoded_fields!(LaneKey { broker: BrokerId, epoch: BrokerEpoch, lane: LaneId });
encoded_fields!(ObjectId { incarnation: Incarnation, lane: LaneKey, sequence: LaneSequence });
encoded_fields!(FileId {
    incarnation: Incarnation,
    lane: LaneKey,
    number: FileNumber,
    sequence: u64
});
encoded_fields!(Location { file: FileId, position: u64, length: u32 });

impl Encoded for bool {
    const BYTES_MIN: usize = 1;

    fn encode(&self, to: &mut Writer) {
        to.put(&u8::from(*self));
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match from.take::<u8>()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(from.error("flag", "is neither 0 nor 1")),
        }
    }
}

impl Encoded for Uuid {
    const BYTES_MIN: usize = 16;

    fn encode(&self, to: &mut Writer) {
        to.0.extend_from_slice(self.as_bytes());
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self::from_bytes(from.array()?))
    }
}

impl Encoded for Bytes {
    const BYTES_MIN: usize = 4;

    fn encode(&self, to: &mut Writer) {
        to.count(self.len());
        to.0.extend_from_slice(self);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let length = from.count(1)?;
        Ok(Self::copy_from_slice(from.slice(length)?))
    }
}

impl Encoded for String {
    const BYTES_MIN: usize = 4;

    fn encode(&self, to: &mut Writer) {
        to.count(self.len());
        to.0.extend_from_slice(self.as_bytes());
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let length = from.count(1)?;
        let bytes = from.slice(length)?;
        match str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(from.error("string", "is not UTF-8")),
        }
    }
}

impl<T: Encoded> Encoded for Option<T> {
    const BYTES_MIN: usize = 1;

    fn encode(&self, to: &mut Writer) {
        to.put(&self.is_some());
        if let Some(value) = self {
            to.put(value);
        }
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(if from.take()? { Some(from.take()?) } else { None })
    }
}

impl<T: Encoded> Encoded for Vec<T> {
    const BYTES_MIN: usize = 4;

    fn encode(&self, to: &mut Writer) {
        to.count(self.len());
        for item in self {
            to.put(item);
        }
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = from.count(T::BYTES_MIN)?;
        let mut items = Self::with_capacity(count);
        for _ in 0..count {
            items.push(from.take()?);
        }
        Ok(items)
    }
}

impl<A: Encoded, B: Encoded> Encoded for (A, B) {
    const BYTES_MIN: usize = A::BYTES_MIN + B::BYTES_MIN;

    fn encode(&self, to: &mut Writer) {
        to.put(&self.0);
        to.put(&self.1);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok((from.take()?, from.take()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_beyond_the_remaining_bytes_is_refused_before_it_allocates() {
        let lying = [0xff, 0xff, 0xff, 0x7f, 1, 2, 3];
        assert!(from_bytes::<Vec<u64>>(&lying).is_err());
        assert!(from_bytes::<Bytes>(&lying).is_err());
        assert!(from_bytes::<String>(&lying).is_err());
    }

    #[test]
    fn trailing_bytes_are_refused() {
        assert_eq!(from_bytes::<u16>(&[1, 0]), Ok(1));
        assert!(from_bytes::<u16>(&[1, 0, 0]).is_err());
        assert!(from_bytes::<u16>(&[1]).is_err());
    }

    #[test]
    fn values_survive_the_round_trip() {
        let value = (Some("a".to_owned()), vec![(1u32, Bytes::from_static(b"xyz"))]);
        assert_eq!(from_bytes::<(Option<String>, Vec<(u32, Bytes)>)>(&to_bytes(&value)), Ok(value));
        assert!(from_bytes::<bool>(&[2]).is_err());
        assert!(from_bytes::<String>(&[1, 0, 0, 0, 0xff]).is_err());
    }
}
