//! Deterministic simulation of a node: faults, invariants and their broken twins.
