//! The metadata state machine: `apply(state, command)` gives an outcome and events. Pure.

pub mod command;
pub mod configs;
pub mod entry;
pub mod event;
pub mod fuzz;
pub mod groups;
pub mod outcome;
pub mod plan;
pub mod projection;
pub mod refusal;
pub mod save;
pub mod state;

mod apply;
mod brokers;
mod codec;
mod entries;
mod files;
mod lanes;
mod limits;
mod packed;
mod partition;
mod partition_log;
mod producers;
mod slots;
mod topics;

#[cfg(test)]
mod fixture_test;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod model_test;

pub use apply::Applied;
pub use brokers::Broker;
pub use codec::DecodeError;
pub use command::Command;
pub use entry::{Entry, Extent, Folded};
pub use event::Event;
pub use files::Freed;
pub use groups::{CommittedOffset, Group};
pub use limits::Limits;
pub use outcome::Outcome;
pub use plan::{fold, garbage, offsets, orphans, retention};
pub use projection::{Covered, NotNext, PartitionView, Projection};
pub use refusal::Refusal;
pub use save::{RestoreError, SaveSet};
pub use state::{FileView, MetadataState};
pub use topics::{Topic, check_topic_name};
