//! The tasks of one life of the node, which die together.

use parking_lot::Mutex;
use tidemill_base::Spawn;
use tidemill_base::ports::BoxFuture;
use tokio::task::AbortHandle;

/// Spawns the tasks of one life.
#[derive(Debug, Default)]
pub struct LifeTasks {
    tasks: Mutex<Vec<AbortHandle>>,
}

#[expect(clippy::disallowed_methods, reason = "this is the simulation's adapter of the port")]
impl Spawn for LifeTasks {
    fn task(&self, _: &'static str, task: BoxFuture<'static, ()>) {
        let mut tasks = self.tasks.lock();
        tasks.retain(|task| !task.is_finished());
        tasks.push(tokio::spawn(task).abort_handle());
    }

    fn dedicated(&self, name: &'static str, task: BoxFuture<'static, ()>) {
        self.task(name, task);
    }
}

impl LifeTasks {
    /// Ends every task where it stands, and returns when none runs any more.
    pub async fn kill(&self) {
        self.tasks.lock().iter().for_each(AbortHandle::abort);
        while self.tasks.lock().iter().any(|task| !task.is_finished()) {
            tokio::task::yield_now().await;
        }
    }
}
