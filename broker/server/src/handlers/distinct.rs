//! Lists in which a client named something twice.

use std::collections::BTreeSet;

/// The first of each key, in order.
pub(super) fn distinct<T, K: Ord>(items: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut seen = BTreeSet::new();
    items.into_iter().filter(|item| seen.insert(key(item))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_each_stays_in_its_place() {
        let items = vec![("b", 1), ("a", 2), ("b", 3), ("c", 4), ("a", 5)];
        assert_eq!(distinct(items, |(key, _)| *key), [("b", 1), ("a", 2), ("c", 4)]);
    }
}
