//! The attribute bits of a batch.

use crate::codec::Codec;
use crate::error::RecordsError;

const CODEC_MASK: i16 = 0x07;
const LOG_APPEND_TIME: i16 = 1 << 3;
const TRANSACTIONAL: i16 = 1 << 4;
const CONTROL: i16 = 1 << 5;
const DELETE_HORIZON: i16 = 1 << 6;

/// Who sets the timestamps of a batch's records.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum TimestampType {
    /// The producer: each record has its own.
    #[default]
    CreateTime,
    /// The broker: all records have the batch's max timestamp.
    LogAppendTime,
}

/// The attributes of a batch. Bits that Kafka does not define are carried and ignored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Attributes(pub i16);

impl Attributes {
    /// The codec.
    ///
    /// # Errors
    /// [`RecordsError::UnknownCodec`] for a number that Kafka does not define.
    pub fn codec(self) -> Result<Codec, RecordsError> {
        Codec::from_id((self.0 & CODEC_MASK) as u8)
    }

    /// Who set the timestamps.
    #[must_use]
    pub fn timestamp_type(self) -> TimestampType {
        if self.0 & LOG_APPEND_TIME == 0 {
            TimestampType::CreateTime
        } else {
            TimestampType::LogAppendTime
        }
    }

    /// Whether the batch belongs to a transaction.
    #[must_use]
    pub fn is_transactional(self) -> bool {
        self.0 & TRANSACTIONAL != 0
    }

    /// Whether the batch holds a control record (a transaction marker), not data.
    #[must_use]
    pub fn is_control(self) -> bool {
        self.0 & CONTROL != 0
    }

    /// Whether the base timestamp is a delete horizon, set by compaction.
    #[must_use]
    pub fn has_delete_horizon(self) -> bool {
        self.0 & DELETE_HORIZON != 0
    }

    /// The same with this codec.
    #[must_use]
    pub fn with_codec(self, codec: Codec) -> Self {
        Self(self.0 & !CODEC_MASK | i16::from(codec.id()))
    }

    /// The same with the timestamp type LogAppendTime.
    #[must_use]
    pub fn with_log_append_time(self) -> Self {
        Self(self.0 | LOG_APPEND_TIME)
    }

    /// The same, belonging to a transaction.
    #[must_use]
    pub fn with_transactional(self) -> Self {
        Self(self.0 | TRANSACTIONAL)
    }

    /// The same, holding a control record.
    #[must_use]
    pub fn with_control(self) -> Self {
        Self(self.0 | CONTROL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_stand_where_kafka_puts_them() {
        let all = Attributes(0)
            .with_codec(Codec::Zstd)
            .with_log_append_time()
            .with_transactional()
            .with_control();
        assert_eq!(all, Attributes(0b11_1100));
        assert_eq!(all.codec(), Ok(Codec::Zstd));
        assert_eq!(all.timestamp_type(), TimestampType::LogAppendTime);
        assert!(all.is_transactional() && all.is_control() && !all.has_delete_horizon());
        assert!(Attributes(64).has_delete_horizon());
        assert_eq!(all.with_codec(Codec::None).codec(), Ok(Codec::None));
    }

    #[test]
    fn undefined_codecs_are_refused() {
        for id in 5..8 {
            assert_eq!(Attributes(id).codec(), Err(RecordsError::UnknownCodec { id: id as u8 }));
        }
    }
}
