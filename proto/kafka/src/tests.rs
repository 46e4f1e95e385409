//! Tests of the codec as a whole; each file's own tests stand beside it.

mod corpus_test;
mod differential_test;
mod mutation_test;
pub(crate) mod sample;
mod wire_bytes_test;
