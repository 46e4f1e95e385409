//! The cluster as a client sees it: brokers, topics and leaders, and the way to each broker.
//!
//! Read in this order: [`endpoint`], [`metadata`], `routes`, `retries`, `handle`, `ask`,
//! [`offsets`].

mod ask;
pub mod endpoint;
mod handle;
pub mod metadata;
pub mod offsets;
mod retries;
mod routes;

pub(crate) use ask::Target;
pub(crate) use handle::{Cluster, Topics, topics_of};
pub(crate) use routes::Role;
