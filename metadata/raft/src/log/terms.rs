//! The term of every entry in the log, as runs: a log of millions of entries has a few terms.

use std::collections::VecDeque;

use crate::log::LogPosition;

/// The terms of the entries from `previous` (whose term is kept for matching) to the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    previous: LogPosition,
    /// (first index, term) of each run, rising in both.
    runs: VecDeque<(u64, u64)>,
    last_index: u64,
}

impl Terms {
    /// A log that is empty after `previous`.
    pub(crate) fn new(previous: LogPosition) -> Self {
        Self { previous, runs: VecDeque::new(), last_index: previous.index }
    }

    /// The entry before the first, with its term.
    pub(crate) fn previous(&self) -> LogPosition {
        self.previous
    }

    /// The last entry, or `previous` if there is none.
    pub(crate) fn last(&self) -> LogPosition {
        let term = self.runs.back().map_or(self.previous.term, |(_, term)| *term);
        LogPosition { index: self.last_index, term }
    }

    /// Adds the entry after the last.
    pub(crate) fn push(&mut self, term: u64) {
        self.last_index += 1;
        if self.runs.back().is_none_or(|(_, last)| *last != term) {
            self.runs.push_back((self.last_index, term));
        }
    }

    /// The term of an entry from `previous` to the last; `None` outside.
    pub(crate) fn term(&self, index: u64) -> Option<u64> {
        if index == self.previous.index {
            return Some(self.previous.term);
        }
        if index < self.previous.index || index > self.last_index {
            return None;
        }
        let after = self.runs.partition_point(|(first, _)| *first <= index);
        after.checked_sub(1).and_then(|run| self.runs.get(run)).map(|(_, term)| *term)
    }

    /// Forgets entries above `index`. An index below `previous` empties the log.
    pub(crate) fn cut_after(&mut self, index: u64) {
        let index = index.max(self.previous.index);
        if index < self.last_index {
            self.last_index = index;
            while self.runs.back().is_some_and(|(first, _)| *first > index) {
                self.runs.pop_back();
            }
        }
    }

    /// Forgets entries up to `index`, which becomes the new `previous`.
    pub(crate) fn drop_through(&mut self, index: u64) {
        let Some(term) = self.term(index) else { return };
        self.previous = LogPosition { index, term };
        while self.runs.get(1).is_some_and(|(first, _)| *first <= index + 1) {
            self.runs.pop_front();
        }
        match self.runs.front_mut() {
            Some(front) if index < self.last_index => front.0 = front.0.max(index + 1),
            _ => self.runs.clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a plain list of (index, term).
        #[test]
        fn runs_answer_like_a_list(
            steps in prop::collection::vec((0u8..4, 0u64..40), 1..80),
        ) {
            let start = LogPosition { index: 5, term: 1 };
            let mut terms = Terms::new(start);
            let mut list = vec![(start.index, start.term)];
            let mut term = 1;
            for (step, number) in steps {
                match step {
                    0 | 1 => {
                        term += number / 30;
                        terms.push(term);
                        list.push((list[list.len() - 1].0 + 1, term));
                    }
                    2 => {
                        terms.cut_after(number);
                        let floor = list[0].0.max(number);
                        list.retain(|(index, _)| *index <= floor);
                    }
                    _ => {
                        terms.drop_through(number);
                        if list.iter().any(|(index, _)| *index == number) {
                            list.retain(|(index, _)| *index >= number);
                        }
                    }
                }
                term = term.max(list[list.len() - 1].1);
                for index in 0..60 {
                    let expected = list.iter().find(|(i, _)| *i == index).map(|(_, t)| *t);
                    prop_assert_eq!(terms.term(index), expected);
                }
                let (index, term) = list[list.len() - 1];
                prop_assert_eq!(terms.last(), LogPosition { index, term });
            }
        }
    }
}
