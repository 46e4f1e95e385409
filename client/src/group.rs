//! Groups: how partitions are shared out among members, being a member, and a group's offsets.
//!
//! The classic protocol, eager: before members join a new generation they give up what they have.
//! `membership` decides what a member does next and what an answer means; the member's task does
//! it, so that heartbeats go on whatever the application does; partitions come and go only while the
//! application polls.
//!
//! Read in this order: [`assignor`], `range`, `round_robin`, `membership`, `member`, [`listener`],
//! [`offsets`].

pub mod assignor;
pub mod listener;
pub(crate) mod member;
pub(crate) mod membership;
pub mod offsets;
mod range;
mod round_robin;

pub use assignor::Assignor;
pub use listener::RebalanceListener;
pub use offsets::{CommittedOffset, Offsets};
