//! A small cache bounded by bytes; what came first goes first.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;

/// Values by key, up to a number of bytes.
#[derive(Debug)]
pub(crate) struct ByteCache<K, V> {
    bytes_max: usize,
    state: Mutex<State<K, V>>,
}

#[derive(Debug)]
struct State<K, V> {
    values: BTreeMap<K, (Arc<V>, usize)>,
    order: VecDeque<K>,
    bytes: usize,
}

impl<K: Ord + Copy, V> ByteCache<K, V> {
    pub(crate) fn new(bytes_max: usize) -> Self {
        let state = State { values: BTreeMap::new(), order: VecDeque::new(), bytes: 0 };
        Self { bytes_max, state: Mutex::new(state) }
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        self.state.lock().bytes as u64
    }

    pub(crate) fn get(&self, key: K) -> Option<Arc<V>> {
        self.state.lock().values.get(&key).map(|(value, _)| Arc::clone(value))
    }

    /// Keeps a value of about `bytes`, unless the key is taken or it alone is too large.
    pub(crate) fn insert(&self, key: K, value: V, bytes: usize) -> Arc<V> {
        let value = Arc::new(value);
        let mut state = self.state.lock();
        if bytes > self.bytes_max || state.values.contains_key(&key) {
            return value;
        }
        state.values.insert(key, (Arc::clone(&value), bytes));
        state.order.push_back(key);
        state.bytes += bytes;
        while state.bytes > self.bytes_max {
            let Some(oldest) = state.order.pop_front() else { break };
            if let Some((_, bytes)) = state.values.remove(&oldest) {
                state.bytes -= bytes;
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first_and_giants_are_not_kept() {
        let cache = ByteCache::new(10);
        cache.insert(1, 'a', 6);
        cache.insert(2, 'b', 6);
        cache.insert(3, 'c', 11);
        assert_eq!(
            [1, 2, 3].map(|key| cache.get(key).map(|value| *value)),
            [None, Some('b'), None]
        );
        assert_eq!(cache.held_bytes(), 6);
    }
}
