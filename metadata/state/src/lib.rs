//! The metadata state machine: apply(state, command) gives an outcome and events (pure).
