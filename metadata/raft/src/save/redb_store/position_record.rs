//! The record of the saved position: applied index and term (u64 each, little-endian), a flag, then
//! the membership as the Raft log encodes it.

use bytes::{Buf, BufMut, Bytes};
use tidemill_base::ErrorKind;

use crate::error::StoreError;
use crate::log::LogPosition;
use crate::log::record::LogRecord;
use crate::save::state_store::SavedPosition;

pub(super) fn encode(position: &SavedPosition) -> Vec<u8> {
    let mut out = Vec::with_capacity(96);
    out.put_u64_le(position.applied.index);
    out.put_u64_le(position.applied.term);
    out.put_u8(u8::from(position.installed));
    out.put_slice(&position.membership.encode());
    out
}

pub(super) fn decode(record: &[u8]) -> Result<SavedPosition, StoreError> {
    let mut record = Bytes::copy_from_slice(record);
    let index = record.try_get_u64_le().map_err(|_| damaged())?;
    let term = record.try_get_u64_le().map_err(|_| damaged())?;
    let installed = match record.try_get_u8() {
        Ok(0) => false,
        Ok(1) => true,
        _ => return Err(damaged()),
    };
    let Ok(LogRecord::Membership(membership)) = LogRecord::decode(record) else {
        return Err(damaged());
    };
    Ok(SavedPosition { applied: LogPosition { index, term }, membership, installed })
}

fn damaged() -> StoreError {
    let reason = "the position record is damaged".to_owned();
    StoreError { operation: "load", reason, kind: ErrorKind::Corrupt }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Membership;

    #[test]
    fn a_position_survives_encoding_and_damage_is_noticed() {
        let applied = LogPosition { index: 7, term: 2 };
        let membership = Membership::of_voters(vec![1, 3]);
        let position = SavedPosition { applied, membership, installed: true };
        let record = encode(&position);
        assert_eq!(decode(&record).unwrap(), position);
        for cut in 0..record.len() {
            assert!(decode(&record[..cut]).is_err(), "{cut}");
        }
    }
}
