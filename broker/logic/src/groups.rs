//! Classic consumer groups: what a group's coordinator decides.
//!
//! One [`Group`] is one group in the hands of its coordinator. Requests and the time come in, and
//! what is to be done comes out as [`GroupAction`]s: answer a request that waited, or record a
//! generation in the metadata. The semantics are Apache Kafka's for classic groups (KIP-62, KIP-134,
//! KIP-345, KIP-394, KIP-800, KIP-814), for eager and cooperative assignors alike: the assignment is
//! the leader's, the coordinator only passes it on.
//!
//! - A member gets its assignment only after the metadata has recorded the generation, so that
//!   another coordinator can go on from there without a rebalance.
//! - Every request that waits is answered: each wait has a deadline, or a record in flight whose
//!   result the caller promises to bring.
//! - Nothing that is kept shares the bytes of a request's frame.
//!
//! Not here: who coordinates a group and its committed offsets (the metadata), tasks and timers (the
//! caller asks for [`Group::next_deadline`]).
//!
//! Read in this order: [`Group`], [`Join`], [`Sync`], [`GroupAction`], [`GroupLimits`].

mod action;
mod deadlines;
mod group;
mod heartbeat;
mod join;
mod leave;
mod limits;
mod member;
mod members;
mod phase;
mod rebalance;
mod record;
mod static_member;
mod sync;
mod view;

pub use action::{GroupAction, RecordFailure, RecordId, Ticket};
pub use group::Group;
pub use join::Join;
pub use leave::Leaving;
pub use limits::GroupLimits;
pub use sync::Sync;
pub use view::recorded_description;

#[cfg(test)]
mod tests;
