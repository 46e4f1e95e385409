//! InitProducerId (22): an identity for an idempotent or transactional producer.

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Asks for a producer id and epoch.
    message InitProducerIdRequest, versions 0..=5, flexible 2 {
        /// The transactional id; null for a producer that is only idempotent.
        transactional_id: Option<KString> [0..] null [0..],
        /// After how long an open transaction is aborted. Counts only with a transactional id.
        transaction_timeout_ms: i32 [0..],
        /// The producer id that the client had, to have its epoch raised; -1 if none.
        producer_id: i64 [3..] = -1,
        /// The epoch that the client had; -1 if none.
        producer_epoch: i16 [3..] = -1,
    }

    /// A producer id and epoch.
    message InitProducerIdResponse, versions 0..=5, flexible 2 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [0..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// The producer id.
        producer_id: i64 [0..] = -1,
        /// Its epoch.
        producer_epoch: i16 [0..],
    }
}
