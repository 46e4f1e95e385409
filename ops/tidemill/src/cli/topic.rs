//! `topic`.

use clap::{Args, Subcommand};

use crate::cli::ConnectionArgs;

/// `tidemill topic`.
#[derive(Args, Debug)]
pub(crate) struct TopicArgs {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(subcommand)]
    pub(crate) command: TopicCommand,
}

/// What can be done with topics.
#[derive(Subcommand, Debug)]
pub(crate) enum TopicCommand {
    /// Create a topic.
    Create(TopicCreate),
    /// List topics.
    List(TopicList),
    /// Show partitions, offsets and configs of topics.
    Describe(TopicDescribe),
    /// Show or change the configs of a topic.
    Config(TopicConfig),
    /// Delete topics and all their records.
    Delete(TopicDelete),
}

/// `tidemill topic create`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tidemill topic create orders
  tidemill topic create orders --partitions 12 --config retention.ms=3600000
  tidemill topic create orders --if-not-exists --output json")]
pub(crate) struct TopicCreate {
    /// The topic's name.
    #[arg(value_name = "TOPIC")]
    pub(crate) name: String,
    /// How many partitions; by default what the cluster is configured to give.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=100_000))]
    pub(crate) partitions: Option<i32>,
    /// A config of the topic. May be repeated.
    #[arg(long = "config", value_name = "NAME=VALUE", value_parser = crate::cli::parse::name_and_value)]
    pub(crate) configs: Vec<(String, String)>,
    /// Succeed if the topic exists already, whatever its partitions and configs are.
    #[arg(long)]
    pub(crate) if_not_exists: bool,
}

/// `tidemill topic list`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tidemill topic list
  tidemill topic list --output json")]
pub(crate) struct TopicList {}

/// `tidemill topic describe`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tidemill topic describe orders
  tidemill topic describe orders payments --output json")]
pub(crate) struct TopicDescribe {
    /// The topics' names.
    #[arg(required = true, value_name = "TOPIC")]
    pub(crate) names: Vec<String>,
}

/// `tidemill topic config`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tidemill topic config orders
  tidemill topic config orders --all
  tidemill topic config orders --set retention.ms=86400000 --unset max.message.bytes")]
pub(crate) struct TopicConfig {
    /// The topic's name.
    #[arg(value_name = "TOPIC")]
    pub(crate) name: String,
    /// Set a config. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = crate::cli::parse::name_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Return a config to its default. May be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) unset: Vec<String>,
    /// Show also the configs that are at their defaults.
    #[arg(long)]
    pub(crate) all: bool,
}

/// `tidemill topic delete`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tidemill topic delete orders
  tidemill topic delete orders payments --if-exists")]
pub(crate) struct TopicDelete {
    /// The topics' names.
    #[arg(required = true, value_name = "TOPIC")]
    pub(crate) names: Vec<String>,
    /// Succeed also for topics that do not exist.
    #[arg(long)]
    pub(crate) if_exists: bool,
}
