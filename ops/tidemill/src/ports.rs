//! The ports of the product, on a real machine: its clock, its threads.

mod system_clock;
mod tokio_spawn;

pub(crate) use system_clock::SystemClock;
pub(crate) use tokio_spawn::TokioSpawn;
