//! The requests of a connection that wait for their answers (pure).
//!
//! - Answers come in the order of the requests; one out of turn means that the two sides disagree
//!   about the stream, which cannot be mended.
//! - A request is here from just before its first byte is written: what is not here when the
//!   connection ends was certainly not sent, what is here may have been.

use std::collections::VecDeque;

/// Requests in flight, each with what its answer is handed to.
#[derive(Debug)]
pub(crate) struct InFlight<T> {
    waiting: VecDeque<(i32, T)>,
}

impl<T> InFlight<T> {
    /// None in flight.
    pub(crate) fn new() -> Self {
        Self { waiting: VecDeque::new() }
    }

    /// A request is about to be written.
    pub(crate) fn sent(&mut self, correlation_id: i32, waiter: T) {
        self.waiting.push_back((correlation_id, waiter));
    }

    /// Who waits for the answer with this id; `None` if it is not the next one.
    pub(crate) fn answered(&mut self, correlation_id: i32) -> Option<T> {
        let (next, _) = self.waiting.front()?;
        if *next != correlation_id {
            return None;
        }
        self.waiting.pop_front().map(|(_, waiter)| waiter)
    }

    /// All who wait, when the connection has ended.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> {
        std::mem::take(&mut self.waiting).into_iter().map(|(_, waiter)| waiter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_taken_in_order_only() {
        let mut in_flight = InFlight::new();
        in_flight.sent(7, "a");
        in_flight.sent(8, "b");
        assert_eq!(in_flight.answered(8), None);
        assert_eq!(in_flight.answered(7), Some("a"));
        assert_eq!(in_flight.drain().collect::<Vec<_>>(), ["b"]);
        assert_eq!(in_flight.answered(8), None);
    }
}
