//! What was seen of the events, and whether anything is wrong with it.
//!
//! A reader of a group may see an event again after a crash or a rebalance (it is delivered at least
//! once), but never a later event of a customer before an earlier one. Whoever reads a partition once
//! from the start must see every event exactly once.

use std::collections::BTreeMap;

use serde::Deserialize;

/// How many faults are described; the others are counted.
const FAULTS_TOLD_MAX: usize = 5;

/// What an event says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(crate) struct Seen {
    /// The customer.
    pub(crate) customer: String,
    /// The event's number among the customer's, from 1.
    pub(crate) n: u64,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    last: BTreeMap<String, u64>,
    distinct: u64,
    again: u64,
    faults: Vec<String>,
    faults_count: u64,
}

impl Seen {
    /// Understands an event.
    ///
    /// # Errors
    /// It is not one of the shop's.
    pub(crate) fn of(key: Option<&[u8]>, value: Option<&[u8]>) -> Result<Self, String> {
        let seen: Self = serde_json::from_slice(value.unwrap_or_default())
            .map_err(|error| format!("an event that cannot be read: {error}"))?;
        match key == Some(seen.customer.as_bytes()) {
            true => Ok(seen),
            false => Err(format!("an event of {} under another key", seen.customer)),
        }
    }
}

impl Tally {
    /// Takes note of an event.
    pub(crate) fn take(&mut self, seen: &Seen) {
        let last = match self.last.get_mut(&seen.customer) {
            Some(last) => last,
            None => self.last.entry(seen.customer.clone()).or_default(),
        };
        let expected = *last + 1;
        if seen.n == expected {
            *last = seen.n;
            self.distinct += 1;
        } else if seen.n < expected {
            self.again += 1;
        } else {
            *last = seen.n;
            self.distinct += 1;
            self.fault(format!(
                "{}: event {} was followed by event {}",
                seen.customer,
                expected - 1,
                seen.n
            ));
        }
    }

    /// Takes note of something that must not be.
    pub(crate) fn fault(&mut self, fault: String) {
        self.faults_count += 1;
        if self.faults.len() < FAULTS_TOLD_MAX {
            self.faults.push(fault);
        }
    }

    /// Events seen, each counted once.
    pub(crate) fn distinct(&self) -> u64 {
        self.distinct
    }

    /// Events seen again.
    pub(crate) fn again(&self) -> u64 {
        self.again
    }

    /// Customers seen.
    pub(crate) fn customers(&self) -> usize {
        self.last.len()
    }

    /// Whether every customer's events were seen up to the number given, and nothing was wrong.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(crate) fn verdict(&self, produced: &BTreeMap<String, u64>) -> Result<(), String> {
        let mut wrong = self.faults.clone();
        let mut count = self.faults_count;
        for (customer, events) in produced {
            let seen = self.last.get(customer).copied().unwrap_or(0);
            if seen != *events {
                count += 1;
                if wrong.len() < FAULTS_TOLD_MAX {
                    wrong.push(format!("{customer}: {events} events produced, {seen} seen"));
                }
            }
        }
        if count == 0 {
            return Ok(());
        }
        Err(format!("{count} faults, such as:\n  {}", wrong.join("\n  ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(events: &[(&str, u64)]) -> Tally {
        let mut tally = Tally::default();
        for (customer, n) in events {
            tally.take(&Seen { customer: (*customer).to_owned(), n: *n });
        }
        tally
    }

    fn produced(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
        counts.iter().map(|(customer, count)| ((*customer).to_owned(), *count)).collect()
    }

    #[test]
    fn every_event_once_in_order_is_right() {
        let tally = tally(&[("a", 1), ("b", 1), ("a", 2)]);
        assert_eq!(tally.verdict(&produced(&[("a", 2), ("b", 1)])), Ok(()));
        assert_eq!((tally.distinct(), tally.again(), tally.customers()), (3, 0, 2));
    }

    #[test]
    fn events_seen_again_are_counted_apart() {
        let tally = tally(&[("a", 1), ("a", 2), ("a", 1), ("a", 2), ("a", 3)]);
        assert_eq!((tally.distinct(), tally.again()), (3, 2));
        assert_eq!(tally.verdict(&produced(&[("a", 3)])), Ok(()));
    }

    #[test]
    fn a_missing_event_is_a_fault_at_the_end_and_in_between() {
        assert!(
            tally(&[("a", 1)]).verdict(&produced(&[("a", 2)])).unwrap_err().contains("2 events")
        );
        let gap = tally(&[("a", 1), ("a", 3)]).verdict(&produced(&[("a", 3)])).unwrap_err();
        assert!(gap.contains("event 1 was followed by event 3"), "{gap}");
        assert!(tally(&[]).verdict(&produced(&[("a", 1)])).is_err());
    }

    #[test]
    fn an_event_is_read_from_key_and_value() {
        let value: &[u8] = br#"{"customer":"c","n":4,"more":[1,{"n":9}]}"#;
        assert_eq!(Seen::of(Some(b"c"), Some(value)), Ok(Seen { customer: "c".to_owned(), n: 4 }));
        assert!(Seen::of(Some(b"d"), Some(value)).is_err());
        assert!(Seen::of(Some(b"c"), None).is_err());
    }
}
