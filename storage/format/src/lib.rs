//! The formats of log objects and index objects (pure).
