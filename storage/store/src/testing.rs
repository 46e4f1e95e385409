//! Adapters of the ports for this crate's tests.

use std::sync::Arc;

use bytes::Bytes;
use tidemill_base::ports::{BoxFuture, SharedSpawn, Spawn};
use tidemill_base::{BrokerEpoch, BrokerId, Incarnation, LaneId, LaneKey, LaneSequence, ObjectId};

/// Runs every task on the test's own runtime, as a simulation does.
pub(crate) struct TaskSpawn;

impl Spawn for TaskSpawn {
    #[expect(clippy::disallowed_methods, reason = "an adapter of the port")]
    fn task(&self, _name: &'static str, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }

    fn dedicated(&self, name: &'static str, task: BoxFuture<'static, ()>) {
        self.task(name, task);
    }
}

/// Runs dedicated tasks on threads of their own, as a server does.
pub(crate) struct ThreadSpawn(tokio::runtime::Handle);

impl ThreadSpawn {
    pub(crate) fn here() -> Self {
        Self(tokio::runtime::Handle::current())
    }
}

impl Spawn for ThreadSpawn {
    fn task(&self, _name: &'static str, task: BoxFuture<'static, ()>) {
        self.0.spawn(task);
    }

    #[expect(clippy::disallowed_methods, reason = "an adapter of the port")]
    fn dedicated(&self, _name: &'static str, task: BoxFuture<'static, ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        std::thread::spawn(move || runtime.block_on(task));
    }
}

pub(crate) fn task_spawn() -> SharedSpawn {
    Arc::new(TaskSpawn)
}

pub(crate) fn lane(number: u16) -> LaneKey {
    LaneKey { broker: BrokerId(1), epoch: BrokerEpoch(1), lane: LaneId(number) }
}

pub(crate) fn object(lane: LaneKey, sequence: u64) -> ObjectId {
    ObjectId { incarnation: Incarnation(1), lane, sequence: LaneSequence(sequence) }
}

/// Parts that together are told from those of any other number.
pub(crate) fn parts(number: u64) -> Vec<Bytes> {
    let body: Vec<u8> = (0..700 + number % 50).map(|at| (at * 7 + number) as u8).collect();
    vec![Bytes::from(format!("object {number}")), Bytes::new(), Bytes::from(body)]
}

pub(crate) fn joined(parts: &[Bytes]) -> Bytes {
    parts.concat().into()
}
