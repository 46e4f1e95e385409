//! Fuzz targets: plain functions over any bytes, which must not panic, hang or hold more memory than a
//! small multiple of their input.

use bytes::Bytes;

use crate::log::record::{Append, LogRecord};

/// Reads `data` as one record of the Raft log, and writes it again.
///
/// # Panics
/// If what was read is written as other bytes: a bug found.
pub fn fuzz_raft_record(data: &[u8]) {
    let Ok(record) = LogRecord::decode(Bytes::copy_from_slice(data)) else { return };
    let again = match &record {
        LogRecord::Start(start) => start.encode(),
        LogRecord::Append(append) => Append::encode(&append.hard_state, &append.entries),
        LogRecord::Membership(membership) => membership.encode(),
    };
    // A record without entries names no first index; only there may the bytes differ.
    let names_no_index = matches!(&record, LogRecord::Append(append) if append.entries.is_empty());
    assert!(names_no_index || again == data, "a record is read and written differently");
    assert_eq!(LogRecord::decode(again), Ok(record));
}

#[cfg(test)]
mod tests {
    use raft::eraftpb::{Entry, HardState};
    use tidemill_appendfile::twin::Dice;

    use super::*;
    use crate::log::Membership;

    #[test]
    fn records_survive_mutation() {
        let entry =
            Entry { index: 7, term: 2, data: Bytes::from_static(b"ab"), ..Entry::default() };
        let seeds = [
            Append::encode(&HardState::default(), &[entry.clone(), Entry { index: 8, ..entry }]),
            Membership::of_voters(vec![1, 2, 3]).encode(),
        ];
        let mut dice = Dice::new(1);
        for round in 0..40_000 {
            let mut mutated = seeds[round % 2].to_vec();
            for _ in 0..dice.below(3) {
                let at = dice.below(mutated.len() as u64) as usize;
                mutated[at] = dice.roll() as u8;
            }
            mutated.truncate(1 + dice.below(mutated.len() as u64 * 2) as usize);
            fuzz_raft_record(&mutated);
        }
    }
}
