//! The metadata state machine: `apply(state, command)` gives an outcome and events. Pure.

pub mod command;
pub mod configs;
pub mod entry;
pub mod event;
pub mod groups;
pub mod outcome;
pub mod projection;
pub mod refusal;

mod brokers;
mod codec;
mod entries;
mod packed;
mod partition_log;
mod slots;
mod topics;

pub use brokers::Broker;
pub use codec::DecodeError;
pub use command::Command;
pub use entry::{Entry, Extent, Folded};
pub use event::Event;
pub use groups::{CommittedOffset, Group};
pub use outcome::Outcome;
pub use projection::{Covered, NotNext, PartitionView, Projection};
pub use refusal::Refusal;
pub use topics::Topic;
