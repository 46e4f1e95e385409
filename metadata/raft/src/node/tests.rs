//! Whole members on twins of their ports. Each file names its goal.

mod crashes;
mod saving;
mod serving;
mod twins;
pub(crate) mod world;
