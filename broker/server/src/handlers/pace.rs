//! Work that grows with a request lets the thread's other connections go on from time to time.

/// Steps between two pauses, each about a microsecond long: a look-up, a partition noted.
pub(crate) const STRIDE: usize = 256;

/// Counts the steps of one piece of work.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    steps: usize,
}

impl Pace {
    /// A step is done; after [`STRIDE`] of them others come first.
    pub(crate) async fn step(&mut self) {
        self.steps += 1;
        if self.steps.is_multiple_of(STRIDE) {
            tokio::task::yield_now().await;
        }
    }
}
