//! Benchmarks: an open-loop Kafka load driver, peers and floors.
//!
//! Read in this order: [`batch`] and [`wire`] (what goes over the socket), [`driver`] (one run),
//! [`peers`] (the brokers), [`floor`] (what a bare program needs), [`compare`] (all runs of a
//! comparison), [`results`] and [`render`] (raw figures and tables).

pub mod batch;
pub mod clock;
pub mod compare;
pub mod driver;
pub mod external;
pub mod floor;
pub mod machine;
pub mod peers;
pub mod pin;
pub mod proc_stat;
pub mod render;
pub mod results;
pub mod wire;
