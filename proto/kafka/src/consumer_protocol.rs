//! The consumer protocol: what members of a consumer group tell each other inside the bytes of
//! JoinGroup and SyncGroup. The broker never needs to look inside; clients and tools do.
//!
//! Each message is a version (`i16`) and the message in it. A reader takes a version newer than it
//! knows for the newest that it knows, because newer versions only add fields at the end.

use bytes::Bytes;

use crate::decode_error::{DecodeError, DecodeReason};
use crate::encode_error::EncodeError;
use crate::kstring::KString;
use crate::message::Message;
use crate::reader::Reader;
use crate::writer::Writer;

/// The protocol type under which consumers join a group.
pub const PROTOCOL_TYPE: &str = "consumer";

messages! {
    /// What a member wants to read: the metadata of its JoinGroup request.
    message ConsumerProtocolSubscription, versions 0..=3, flexible never {
        /// The topics.
        topics: Vec<KString> [0..],
        /// Bytes of the assignor.
        user_data: Option<Bytes> [0..] null [0..],
        /// What the member has from before, for cooperative assignors.
        owned_partitions: Vec<TopicPartitions> [1..],
        /// The generation in which it got that; -1 if none.
        generation_id: i32 [2..] = -1,
        /// The member's rack.
        rack_id: Option<KString> [3..] null [3..],
    }

    /// What a member is to read: its assignment in SyncGroup.
    message ConsumerProtocolAssignment, versions 0..=3, flexible never {
        /// The partitions.
        assigned_partitions: Vec<TopicPartitions> [0..],
        /// Bytes of the assignor.
        user_data: Option<Bytes> [0..] null [0..],
    }

    /// Partitions of a topic.
    struct TopicPartitions {
        /// The topic's name.
        topic: KString [0..],
        /// Its partitions.
        partitions: Vec<i32> [0..],
    }
}

fn decode_embedded<M: Message>(bytes: Bytes) -> Result<M, DecodeError> {
    let mut r = Reader::new(bytes);
    let version = r.i16().map_err(|e| e.in_field(M::NAME))?;
    if version < *M::VERSIONS.start() {
        return Err(r.error(DecodeReason::UnsupportedVersion).in_field(M::NAME));
    }
    M::decode(&mut r, version.min(*M::VERSIONS.end()))
}

fn encode_embedded<M: Message>(message: &M, version: i16) -> Result<Bytes, EncodeError> {
    let mut w = Writer::new();
    w.i16(version);
    message.encode(&mut w, version);
    w.finish_body()
}

impl ConsumerProtocolSubscription {
    /// Reads the version and the subscription.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are not a subscription, `Invalid` if the version is negative.
    pub fn from_bytes(bytes: Bytes) -> Result<Self, DecodeError> {
        decode_embedded(bytes)
    }

    /// The version and the subscription.
    ///
    /// # Errors
    /// `Invalid` if there is no such version or a name is too long.
    pub fn to_bytes(&self, version: i16) -> Result<Bytes, EncodeError> {
        encode_embedded(self, version)
    }
}

impl ConsumerProtocolAssignment {
    /// Reads the version and the assignment.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are not an assignment, `Invalid` if the version is negative.
    pub fn from_bytes(bytes: Bytes) -> Result<Self, DecodeError> {
        decode_embedded(bytes)
    }

    /// The version and the assignment.
    ///
    /// # Errors
    /// `Invalid` if there is no such version or a name is too long.
    pub fn to_bytes(&self, version: i16) -> Result<Bytes, EncodeError> {
        encode_embedded(self, version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_versions_are_read_as_the_newest_known() {
        let assignment = ConsumerProtocolAssignment {
            assigned_partitions: vec![TopicPartitions { topic: "t".into(), partitions: vec![3] }],
            user_data: None,
        };
        let mut bytes = assignment.to_bytes(3).unwrap().to_vec();
        bytes[1] = 9;
        bytes.extend_from_slice(b"a field of the future");
        assert_eq!(ConsumerProtocolAssignment::from_bytes(bytes.into()), Ok(assignment));
    }

    #[test]
    fn negative_versions_are_refused() {
        let error = ConsumerProtocolSubscription::from_bytes(Bytes::from_static(&[0xff, 0xff, 0]))
            .unwrap_err();
        assert_eq!(error.reason, DecodeReason::UnsupportedVersion);
    }
}
