//! What can be typed: commands, options, help.
//!
//! Names here are kept by golden files (`golden/help`): scripts depend on them. Not here: what a
//! command does (`commands`, `serve`, `demo`).

mod cluster;
mod connection;
mod consume;
mod demo;
mod group;
mod log_level;
pub(crate) mod parse;
mod produce;
mod server;
mod topic;

use clap::{Parser, Subcommand};

pub(crate) use cluster::{ClusterArgs, ClusterCommand};
pub(crate) use connection::{ConnectionArgs, OutputForm};
pub(crate) use consume::{ConsumeArgs, Encoding};
pub(crate) use demo::DemoArgs;
pub(crate) use group::{
    GroupArgs, GroupCommand, GroupDelete, GroupDescribe, ResetOffsets, ResetTarget,
};
pub(crate) use log_level::LogLevel;
pub(crate) use produce::{Acks, Compression, InputFormat, ProduceArgs};
pub(crate) use server::{DevArgs, ServerArgs};
pub(crate) use topic::{
    TopicArgs, TopicCommand, TopicConfig, TopicCreate, TopicDelete, TopicDescribe,
};

/// A cloud-native message queue that speaks the Kafka protocol.
#[derive(Parser, Debug)]
#[command(
    name = "tidemill",
    version,
    propagate_version = true,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  tidemill dev                                  everything in one process, data in ./tidemill-data
  tidemill topic create orders --partitions 6
  echo 'k1:hello' | tidemill produce orders --key-separator :
  tidemill consume orders --from-beginning --exit-at-end
  tidemill demo                                 see it work, including a kill -9

Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 not found, 4 cluster not available."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Start everything in one process, for development.
    Dev(DevArgs),
    /// Start a server with a configuration file.
    Server(ServerArgs),
    /// Show what Tidemill does: a shop's orders, a group, a kill -9, and a check of every record.
    Demo(DemoArgs),
    /// Create, list, describe, configure and delete topics.
    Topic(TopicArgs),
    /// List, describe, reset and delete consumer groups.
    Group(GroupArgs),
    /// Write records to a topic, from standard input, a file or the command line.
    Produce(ProduceArgs),
    /// Read records of a topic.
    Consume(ConsumeArgs),
    /// Look at the cluster.
    Cluster(ClusterArgs),
}
