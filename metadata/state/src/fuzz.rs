//! Fuzz targets: plain functions over bytes, which must neither panic nor allocate without bound.

use tidemill_base::{AppliedIndex, Incarnation, TimestampMs};
use uuid::Uuid;

use crate::command::Command;
use crate::save::SaveSet;
use crate::state::MetadataState;

/// Decodes a command. What decodes must encode to the same bytes, and must apply to an empty state.
pub fn fuzz_command(data: &[u8]) {
    if let Ok((proposed, command)) = Command::decode(data) {
        assert_eq!(command.encode(proposed), data, "a command has one encoding");
        let mut state = MetadataState::new(Uuid::nil(), Incarnation(1));
        let _ = state.apply(AppliedIndex(1), proposed, &command);
    }
}

/// Restores a state from records: a u16 length and a key, a u16 length and a value, and so on. What
/// can be restored must survive a tick and be saved as it was.
pub fn fuzz_snapshot(data: &[u8]) {
    let mut rest = data;
    let mut records = Vec::new();
    while let (Some(key), Some(value)) = (take(&mut rest), take(&mut rest)) {
        records.push((key, value));
    }
    if let Ok(mut state) = MetadataState::restore(records.iter().copied()) {
        let SaveSet { puts, .. } = state.snapshot();
        for (key, value) in records {
            let kept = puts.binary_search_by(|(put, _)| put.as_slice().cmp(key));
            assert!(kept.is_ok_and(|at| puts[at].1 == value), "what was restored is saved again");
        }
        let tick = Command::Tick(crate::command::Tick {});
        let _ = state.apply(state.applied_index(), TimestampMs(0), &tick);
        let _ = state.snapshot_events();
    }
}

/// The bytes that [`fuzz_snapshot`] reads, of a saved state.
#[must_use]
pub fn snapshot_bytes(set: &SaveSet) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in set.puts.iter().flat_map(|(key, value)| [key, value]) {
        let length = u16::try_from(part.len()).unwrap_or(u16::MAX);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&part[..usize::from(length)]);
    }
    bytes
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, tail) = rest.split_first_chunk::<2>()?;
    let (head, tail) = tail.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    *rest = tail;
    Some(head)
}

#[cfg(test)]
mod tests;
