//! The comparison: which runs, on which broker, in which order.
//!
//! - Every run has a broker of its own, freshly started over an empty folder, so that no run inherits
//!   another's caches, dirty pages or compiled code; its warm-up is part of the run.
//! - The brokers take turns case by case, and who begins alternates, so that a slow spell of the
//!   machine does not fall on one of them.
//! - Brokers run on one core, the driver on the other.
//!
//! Not here: tables (`render`).

pub mod case;
pub mod load_cases;
pub mod options;
pub mod page_cache;
pub mod session;
pub mod stage;
pub mod start_up;
pub mod sustained;
