//! What all memory budgets add up to.

use tidemill_broker_server::broker::BATCHES_UNDER_WAY_BYTES;
use tidemill_metadata_raft::STATE_CACHE_BYTES;

use crate::config::{Config, MemorySection};

/// What the default budgets may add up to: an operator who gives a container this much and a bit
/// for code and connections is safe.
pub(crate) const MEMORY_BUDGETS_MAX_BYTES: u64 = 512 << 20;

/// The sum of all memory budgets, in bytes.
pub(crate) fn memory_budgets_bytes(config: &Config) -> u64 {
    // Destructured, so that a budget that is added cannot be forgotten in the sum.
    let MemorySection {
        request_bytes,
        hot_cache_bytes,
        catch_up_read_bytes,
        answer_bytes,
        answer_frame_bytes,
        partial_request_bytes,
        decoded_request_bytes,
        group_bytes,
        index_cache_bytes,
        metadata_proposal_bytes,
    } = config.memory;
    let budgets = [
        request_bytes,
        hot_cache_bytes,
        catch_up_read_bytes,
        answer_bytes,
        answer_frame_bytes,
        partial_request_bytes,
        decoded_request_bytes,
        group_bytes,
        index_cache_bytes,
        metadata_proposal_bytes,
        config.metadata.state_save_bytes,
        u64::from(BATCHES_UNDER_WAY_BYTES),
        STATE_CACHE_BYTES,
    ];
    budgets.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_budgets_stay_below_their_limit() {
        assert!(memory_budgets_bytes(&Config::default()) <= MEMORY_BUDGETS_MAX_BYTES);
    }
}
