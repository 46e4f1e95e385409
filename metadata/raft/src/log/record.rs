//! What the frames of a Raft log segment hold, as bytes (docs/formats/raft-log.md).
//!
//! - `Start` opens every segment and repeats all that must survive the removal of older segments:
//!   whose log this is, term, vote, commit, membership, and where the log stands.
//! - `Append` is one group commit: the hard state and any number of entries.
//! - `Membership` is the membership from an index on.
//!
//! All numbers are little-endian. Kinds are never renumbered; a new field means a new kind.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use raft::eraftpb::{ConfState, Entry, EntryType, HardState};
use tidemill_base::Incarnation;
use tidemill_base::ids::Uuid;

use crate::log::LogPosition;

const KIND_START: u8 = 1;
const KIND_APPEND: u8 = 2;
const KIND_MEMBERSHIP: u8 = 3;

/// The version of the format that `Start` names.
const FORMAT: u16 = 1;

/// Members a membership may name. A cluster has a handful; more means damaged bytes.
const MEMBERS_MAX: usize = 1024;

/// The fixed part of an entry: term, kind, lengths of context and data.
const ENTRY_HEAD_BYTES: usize = 8 + 1 + 4 + 4;

/// Whose log it is. Never changes once written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogIdentity {
    /// The cluster.
    pub cluster_id: Uuid,
    /// The life of the cluster.
    pub incarnation: Incarnation,
    /// This member's number in the quorum, from 1.
    pub node_id: u64,
}

/// The first record of a segment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Start {
    pub(crate) identity: LogIdentity,
    /// The segment's own number, to notice a file under a wrong name.
    pub(crate) segment: u64,
    /// The last entry known durable in older segments. Entries above it may be there too.
    pub(crate) proven: LogPosition,
    /// Whether older segments are void, because a snapshot up to `proven` took their place.
    pub(crate) fresh: bool,
    pub(crate) hard_state: HardState,
    pub(crate) membership: Membership,
}

/// One group commit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Append {
    pub(crate) hard_state: HardState,
    /// Consecutive by index; they replace what has the same or a later index.
    pub(crate) entries: Vec<Entry>,
}

/// Who the members are, from `index` on.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Membership {
    pub(crate) index: u64,
    pub(crate) members: ConfState,
}

/// Any record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LogRecord {
    Start(Box<Start>),
    Append(Append),
    Membership(Membership),
}

/// Why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The record ends before its fields do.
    #[error("the record is too short")]
    Short,
    /// Bytes follow the last field.
    #[error("bytes follow the record")]
    Long,
    /// A kind this program does not know.
    #[error("unknown record kind {0}")]
    Kind(u8),
    /// A format this program does not know.
    #[error("unknown format {0}")]
    Format(u16),
    /// An entry kind this program does not know.
    #[error("unknown entry kind {0}")]
    EntryKind(u8),
    /// A count or flag out of range.
    #[error("a field is out of range")]
    Range,
}

impl Start {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(160);
        out.put_u8(KIND_START);
        out.put_u16_le(FORMAT);
        out.put_slice(self.identity.cluster_id.as_bytes());
        out.put_u32_le(self.identity.incarnation.0);
        out.put_u64_le(self.identity.node_id);
        out.put_u64_le(self.segment);
        out.put_u64_le(self.proven.index);
        out.put_u64_le(self.proven.term);
        out.put_u8(u8::from(self.fresh));
        put_hard_state(&mut out, &self.hard_state);
        put_membership(&mut out, &self.membership);
        out.freeze()
    }

    fn decode(bytes: &mut Bytes) -> Result<Self, RecordError> {
        let format = u16_le(bytes)?;
        if format != FORMAT {
            return Err(RecordError::Format(format));
        }
        let mut cluster_id = [0; 16];
        bytes.try_copy_to_slice(&mut cluster_id).map_err(|_| RecordError::Short)?;
        let identity = LogIdentity {
            cluster_id: Uuid::from_bytes(cluster_id),
            incarnation: Incarnation(u32_le(bytes)?),
            node_id: u64_le(bytes)?,
        };
        let segment = u64_le(bytes)?;
        let proven = LogPosition { index: u64_le(bytes)?, term: u64_le(bytes)? };
        let fresh = flag(bytes)?;
        let hard_state = hard_state(bytes)?;
        let membership = membership(bytes)?;
        Ok(Self { identity, segment, proven, fresh, hard_state, membership })
    }
}

impl Append {
    /// Encodes without taking the entries: they are shared with the Raft core.
    pub(crate) fn encode(hard_state: &HardState, entries: &[Entry]) -> Bytes {
        let mut out = BytesMut::with_capacity(64 + entries_bytes(entries));
        out.put_u8(KIND_APPEND);
        put_hard_state(&mut out, hard_state);
        out.put_u64_le(entries.first().map_or(0, |entry| entry.index));
        out.put_u32_le(entries.len() as u32);
        for entry in entries {
            out.put_u64_le(entry.term);
            out.put_u8(entry_kind(entry.entry_type));
            out.put_u32_le(entry.context.len() as u32);
            out.put_u32_le(entry.data.len() as u32);
            out.put_slice(&entry.context);
            out.put_slice(&entry.data);
        }
        out.freeze()
    }

    fn decode(bytes: &mut Bytes) -> Result<Self, RecordError> {
        let hard_state = hard_state(bytes)?;
        let first_index = u64_le(bytes)?;
        let count = u32_le(bytes)? as usize;
        if count > bytes.remaining() / ENTRY_HEAD_BYTES {
            return Err(RecordError::Short);
        }
        if first_index.checked_add(count as u64).is_none() || (count > 0 && first_index == 0) {
            return Err(RecordError::Range);
        }
        let mut entries = Vec::with_capacity(count);
        for index in first_index..first_index + count as u64 {
            let term = u64_le(bytes)?;
            let entry_type = entry_type(u8_of(bytes)?)?;
            let context_bytes = u32_le(bytes)? as usize;
            let data_bytes = u32_le(bytes)? as usize;
            let context = slice(bytes, context_bytes)?;
            let data = slice(bytes, data_bytes)?;
            entries.push(Entry { entry_type, term, index, data, context, ..Entry::default() });
        }
        Ok(Self { hard_state, entries })
    }
}

impl Membership {
    /// The membership a cluster begins with.
    pub(crate) fn of_voters(voters: Vec<u64>) -> Self {
        Self { index: 0, members: ConfState { voters, ..ConfState::default() } }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(64);
        out.put_u8(KIND_MEMBERSHIP);
        put_membership(&mut out, self);
        out.freeze()
    }
}

impl LogRecord {
    /// Decodes one record; entries share `bytes`.
    pub(crate) fn decode(mut bytes: Bytes) -> Result<Self, RecordError> {
        let bytes = &mut bytes;
        let record = match u8_of(bytes)? {
            KIND_START => Self::Start(Box::new(Start::decode(bytes)?)),
            KIND_APPEND => Self::Append(Append::decode(bytes)?),
            KIND_MEMBERSHIP => Self::Membership(membership(bytes)?),
            kind => return Err(RecordError::Kind(kind)),
        };
        if bytes.has_remaining() { Err(RecordError::Long) } else { Ok(record) }
    }
}

/// How many bytes `entries` take in a record.
pub(crate) fn entries_bytes(entries: &[Entry]) -> usize {
    entries.iter().map(|entry| ENTRY_HEAD_BYTES + entry.context.len() + entry.data.len()).sum()
}

fn put_hard_state(out: &mut BytesMut, state: &HardState) {
    out.put_u64_le(state.term);
    out.put_u64_le(state.vote);
    out.put_u64_le(state.commit);
}

fn hard_state(bytes: &mut Bytes) -> Result<HardState, RecordError> {
    let (term, vote, commit) = (u64_le(bytes)?, u64_le(bytes)?, u64_le(bytes)?);
    Ok(HardState { term, vote, commit, ..HardState::default() })
}

fn put_membership(out: &mut BytesMut, membership: &Membership) {
    let members = &membership.members;
    out.put_u64_le(membership.index);
    for ids in
        [&members.voters, &members.learners, &members.voters_outgoing, &members.learners_next]
    {
        out.put_u16_le(ids.len() as u16);
        for id in ids {
            out.put_u64_le(*id);
        }
    }
    out.put_u8(u8::from(members.auto_leave));
}

fn membership(bytes: &mut Bytes) -> Result<Membership, RecordError> {
    let index = u64_le(bytes)?;
    let members = ConfState {
        voters: member_ids(bytes)?,
        learners: member_ids(bytes)?,
        voters_outgoing: member_ids(bytes)?,
        learners_next: member_ids(bytes)?,
        auto_leave: flag(bytes)?,
        ..ConfState::default()
    };
    Ok(Membership { index, members })
}

fn member_ids(bytes: &mut Bytes) -> Result<Vec<u64>, RecordError> {
    let count = u16_le(bytes)? as usize;
    if count > MEMBERS_MAX {
        return Err(RecordError::Range);
    }
    (0..count).map(|_| u64_le(bytes)).collect()
}

fn entry_kind(entry_type: EntryType) -> u8 {
    match entry_type {
        EntryType::EntryNormal => 0,
        EntryType::EntryConfChange => 1,
        EntryType::EntryConfChangeV2 => 2,
    }
}

fn entry_type(kind: u8) -> Result<EntryType, RecordError> {
    match kind {
        0 => Ok(EntryType::EntryNormal),
        1 => Ok(EntryType::EntryConfChange),
        2 => Ok(EntryType::EntryConfChangeV2),
        _ => Err(RecordError::EntryKind(kind)),
    }
}

fn u8_of(bytes: &mut Bytes) -> Result<u8, RecordError> {
    bytes.try_get_u8().map_err(|_| RecordError::Short)
}

fn u16_le(bytes: &mut Bytes) -> Result<u16, RecordError> {
    bytes.try_get_u16_le().map_err(|_| RecordError::Short)
}

fn u32_le(bytes: &mut Bytes) -> Result<u32, RecordError> {
    bytes.try_get_u32_le().map_err(|_| RecordError::Short)
}

fn u64_le(bytes: &mut Bytes) -> Result<u64, RecordError> {
    bytes.try_get_u64_le().map_err(|_| RecordError::Short)
}

fn flag(bytes: &mut Bytes) -> Result<bool, RecordError> {
    match u8_of(bytes)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(RecordError::Range),
    }
}

fn slice(bytes: &mut Bytes, length: usize) -> Result<Bytes, RecordError> {
    if length > bytes.remaining() { Err(RecordError::Short) } else { Ok(bytes.split_to(length)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn start() -> Start {
        Start {
            identity: LogIdentity {
                cluster_id: Uuid::from_u128(0x0102_0304),
                incarnation: Incarnation(3),
                node_id: 1,
            },
            segment: 9,
            proven: LogPosition { index: 41, term: 2 },
            fresh: false,
            hard_state: HardState { term: 2, vote: 1, commit: 40, ..HardState::default() },
            membership: Membership {
                index: 0,
                members: ConfState { voters: vec![1], ..ConfState::default() },
            },
        }
    }

    fn entry(index: u64, data: &'static [u8]) -> Entry {
        Entry { index, term: 2, data: Bytes::from_static(data), ..Entry::default() }
    }

    #[test]
    fn records_survive_encoding() {
        let start = start();
        let decoded = LogRecord::decode(start.encode()).unwrap();
        assert_eq!(decoded, LogRecord::Start(Box::new(start.clone())));
        let entries = vec![entry(42, b"one"), entry(43, b"")];
        let bytes = Append::encode(&start.hard_state, &entries);
        let append = Append { hard_state: start.hard_state.clone(), entries };
        assert_eq!(LogRecord::decode(bytes).unwrap(), LogRecord::Append(append));
        let bytes = start.membership.encode();
        assert_eq!(LogRecord::decode(bytes).unwrap(), LogRecord::Membership(start.membership));
    }

    /// The bytes of format 1, kept for ever: a log written by any release stays readable.
    #[test]
    fn format_1_is_frozen() {
        let start = start();
        let hex = |bytes: Bytes| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        assert_eq!(
            hex(start.encode()),
            "010100000000000000000000000000010203040300000001000000000000000900000000000000\
             290000000000000002000000000000000002000000000000000100000000000000280000000000\
             0000000000000000000001000100000000000000000000000000\
             00"
        );
        assert_eq!(
            hex(Append::encode(&start.hard_state, &[entry(42, b"ab")])),
            "02020000000000000001000000000000002800000000000000\
             2a0000000000000001000000\
             020000000000000000000000000200000061\
             62"
        );
    }

    #[test]
    fn a_count_beyond_the_bytes_is_refused_before_allocating() {
        let mut bytes = BytesMut::from(&Append::encode(&HardState::default(), &[])[..]);
        let end = bytes.len();
        bytes[end - 12] = 1;
        bytes[end - 4..].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(LogRecord::decode(bytes.freeze()), Err(RecordError::Short));
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_fail(kind in 0u8..5, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut framed = vec![kind];
            framed.extend(bytes);
            let _ = LogRecord::decode(Bytes::from(framed));
        }

        #[test]
        fn truncated_records_are_refused(cut in 0usize..100) {
            let bytes = start().encode();
            let cut = cut.min(bytes.len() - 1);
            prop_assert!(LogRecord::decode(bytes.slice(..cut)).is_err());
        }
    }
}
