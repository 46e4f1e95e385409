//! Room on the disk: below the low-water mark nothing is admitted until space is freed.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tidemill_storage_store::{SpaceGuard, SpaceState};

use crate::broker::Broker;

/// How often the room is measured.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Measures until the broker is gone. Runs on a thread of its own.
pub(super) async fn watch(broker: Weak<Broker>, space: Arc<SpaceGuard>) {
    loop {
        match space.check().await {
            Ok(state) => {
                let Some(broker) = broker.upgrade() else { return };
                broker.space_low.store(state == SpaceState::Low, Ordering::Relaxed);
            }
            Err(error) => tracing::warn!(%error, "room on the disk not measured"),
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
        if broker.strong_count() == 0 {
            return;
        }
    }
}
