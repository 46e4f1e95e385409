//! Producer ids, handed out of blocks that the metadata gives to this broker.
//!
//! A block costs one command; ids of a block that is not used up when the broker ends are lost,
//! which costs nothing.

use tidemill_base::{BrokerEpoch, BrokerId, ProducerId};
use tidemill_metadata_raft::MetadataHandle;
use tidemill_metadata_state::Outcome;
use tidemill_metadata_state::command::AllocateProducerIds;
use tokio::sync::Mutex;

/// How many ids a block holds.
const BLOCK_IDS: u32 = 1_000;

/// Hands out producer ids.
#[derive(Debug, Default)]
pub struct ProducerIds {
    /// The next id and how many are left. An async lock, because whoever finds the block empty
    /// fetches the next one while the others wait for it.
    block: Mutex<(i64, u32)>,
}

impl ProducerIds {
    /// A new producer id, or `None` if the metadata does not answer with one now.
    pub async fn next(
        &self,
        metadata: &MetadataHandle,
        broker: BrokerId,
        epoch: BrokerEpoch,
    ) -> Option<ProducerId> {
        let mut block = self.block.lock().await;
        if block.1 == 0 {
            let command = AllocateProducerIds { broker, epoch, count: BLOCK_IDS };
            match metadata.propose(command).await {
                Ok(Outcome::ProducerIds { first, count }) => *block = (first.0, count),
                other => {
                    tracing::warn!(?other, "no producer ids to be had");
                    return None;
                }
            }
        }
        let id = ProducerId(block.0);
        *block = (block.0 + 1, block.1 - 1);
        Some(id)
    }
}
