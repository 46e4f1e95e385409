//! Goal: the crash suite would notice our own mistakes. Method: each broken twin is switched on, and
//! some seed must fail.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use tidemill_base::twins::{Twin, switch_on};

use super::crashes;

async fn is_caught(twin: Twin, faults: bool) -> bool {
    for seed in 0..200 {
        let guard = switch_on(twin);
        let outcome = AssertUnwindSafe(crashes::run(seed, faults)).catch_unwind().await;
        drop(guard);
        if outcome.is_err() {
            return true;
        }
    }
    false
}

#[tokio::test(start_paused = true)]
async fn acknowledging_before_the_commit_is_durable_is_caught() {
    assert!(is_caught(Twin::AckBeforeCommit, false).await);
}

#[tokio::test(start_paused = true)]
async fn a_saved_index_ahead_of_its_state_is_caught() {
    assert!(is_caught(Twin::AppliedIndexAheadOfState, false).await);
}

#[tokio::test(start_paused = true)]
async fn believing_a_torn_tail_is_caught() {
    assert!(is_caught(Twin::TornTailAccepted, false).await);
}

#[tokio::test(start_paused = true)]
async fn syncing_a_failed_file_again_is_caught() {
    assert!(is_caught(Twin::RetrySameFileAfterFailedSync, true).await);
}
