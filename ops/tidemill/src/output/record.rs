//! A record, ready to be shown.

use serde_json::{Value, json};

use crate::cli::Encoding;
use crate::output::json_bytes;

/// What is shown of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShownRecord<'a> {
    /// Its topic.
    pub(crate) topic: &'a str,
    /// Its partition.
    pub(crate) partition: i32,
    /// Its offset.
    pub(crate) offset: i64,
    /// Its timestamp, in milliseconds since 1970.
    pub(crate) timestamp_ms: i64,
    /// Its key.
    pub(crate) key: Option<&'a [u8]>,
    /// Its value.
    pub(crate) value: Option<&'a [u8]>,
    /// Its headers, in order.
    pub(crate) headers: &'a [(&'a str, Option<&'a [u8]>)],
}

/// A record in JSON: what `produce --format json` reads.
pub(crate) fn json_record(record: &ShownRecord<'_>, encoding: Encoding) -> Value {
    let headers: Vec<Value> = record
        .headers
        .iter()
        .map(|(name, value)| json!({ "name": name, "value": json_bytes(*value, encoding) }))
        .collect();
    json!({
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        "key": json_bytes(record.key, encoding),
        "value": json_bytes(record.value, encoding),
        "headers": headers,
    })
}
