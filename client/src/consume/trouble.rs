//! What keeps a consumer from reading, and does not end by itself at once.

use crate::error::Error;
use crate::topic_partition::TopicPartition;

/// A partition that cannot be read for now. The consumer goes on trying; how long it may, the
/// application knows.
#[derive(Clone, PartialEq, Debug)]
pub struct Trouble {
    /// The partition.
    pub partition: TopicPartition,
    /// For how long no attempt has succeeded, in milliseconds.
    pub lasts_ms: u64,
    /// What the last attempt met.
    pub error: Error,
}
