//! Connections to brokers: sockets, frames, versions, and requests in flight.
//!
//! Read in this order: [`connector`], `versions`, `frame`, `connection`.

pub(crate) mod connection;
pub mod connector;
pub(crate) mod frame;
pub(crate) mod in_flight;
pub(crate) mod versions;
