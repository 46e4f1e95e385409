//! `group`.

use clap::{Args, Subcommand};

use crate::cli::ConnectionArgs;
use crate::cli::parse::timestamp_ms;

/// `tidemill group`.
#[derive(Args, Debug)]
pub(crate) struct GroupArgs {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(subcommand)]
    pub(crate) command: GroupCommand,
}

/// What can be done with consumer groups.
#[derive(Subcommand, Debug)]
pub(crate) enum GroupCommand {
    /// List consumer groups.
    List(GroupList),
    /// Show members, committed offsets and lag of groups.
    Describe(GroupDescribe),
    /// Move the committed offsets of a group that has no members.
    ResetOffsets(ResetOffsets),
    /// Delete groups that have no members, with their offsets.
    Delete(GroupDelete),
}

/// `tidemill group list`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tidemill group list
  tidemill group list --output json")]
pub(crate) struct GroupList {}

/// `tidemill group describe`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tidemill group describe billing
  tidemill group describe billing shipping --output json")]
pub(crate) struct GroupDescribe {
    /// The groups' names.
    #[arg(required = true, value_name = "GROUP")]
    pub(crate) names: Vec<String>,
}

/// `tidemill group reset-offsets`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tidemill group reset-offsets billing --topic orders --to-earliest
  tidemill group reset-offsets billing --topic orders --to-timestamp 2026-11-30T08:00:00Z --dry-run
  tidemill group reset-offsets billing --topic orders --partition 0 --to-offset 1200")]
pub(crate) struct ResetOffsets {
    /// The group's name.
    #[arg(value_name = "GROUP")]
    pub(crate) name: String,
    /// The topic whose offsets are moved. May be repeated.
    #[arg(long = "topic", required = true, value_name = "TOPIC")]
    pub(crate) topics: Vec<String>,
    /// Only this partition. May be repeated.
    #[arg(long = "partition", value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    pub(crate) partitions: Vec<i32>,
    #[command(flatten)]
    pub(crate) target: ResetTarget,
    /// Show what would be committed, and commit nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Where offsets are moved to; exactly one.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct ResetTarget {
    /// To the first record.
    #[arg(long)]
    pub(crate) to_earliest: bool,
    /// Behind the last record.
    #[arg(long)]
    pub(crate) to_latest: bool,
    /// To this offset, or the nearest one that exists.
    #[arg(long, value_name = "OFFSET", value_parser = clap::value_parser!(i64).range(0..))]
    pub(crate) to_offset: Option<i64>,
    /// To the first record at or after this time: RFC 3339, or milliseconds since 1970.
    #[arg(long, value_name = "TIME", value_parser = timestamp_ms)]
    pub(crate) to_timestamp: Option<i64>,
    /// By so many records: back if negative.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) shift_by: Option<i64>,
}

/// `tidemill group delete`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tidemill group delete billing
  tidemill group delete billing shipping --output json")]
pub(crate) struct GroupDelete {
    /// The groups' names.
    #[arg(required = true, value_name = "GROUP")]
    pub(crate) names: Vec<String>,
}
