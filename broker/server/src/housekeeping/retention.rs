//! Retention by time and size.

use tidemill_metadata_state::command::AdvanceLogStart;
use tidemill_metadata_state::retention;

use crate::broker::Broker;

/// Partitions whose log start one command advances.
const ADVANCES_MAX: usize = 1_000;
/// Commands of one round.
const COMMANDS_MAX: usize = 100;

pub(super) async fn run(broker: &Broker) {
    for _ in 0..COMMANDS_MAX {
        let advances =
            broker.metadata.with_state(|state| retention::plan(state, state.time(), ADVANCES_MAX));
        if advances.is_empty() {
            return;
        }
        let partitions = advances.len();
        match broker.metadata.propose(AdvanceLogStart { advances }).await {
            Ok(_) => tracing::debug!(partitions, "retention advanced log starts"),
            Err(error) => {
                tracing::warn!(%error, "retention waits");
                return;
            }
        }
    }
}
