//! What a lane of flushes decides: sealing, sequences, skips, failover, answers (pure).
//!
//! A lane turns submissions (the batches of one produce request) into numbered log objects, makes
//! each durable, proposes them to the metadata in order and hands back one answer per batch. This
//! crate holds the decisions; `storage/store` carries them out.
//!
//! Invariants:
//! - Sequences rise by one per sealed object. Each is proposed with one location only, or named as
//!   a skip by the next proposal, and never both.
//! - Only a flush that was never proposed is given up; once proposed, its fate comes from an answer.
//! - Proposals leave in sequence order.
//! - Everything is bounded by [`LaneLimits`].
//!
//! Read in this order: [`limits`], [`answer`], [`lane`], then `flight` and `failed`.

pub mod answer;
mod failed;
mod flight;
pub mod lane;
pub mod limits;

pub use answer::{BatchAnswer, CommitAnswer, FlushFailure};
pub use lane::{Action, Lane, LaneClosed};
pub use limits::LaneLimits;
