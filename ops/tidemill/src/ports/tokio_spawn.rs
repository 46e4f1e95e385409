//! Tasks on the runtime's threads, and tasks on threads of their own.
//!
//! What a panic does: a task that serves one client ends alone, and its connection with it. Any other
//! task is part of the product's work (a lane, the metadata loop); without it the process would stay
//! half alive, so the process ends. Nothing acknowledged is lost by that.

use std::panic::AssertUnwindSafe;
use std::process;

use futures::FutureExt;
use tidemill_base::Spawn;
use tidemill_base::ports::BoxFuture;
use tokio::runtime::{self, Handle};

/// Tasks that serve one client.
const TASKS_OF_ONE_CLIENT: [&str; 1] = ["connection"];

/// Starts tasks on a Tokio runtime.
#[derive(Clone, Debug)]
pub(crate) struct TokioSpawn {
    handle: Handle,
}

impl TokioSpawn {
    /// Starts tasks on the runtime of `handle`.
    pub(crate) fn new(handle: Handle) -> Self {
        Self { handle }
    }
}

impl Spawn for TokioSpawn {
    fn task(&self, name: &'static str, task: BoxFuture<'static, ()>) {
        self.handle.spawn(async move {
            if AssertUnwindSafe(task).catch_unwind().await.is_ok() {
                return;
            }
            if TASKS_OF_ONE_CLIENT.contains(&name) {
                tracing::error!(task = name, "a task panicked; its connection is closed");
            } else {
                end_process(name);
            }
        });
    }

    fn dedicated(&self, name: &'static str, task: BoxFuture<'static, ()>) {
        // A runtime of its own, so that its timers run on this thread while it blocks nobody else.
        let run = move || {
            let runtime = match runtime::Builder::new_current_thread().enable_time().build() {
                Ok(runtime) => runtime,
                Err(error) => {
                    tracing::error!(thread = name, %error, "cannot start a runtime");
                    end_process(name);
                }
            };
            if std::panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(task))).is_err() {
                end_process(name);
            }
        };
        // The system shows at most 15 bytes of a thread's name.
        if let Err(error) = std::thread::Builder::new().name(name.to_owned()).spawn(run) {
            tracing::error!(thread = name, %error, "cannot start a thread");
            end_process(name);
        }
    }
}

/// Ends the process at once, as a crash would: the next start recovers.
fn end_process(name: &'static str) -> ! {
    tracing::error!(task = name, "the server cannot go on without this task and ends");
    process::abort()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn tasks_and_dedicated_threads_run_and_have_timers() {
        let spawn = TokioSpawn::new(Handle::current());
        let (told_task, task) = oneshot::channel();
        let (told_thread, thread) = oneshot::channel();
        spawn.task(
            "task",
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                let _ = told_task.send(());
            }),
        );
        spawn.dedicated(
            "thread",
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                let _ = told_thread.send(std::thread::current().name().map(str::to_owned));
            }),
        );
        task.await.unwrap();
        assert_eq!(thread.await.unwrap().as_deref(), Some("thread"));
    }

    #[tokio::test]
    async fn a_panic_of_one_connection_ends_only_that() {
        let spawn = TokioSpawn::new(Handle::current());
        let (told, ended) = oneshot::channel::<()>();
        spawn.task(
            "connection",
            Box::pin(async move {
                let _held = told;
                panic!("expected by the test");
            }),
        );
        assert!(ended.await.is_err());
    }
}
