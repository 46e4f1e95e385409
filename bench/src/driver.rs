//! The load driver: one thread, one epoll, open-loop schedules, latencies from intended times.
//!
//! - A request's latency counts from the moment its schedule *intended* it, never from the moment a
//!   full window let it go out (coordinated omission); what is unanswered at the end counts with the
//!   time it has waited so far.
//! - Everything per byte is done by the kernel: batches are built before the run, requests patched in
//!   place, answers walked by their heads.
//! - A run in which the driver was busier than [`report::DRIVER_BUSY_MAX`] measured the driver and is
//!   marked invalid.
//!
//! Not here: starting brokers (`peers`), choosing what to measure (`compare`).

pub mod consumer;
pub mod crew;
pub mod flow;
pub mod latency;
pub mod load;
pub mod meters;
pub mod poller;
pub mod producer;
pub mod report;
pub mod run;
pub mod schedule;
pub mod socket;
pub mod transit;
