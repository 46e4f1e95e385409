//! `produce`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::ConnectionArgs;
use crate::cli::parse::{name_and_value, separator};

/// `tidemill produce`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tidemill produce orders --value 'hello' --key k1 --header source=cli
  tail -f app.log | tidemill produce logs
  echo 'k1:hello' | tidemill produce orders --key-separator :
  tidemill consume orders --from-beginning --exit-at-end --output json \\
    | tidemill produce orders-copy --format json

One line of input is one record. In json each line is an object: value, and if wanted key, headers, \
partition, timestamp_ms; a value or key is null, a string, or {\"base64\": \"...\"}. That is what \
`tidemill consume --output json` prints; where a record has an offset, its partition is not used. The \
producer is idempotent unless --acks is 0 or 1.")]
pub(crate) struct ProduceArgs {
    /// The topic's name.
    #[arg(value_name = "TOPIC")]
    pub(crate) topic: String,
    /// A record's value; may be repeated, one record each. Standard input is not read then.
    #[arg(long = "value", value_name = "TEXT", conflicts_with_all = ["file", "format", "key_separator"])]
    pub(crate) values: Vec<String>,
    /// Read records from a file and not from standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// What a line of input is.
    #[arg(long, value_enum, default_value_t = InputFormat::Lines, value_name = "FORMAT")]
    pub(crate) format: InputFormat,
    /// The key of every record that has none of its own.
    #[arg(long, value_name = "TEXT")]
    pub(crate) key: Option<String>,
    /// What stands between key and value in a line, for example ':' or '\t'.
    #[arg(long, value_name = "TEXT", value_parser = separator)]
    pub(crate) key_separator: Option<String>,
    /// A header of every record. May be repeated.
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub(crate) headers: Vec<(String, String)>,
    /// The partition of every record that names none; by default the key's, or any.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    pub(crate) partition: Option<i32>,
    /// Write an empty value as null, which is a tombstone in a compacted topic.
    #[arg(long)]
    pub(crate) empty_as_null: bool,
    /// How batches are compressed.
    #[arg(long, value_enum, default_value_t = Compression::None, value_name = "CODEC")]
    pub(crate) compression: Compression,
    /// When a record counts as written: 0 when sent, 1 and all when durable [default: all].
    #[arg(long, value_enum, value_name = "ACKS")]
    pub(crate) acks: Option<Acks>,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

/// What a line of input is.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InputFormat {
    /// A value, or key and value with --key-separator.
    Lines,
    /// An object with value, key, headers, partition, timestamp_ms.
    Json,
}

/// How batches are compressed.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compression {
    /// Not at all.
    None,
    /// Gzip.
    Gzip,
    /// Snappy.
    Snappy,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
}

/// When a record counts as written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Acks {
    /// When it was sent.
    #[value(name = "0")]
    None,
    /// When it is durable.
    #[value(name = "1")]
    One,
    /// When it is durable.
    #[value(name = "all", alias = "-1")]
    All,
}
