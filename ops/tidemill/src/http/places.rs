//! Places for connections, and who gives one up when all are taken.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// A bounded number of places. Who comes when all are taken gets the one of the connection that has
/// been longest at sending its request; if none is at that, of the one that is open longest.
pub(super) struct Places {
    free: Arc<Semaphore>,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    next_number: u64,
    /// By number, which is by age.
    seats: BTreeMap<u64, Seat>,
}

struct Seat {
    is_asking: bool,
    /// Dropped to make the connection end.
    _stay: oneshot::Sender<()>,
}

/// A place that a connection has; given back when it is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
    _permit: OwnedSemaphorePermit,
}

impl Places {
    /// `count` places.
    pub(super) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { free: Arc::new(Semaphore::new(count)), taken: Mutex::default() })
    }

    /// A place, and what ends when it has to be given up. `None`: there never is one.
    pub(super) async fn take(self: &Arc<Self>) -> Option<(Place, oneshot::Receiver<()>)> {
        let permit = match Arc::clone(&self.free).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                self.make_one_leave();
                Arc::clone(&self.free).acquire_owned().await.ok()?
            }
        };
        let (stay, leave) = oneshot::channel();
        let mut taken = self.taken();
        let number = taken.next_number;
        taken.next_number += 1;
        taken.seats.insert(number, Seat { is_asking: true, _stay: stay });
        drop(taken);
        Some((Place { places: Arc::clone(self), number, _permit: permit }, leave))
    }

    fn make_one_leave(&self) {
        let mut taken = self.taken();
        let asking = taken.seats.iter().find(|(_, seat)| seat.is_asking);
        let number = asking.or_else(|| taken.seats.iter().next()).map(|(number, _)| *number);
        if let Some(number) = number {
            taken.seats.remove(&number);
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The request has come; an answer is on its way.
    pub(super) fn is_answered(&self) {
        if let Some(seat) = self.places.taken().seats.get_mut(&self.number) {
            seat.is_asking = false;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken().seats.remove(&self.number);
    }
}
