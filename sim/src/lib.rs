//! Deterministic simulation of a node: faults, invariants and their broken twins.
//!
//! One run is one seed: a node over simulated disks, a simulated clock and simulated message loss,
//! spoken to by clients in Kafka frames, all in one thread whose time is virtual. First comes a phase of
//! work under faults, then the faults end and the node must heal; then everything that was seen and
//! acknowledged is held against what is there. The same seed gives the same trace.
//!
//! Read in this order: [`run`] (one seed from start to verdict), [`world`] (what is simulated),
//! [`workload`] (what clients do), [`history`] (what they saw), [`invariants`] (what must hold, one per
//! file), [`twins`] (which mistake each must catch), [`suite`] (many seeds).

pub mod history;
pub mod invariants;
pub mod rare_events;
pub mod run;
pub mod suite;
pub mod twins;
pub mod workload;
pub mod world;
