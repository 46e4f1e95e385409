//! P5 for consumer groups: offsets never go back and are committed wholly or not at all, every partition
//! has one owner in a generation, and generations never go back.
//!
//! Checked with each answer. What an answer must honour is what was known *before* its request was sent
//! ([`GroupLedger::known`]): requests of several members overlap, and a lost answer promises nothing.
//! Members read on from what is committed, so that a group never has a reason to commit less than before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tidemill_kafka::ErrorCode;

/// A partition of a lasting topic.
pub type Part = (&'static str, i32);
/// Positions by partition.
pub type Positions = BTreeMap<Part, i64>;

/// What a group had promised at some moment.
#[derive(Clone, Debug)]
pub struct Known {
    /// The newest generation of which a member was given its part; 0 before the first.
    pub generation: i32,
    /// The highest offsets that were acknowledged or read.
    offsets: Positions,
}

/// All that members of the group asked and were answered. Clones share it.
#[derive(Clone, Default)]
pub struct GroupLedger {
    noted: Arc<Mutex<Noted>>,
}

#[derive(Default)]
struct Noted {
    generation: i32,
    offsets: Positions,
    /// Commits that may have happened, acknowledged or not, each as it was sent.
    sent: Vec<Positions>,
    /// Which of them brought an offset. Only one's neighbours can be told from it.
    senders: BTreeMap<(Part, i64), Vec<usize>>,
    /// What leaders handed in for a member. A generation may be planned twice: its first plan is lost
    /// if the node dies before the plan is recorded.
    plans: BTreeMap<(i32, String), BTreeSet<Vec<Part>>>,
    /// Who was given a partition.
    owners: BTreeMap<(i32, Part), String>,
}

impl GroupLedger {
    /// What is promised now.
    #[must_use]
    pub fn known(&self) -> Known {
        let noted = self.noted.lock();
        Known { generation: noted.generation, offsets: noted.offsets.clone() }
    }

    /// A leader is about to hand in what it assigns to a member.
    pub fn plan(&self, generation: i32, member: &str, parts: Vec<Part>) {
        let mut noted = self.noted.lock();
        noted.plans.entry((generation, member.to_owned())).or_default().insert(parts);
    }

    /// A commit is about to be sent.
    pub fn sending(&self, positions: &Positions) {
        let mut noted = self.noted.lock();
        let number = noted.sent.len();
        noted.sent.push(positions.clone());
        for (part, offset) in positions {
            noted.senders.entry((*part, *offset)).or_default().push(number);
        }
    }

    /// A member was given its part of a generation.
    ///
    /// # Errors
    /// What that violates.
    pub fn assigned(
        &self,
        before: &Known,
        generation: i32,
        member: &str,
        parts: &[Part],
    ) -> Result<(), String> {
        is_present(before, generation, "assigned partitions")?;
        let mut noted = self.noted.lock();
        noted.generation = noted.generation.max(generation);
        for part in parts {
            let owner =
                noted.owners.entry((generation, *part)).or_insert_with(|| member.to_owned());
            if owner != member {
                return Err(format!(
                    "P5: in generation {generation} {part:?} was given to {owner} and to {member}"
                ));
            }
        }
        let plans = noted.plans.get(&(generation, member.to_owned()));
        if plans.is_none_or(|plans| !plans.contains(parts)) {
            return Err(format!(
                "P5: in generation {generation} {member} was given {parts:?}, its leader said {plans:?}"
            ));
        }
        Ok(())
    }

    /// A commit was answered, with a code for each partition. Returns whether it was accepted.
    ///
    /// # Errors
    /// What that violates.
    pub fn committed(
        &self,
        before: &Known,
        generation: i32,
        positions: &Positions,
        codes: &[ErrorCode],
    ) -> Result<bool, String> {
        if codes.iter().all(|code| code.is_error()) {
            return Ok(false);
        }
        if codes.iter().any(|code| code.is_error()) {
            return Err(format!("P5: a commit of {positions:?} was answered in parts: {codes:?}"));
        }
        is_present(before, generation, "committed offsets")?;
        self.noted.lock().raise(positions);
        Ok(true)
    }

    /// Committed offsets were read, of all partitions at once; -1 where there is none.
    ///
    /// # Errors
    /// What that violates.
    pub fn read(&self, before: &Known, positions: &Positions) -> Result<(), String> {
        let mut noted = self.noted.lock();
        for (part, floor) in &before.offsets {
            let read = positions.get(part).copied().unwrap_or(-1);
            if read < *floor {
                return Err(format!(
                    "P5: {floor} was committed for {part:?}, {read} is read later"
                ));
            }
        }
        for (part, offset) in positions.iter().filter(|(_, offset)| **offset >= 0) {
            let senders = noted.senders.get(&(*part, *offset));
            let Some(senders) = senders else {
                return Err(format!("P5: {offset} is read for {part:?}, which nobody committed"));
            };
            let [sender] = senders.as_slice() else { continue };
            let lacks =
                |(part, sent): &(&Part, &i64)| positions.get(*part).is_some_and(|o| o < sent);
            if let Some((lacking, sent)) = noted.sent[*sender].iter().find(lacks) {
                return Err(format!(
                    "P5: {offset} is read for {part:?}, not {sent} for {lacking:?} of the same commit"
                ));
            }
        }
        noted.raise(positions);
        Ok(())
    }
}

impl Noted {
    fn raise(&mut self, positions: &Positions) {
        for (part, offset) in positions {
            let highest = self.offsets.entry(*part).or_insert(*offset);
            *highest = (*highest).max(*offset);
        }
    }
}

/// Checks that something was granted to a generation that was not over before it was asked for.
///
/// # Errors
/// That it was over.
pub fn is_present(before: &Known, generation: i32, what: &str) -> Result<(), String> {
    match generation < before.generation {
        false => Ok(()),
        true => Err(format!(
            "P5: generation {generation} {what} after generation {} had begun",
            before.generation
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Part = ("a", 0);
    const B: Part = ("a", 1);

    #[test]
    fn offsets_that_go_back_come_from_nowhere_or_come_in_parts_are_told() {
        let ledger = GroupLedger::default();
        let nothing = ledger.known();
        let (first, second) = (Positions::from([(A, 5)]), Positions::from([(A, 7), (B, 3)]));
        ledger.sending(&first);
        assert_eq!(ledger.committed(&nothing, 1, &first, &[ErrorCode::NONE]), Ok(true));
        assert!(ledger.read(&nothing, &Positions::from([(A, -1), (B, -1)])).is_ok(), "it overlaps");
        let before = ledger.known();
        assert!(ledger.read(&before, &Positions::from([(A, 4), (B, -1)])).is_err());
        assert!(ledger.read(&before, &Positions::from([(A, 6), (B, -1)])).is_err());
        ledger.sending(&second);
        assert!(ledger.read(&before, &Positions::from([(A, 7), (B, -1)])).is_err());
        assert!(ledger.read(&before, &Positions::from([(A, 7), (B, 3)])).is_ok());
        let mixed = [ErrorCode::NONE, ErrorCode::COORDINATOR_NOT_AVAILABLE];
        assert!(ledger.committed(&before, 1, &second, &mixed).is_err());
    }

    #[test]
    fn a_partition_has_one_owner_in_a_generation_and_older_generations_are_over() {
        let ledger = GroupLedger::default();
        let nothing = ledger.known();
        ledger.plan(2, "m", vec![A]);
        ledger.plan(2, "n", vec![A]);
        assert!(ledger.assigned(&nothing, 2, "m", &[B]).is_err(), "nobody planned that");
        let ledger = GroupLedger::default();
        ledger.plan(2, "m", vec![A]);
        ledger.plan(2, "n", vec![A]);
        assert_eq!(ledger.assigned(&nothing, 2, "m", &[A]), Ok(()));
        assert_eq!(ledger.assigned(&nothing, 2, "m", &[A]), Ok(()));
        assert!(ledger.assigned(&nothing, 2, "n", &[A]).is_err());
        let old = Positions::from([(A, 1)]);
        assert!(ledger.committed(&nothing, 1, &old, &[ErrorCode::NONE]).is_ok(), "it overlaps");
        assert!(ledger.committed(&ledger.known(), 1, &old, &[ErrorCode::NONE]).is_err());
    }
}
