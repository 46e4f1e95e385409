//! Places where batches are judged that take long to decompress: threads of their own, so that those
//! that serve connections go on.
//!
//! Invariants:
//! - No more work than [`PLACES`] is under way or handed over; all else waits in the connections that
//!   brought it, first come, first served.
//! - A panic in a piece of work ends that work alone.
//!
//! Not here: what is judged, and what is small enough to be judged at once (`handlers/produce`).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use parking_lot::Mutex;
use tidemill_base::ports::Spawn;
use tidemill_records::Decompressor;
use tokio::sync::{Semaphore, mpsc, oneshot};

/// How many pieces of work are under way at most, each on a thread.
pub(crate) const PLACES: usize = 2;

type Work = Box<dyn FnOnce(&mut Decompressor) + Send>;

/// The way to the places. When it is dropped, they end.
pub(crate) struct RecordChecks {
    idle: Arc<Idle>,
    places: Vec<mpsc::Sender<Work>>,
}

/// Places that have no work.
struct Idle {
    count: Semaphore,
    numbers: Mutex<Vec<usize>>,
}

impl RecordChecks {
    pub(crate) fn start(spawn: &dyn Spawn) -> Self {
        let count = Semaphore::new(PLACES);
        let idle = Arc::new(Idle { count, numbers: Mutex::new((0..PLACES).collect()) });
        let place = |number| {
            let (work, todo) = mpsc::channel(1);
            spawn.dedicated("record-checks", Box::pin(serve(number, todo, Arc::clone(&idle))));
            work
        };
        let places = (0..PLACES).map(place).collect();
        Self { idle, places }
    }

    /// Runs `work` in the next free place; `None` if it panicked or the process is ending.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Decompressor) -> T + Send + 'static,
    ) -> Option<T> {
        let (done, result) = oneshot::channel();
        let work: Work = Box::new(move |decompressor| {
            if !done.is_closed() {
                // If nobody waits any more, the connection has ended.
                let _ = done.send(work(decompressor));
            }
        });
        // The place gives itself back, also if this future is dropped.
        self.idle.count.acquire().await.ok()?.forget();
        let number = self.idle.numbers.lock().pop()?;
        self.places.get(number)?.try_send(work).ok()?;
        result.await.ok()
    }
}

/// One place.
async fn serve(number: usize, mut todo: mpsc::Receiver<Work>, idle: Arc<Idle>) {
    let mut decompressor = Decompressor::new();
    while let Some(work) = todo.recv().await {
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| work(&mut decompressor)));
        if done.is_err() {
            tracing::error!("judging a batch panicked; its connection is closed");
            decompressor = Decompressor::new();
        }
        idle.numbers.lock().push(number);
        idle.count.add_permits(1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc as threads;

    use tidemill_base::ports::BoxFuture;

    use super::*;

    struct Threads;

    #[expect(clippy::disallowed_methods, reason = "this is the test's adapter of the port")]
    impl Spawn for Threads {
        fn task(&self, name: &'static str, task: BoxFuture<'static, ()>) {
            self.dedicated(name, task);
        }

        fn dedicated(&self, _: &'static str, task: BoxFuture<'static, ()>) {
            std::thread::spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().build();
                runtime.unwrap().block_on(task);
            });
        }
    }

    #[tokio::test]
    async fn no_more_is_under_way_than_there_are_places() {
        let checks = RecordChecks::start(&Threads);
        let (under_way, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let one = |number: usize| {
            let (under_way, most) = (Arc::clone(&under_way), Arc::clone(&most));
            checks.run(move |_| {
                let now = under_way.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                std::thread::yield_now();
                under_way.fetch_sub(1, Ordering::SeqCst);
                number
            })
        };
        let results = futures::future::join_all((0..200).map(one)).await;
        assert_eq!(results, (0..200).map(Some).collect::<Vec<_>>());
        assert!(most.load(Ordering::SeqCst) <= PLACES);
    }

    #[tokio::test]
    async fn others_go_on_while_all_places_are_taken() {
        let checks = Arc::new(RecordChecks::start(&Threads));
        let mut gates = Vec::new();
        let mut waiting = Vec::new();
        for _ in 0..PLACES {
            let (open, gate) = threads::channel::<()>();
            gates.push(open);
            waiting.push(Box::pin(checks.run(move |_| gate.recv().is_ok())));
        }
        for work in &mut waiting {
            assert!(futures::FutureExt::now_or_never(work).is_none());
        }
        // This thread was not held up. What is given up in the middle gives its place back.
        drop(waiting.pop());
        drop(gates);
        assert_eq!(checks.run(|_| 7).await, Some(7));
        assert_eq!(waiting.remove(0).await, Some(false));
        assert_eq!(
            futures::future::join_all((0..PLACES).map(|_| checks.run(|_| 8))).await,
            [Some(8); PLACES]
        );
    }

    #[tokio::test]
    async fn a_panic_ends_its_own_work_alone() {
        let checks = RecordChecks::start(&Threads);
        for _ in 0..2 * PLACES {
            let none: Option<()> = checks.run(|_| panic!("expected by the test")).await;
            assert_eq!(none, None);
        }
        assert_eq!(checks.run(|_| 7).await, Some(7));
    }
}
