//! The compression codecs of a batch, by Kafka's numbers and names.

use std::fmt;

use crate::error::RecordsError;

/// How the records of a batch are compressed. The numbers are Kafka's and are stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Codec {
    /// As they are.
    #[default]
    None = 0,
    /// RFC 1952.
    Gzip = 1,
    /// Snappy blocks in xerial framing, or (read only) one raw block.
    Snappy = 2,
    /// An LZ4 frame with independent blocks.
    Lz4 = 3,
    /// Zstandard frames.
    Zstd = 4,
}

impl Codec {
    /// All codecs, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The codec with Kafka's number `id` (the low three bits of the attributes).
    ///
    /// # Errors
    /// [`RecordsError::UnknownCodec`] above 4.
    pub fn from_id(id: u8) -> Result<Self, RecordsError> {
        Self::ALL.get(usize::from(id)).copied().ok_or(RecordsError::UnknownCodec { id })
    }

    /// Kafka's number.
    #[must_use]
    pub fn id(self) -> u8 {
        self as u8
    }

    /// Kafka's name, as in `compression.type`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// The codec with Kafka's name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.name() == name)
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_lead_back_to_the_codec() {
        for codec in Codec::ALL {
            assert_eq!(Codec::from_id(codec.id()), Ok(codec));
            assert_eq!(Codec::from_name(codec.name()), Some(codec));
        }
        assert_eq!(Codec::from_id(5), Err(RecordsError::UnknownCodec { id: 5 }));
        assert_eq!(Codec::from_name("brotli"), None);
    }
}
