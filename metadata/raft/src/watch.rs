//! Watching the state: a snapshot, then every change, in ranges of applied indexes.
//!
//! - A subscription begins with the events that build the state at one index from nothing; each
//!   message then covers `(from, to]`, and `from` is always the index the watcher stands at.
//! - A watcher that falls more than `watch_messages_max` behind is cut off: it gets what is queued, then
//!   `None`, and subscribes again.
//!
//! Not here: filters and coalescing, which come with brokers in other processes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use tidemill_base::AppliedIndex;
use tidemill_metadata_state::Event;
use tokio::sync::mpsc;

use crate::metrics::{self, RaftMetrics};

/// What an applied range of the log changed.
#[derive(Clone, Debug)]
pub struct WatchMessage {
    /// The index the watcher must stand at.
    pub from: AppliedIndex,
    /// The index it stands at afterwards.
    pub to: AppliedIndex,
    /// What changed, to be applied whole.
    pub events: Arc<[Event]>,
}

/// Takes events in the process of the state itself, before the outcomes of the same apply.
///
/// Called from the metadata loop: it must not block.
pub trait EventSink: Send + Sync + 'static {
    /// What `(from, to]` changed; `from` is where the last call ended.
    fn deliver(&self, from: AppliedIndex, to: AppliedIndex, events: &[Event]);

    /// Everything known before is void; the events build the state at `at` from nothing. Called
    /// once at the start and whenever a snapshot took the place of the state.
    fn reset(&self, at: AppliedIndex, events: &[Event]) {
        self.deliver(AppliedIndex(0), at, events);
    }
}

/// A running subscription.
#[derive(Debug)]
pub struct Subscription {
    /// The index that `snapshot` stands at.
    pub at: AppliedIndex,
    /// Builds the state at `at` from nothing.
    pub snapshot: Vec<Event>,
    messages: mpsc::Receiver<WatchMessage>,
}

impl Subscription {
    /// The next message; `None` once the watcher was cut off or the member closed.
    pub async fn next(&mut self) -> Option<WatchMessage> {
        self.messages.recv().await
    }
}

/// Those who watch.
#[derive(Debug)]
pub(crate) struct WatchHub {
    messages_max: usize,
    watchers_max: usize,
    metrics: Arc<RaftMetrics>,
    watchers: Mutex<Vec<Watcher>>,
}

#[derive(Debug)]
struct Watcher {
    stands_at: AppliedIndex,
    messages: mpsc::Sender<WatchMessage>,
}

impl WatchHub {
    pub(crate) fn new(messages_max: usize, watchers_max: usize, metrics: Arc<RaftMetrics>) -> Self {
        Self { messages_max, watchers_max, metrics, watchers: Mutex::new(Vec::new()) }
    }

    /// Adds a watcher that knows `snapshot`, the state at `at`; `None` if there are too many. The
    /// caller keeps the state from changing meanwhile.
    pub(crate) fn subscribe(&self, at: AppliedIndex, snapshot: Vec<Event>) -> Option<Subscription> {
        let mut watchers = self.watchers.lock();
        watchers.retain(|watcher| !watcher.messages.is_closed());
        if watchers.len() >= self.watchers_max {
            return None;
        }
        let (sender, messages) = mpsc::channel(self.messages_max);
        watchers.push(Watcher { stands_at: at, messages: sender });
        Some(Subscription { at, snapshot, messages })
    }

    /// Tells all watchers. One that already stands at `to` has it from its snapshot.
    pub(crate) fn publish(&self, from: AppliedIndex, to: AppliedIndex, events: &[Event]) {
        let mut watchers = self.watchers.lock();
        if watchers.is_empty() {
            return;
        }
        let message = WatchMessage { from, to, events: events.into() };
        watchers.retain_mut(|watcher| {
            if to <= watcher.stands_at {
                return true;
            }
            let told =
                from == watcher.stands_at && watcher.messages.try_send(message.clone()).is_ok();
            watcher.stands_at = to;
            if !told && !watcher.messages.is_closed() {
                metrics::add(&self.metrics.watchers_cut_off, 1);
            }
            told
        });
    }

    /// Cuts off everyone: the state was replaced, or the member closes.
    pub(crate) fn cut_off_all(&self) {
        self.watchers.lock().clear();
    }

    /// How many watch.
    pub(crate) fn len(&self) -> usize {
        self.watchers.lock().len()
    }
}

/// Counts what is delivered; for tests and members without a broker.
#[derive(Debug, Default)]
pub struct NoSink(std::sync::atomic::AtomicU64);

impl NoSink {
    /// How many events were delivered.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl EventSink for NoSink {
    fn deliver(&self, _from: AppliedIndex, _to: AppliedIndex, events: &[Event]) {
        self.0.fetch_add(events.len() as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hub(messages_max: usize) -> WatchHub {
        WatchHub::new(messages_max, 2, Arc::default())
    }

    fn at(index: u64) -> AppliedIndex {
        AppliedIndex(index)
    }

    #[tokio::test]
    async fn ranges_follow_one_another_from_the_snapshot_on() {
        let hub = hub(10);
        let mut watcher = hub.subscribe(at(5), Vec::new()).unwrap();
        hub.publish(at(3), at(5), &[]);
        hub.publish(at(5), at(7), &[Event::FeatureLevelRaised { level: 2 }]);
        hub.publish(at(7), at(8), &[]);
        let first = watcher.next().await.unwrap();
        assert_eq!((first.from, first.to, first.events.len()), (at(5), at(7), 1));
        let second = watcher.next().await.unwrap();
        assert_eq!((second.from, second.to), (at(7), at(8)));
    }

    #[tokio::test]
    async fn a_slow_watcher_is_cut_off_after_what_it_was_told() {
        let hub = hub(1);
        let mut slow = hub.subscribe(at(0), Vec::new()).unwrap();
        hub.publish(at(0), at(1), &[]);
        hub.publish(at(1), at(2), &[]);
        assert_eq!(hub.len(), 0);
        assert_eq!(slow.next().await.unwrap().to, at(1));
        assert!(slow.next().await.is_none());
        assert_eq!(hub.metrics.watchers_cut_off.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn watchers_beyond_the_limit_are_refused_until_one_goes() {
        let hub = hub(1);
        let first = hub.subscribe(at(0), Vec::new()).unwrap();
        let _second = hub.subscribe(at(0), Vec::new()).unwrap();
        assert!(hub.subscribe(at(0), Vec::new()).is_none());
        drop(first);
        assert!(hub.subscribe(at(0), Vec::new()).is_some());
    }
}
