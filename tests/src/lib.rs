//! End-to-end suites against real processes and real clients.
