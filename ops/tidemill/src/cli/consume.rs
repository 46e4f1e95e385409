//! `consume`.

use clap::{Args, ValueEnum};

use crate::cli::ConnectionArgs;
use crate::cli::parse::timestamp_ms;

/// `tidemill consume`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tidemill consume orders --from-beginning --exit-at-end
  tidemill consume orders --format '{partition}/{offset} {key}: {value}\\n'
  tidemill consume orders --partition 0 --offset 1200 --max-messages 10 --output json
  tidemill consume orders --from-timestamp 2026-11-30T08:00:00Z
  tidemill consume orders --group billing

Placeholders of --format: {topic} {partition} {offset} {timestamp} (milliseconds since 1970) {time} \
(RFC 3339) {key} {value} {headers}; also \\n, \\t, \\\\ and {{ for a brace. Without start and group, \
reading begins behind the last record. Ends with Ctrl-C.")]
pub(crate) struct ConsumeArgs {
    /// The topic's name.
    #[arg(value_name = "TOPIC")]
    pub(crate) topic: String,
    /// Start at the first record; in a group, where the group has committed no offset.
    #[arg(long, conflicts_with_all = ["offset", "from_timestamp"])]
    pub(crate) from_beginning: bool,
    /// Start at this offset of each partition read.
    #[arg(
        long,
        value_name = "OFFSET",
        conflicts_with_all = ["from_timestamp", "group"],
        value_parser = clap::value_parser!(i64).range(0..)
    )]
    pub(crate) offset: Option<i64>,
    /// Start at the first record at or after this time: RFC 3339, or milliseconds since 1970.
    #[arg(long, value_name = "TIME", conflicts_with = "group", value_parser = timestamp_ms)]
    pub(crate) from_timestamp: Option<i64>,
    /// Read only this partition. May be repeated.
    #[arg(
        long = "partition",
        value_name = "N",
        conflicts_with = "group",
        value_parser = clap::value_parser!(i32).range(0..)
    )]
    pub(crate) partitions: Vec<i32>,
    /// Read as a member of this group, and commit what was printed.
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,
    /// End after so many records.
    #[arg(long, value_name = "N")]
    pub(crate) max_messages: Option<u64>,
    /// End when everything that was there at the start has been printed.
    #[arg(long, conflicts_with = "group")]
    pub(crate) exit_at_end: bool,
    /// How a record is printed, in text.
    #[arg(long, default_value = "{value}\\n", value_name = "TEMPLATE")]
    pub(crate) format: String,
    /// How keys, values and headers are shown.
    #[arg(long, value_enum, default_value_t = Encoding::Text, value_name = "ENCODING")]
    pub(crate) encoding: Encoding,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

/// How bytes are shown.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Encoding {
    /// As they are; in json, bytes that are not UTF-8 as {"base64": "..."}.
    Text,
    /// As base64.
    Base64,
    /// As hexadecimal digits.
    Hex,
}
