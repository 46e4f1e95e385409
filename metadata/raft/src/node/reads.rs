//! Reads that wait for the leader to confirm that it still leads, and then for the apply.

use std::collections::BTreeMap;

use tidemill_base::AppliedIndex;
use tokio::sync::oneshot;

type Reader = oneshot::Sender<AppliedIndex>;

/// Reads under way. One request to the Raft core carries all that came meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    waiting: Vec<Reader>,
    asked: BTreeMap<u64, Vec<Reader>>,
    /// By the index that has to be applied first.
    confirmed: BTreeMap<u64, Vec<Reader>>,
    last_context: u64,
}

impl Reads {
    pub(crate) fn add(&mut self, reader: Reader) {
        self.waiting.push(reader);
    }

    /// The context of a request to make now, if anyone waits.
    pub(crate) fn ask(&mut self) -> Option<Vec<u8>> {
        if self.waiting.is_empty() {
            return None;
        }
        self.last_context += 1;
        self.asked.insert(self.last_context, std::mem::take(&mut self.waiting));
        Some(self.last_context.to_le_bytes().to_vec())
    }

    /// Requests may get lost: those not confirmed are made again.
    pub(crate) fn ask_again(&mut self) {
        for (_, readers) in std::mem::take(&mut self.asked) {
            self.waiting.extend(readers);
        }
        self.waiting.retain(|reader| !reader.is_closed());
    }

    /// The leader confirmed a request: what is applied at `index` is current.
    pub(crate) fn confirm(&mut self, context: &[u8], index: u64) {
        let Ok(context) = <[u8; 8]>::try_from(context) else { return };
        if let Some(readers) = self.asked.remove(&u64::from_le_bytes(context)) {
            self.confirmed.entry(index).or_default().extend(readers);
        }
    }

    /// Answers those whose index is applied.
    pub(crate) fn answer(&mut self, raft_applied: u64, state_applied: AppliedIndex) {
        while let Some(first) = self.confirmed.first_entry() {
            if *first.key() > raft_applied {
                return;
            }
            for reader in first.remove() {
                // Whoever asked may have gone.
                let _ = reader.send(state_applied);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_answered_once_its_index_is_confirmed_and_applied() {
        let mut reads = Reads::default();
        let (sender, mut receiver) = oneshot::channel();
        reads.add(sender);
        let lost = reads.ask().unwrap();
        assert!(reads.ask().is_none(), "nobody else waits");
        reads.ask_again();
        let context = reads.ask().unwrap();
        reads.confirm(&lost, 3);
        reads.confirm(&context, 7);
        reads.answer(6, AppliedIndex(6));
        assert!(receiver.try_recv().is_err());
        reads.answer(7, AppliedIndex(7));
        assert_eq!(receiver.try_recv().unwrap(), AppliedIndex(7));
    }
}
