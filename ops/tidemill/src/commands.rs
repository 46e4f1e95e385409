//! What the command line asks a cluster, through the client.
//!
//! One file for each noun or verb. Each takes its parsed arguments and a [`Session`], and prints its
//! result. Where several things are named, those that work are done and shown, and the first failure
//! is the command's.

mod cluster;
mod configs;
mod consume;
mod group;
mod input;
mod produce;
mod session;
mod told_connector;
mod topic;

use crate::cli::{ClusterArgs, ConsumeArgs, GroupArgs, ProduceArgs, TopicArgs};
use crate::failure::Failure;
use session::Session;

/// `tidemill topic`.
///
/// # Errors
/// Whatever the cluster or the arguments do not allow.
pub(crate) fn topic(args: TopicArgs) -> Result<(), Failure> {
    Session::run(&args.connection, async |session| topic::carry_out(session, &args.command).await)
}

/// `tidemill group`.
///
/// # Errors
/// As [`topic()`].
pub(crate) fn group(args: GroupArgs) -> Result<(), Failure> {
    Session::run(&args.connection, async |session| group::carry_out(session, &args.command).await)
}

/// `tidemill produce`.
///
/// # Errors
/// As [`topic()`].
pub(crate) fn produce(args: ProduceArgs) -> Result<(), Failure> {
    Session::run(&args.connection, async |session| produce::carry_out(session, &args).await)
}

/// `tidemill consume`.
///
/// # Errors
/// As [`topic()`].
pub(crate) fn consume(args: ConsumeArgs) -> Result<(), Failure> {
    Session::run(&args.connection, async |session| consume::carry_out(session, &args).await)
}

/// `tidemill cluster`.
///
/// # Errors
/// As [`topic()`].
pub(crate) fn cluster(args: ClusterArgs) -> Result<(), Failure> {
    Session::run(&args.connection, async |session| cluster::carry_out(session, &args.command).await)
}
