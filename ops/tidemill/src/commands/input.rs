//! What `produce` reads: lines, each a record.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use tidemill_client::{PartitionIndex, Record, TimestampMs, header::Header};
use tokio::sync::mpsc;

use crate::cli::{InputFormat, ProduceArgs};
use crate::failure::Failure;
use crate::output::bytes_of_json;

/// Lines that wait to become records.
const LINES_WAITING_MAX: usize = 1024;

/// The longest line. The topic's `max.message.bytes` limits records further.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// A line, numbered from 1, without its end.
pub(super) type Line = (u64, Vec<u8>);

/// Reads lines on a thread of its own, since reading standard input blocks.
///
/// # Errors
/// The file cannot be opened. What goes wrong later comes with the lines.
pub(super) fn read_lines(
    file: Option<&Path>,
) -> Result<mpsc::Receiver<Result<Line, Failure>>, Failure> {
    let input: Box<dyn Read + Send> = match file {
        Some(path) => Box::new(File::open(path).map_err(|error| {
            Failure::failed(format!("cannot open {}: {error}", path.display()))
        })?),
        None => Box::new(io::stdin()),
    };
    let (lines, receiver) = mpsc::channel(LINES_WAITING_MAX);
    std::thread::spawn(move || {
        let mut input = BufReader::with_capacity(64 << 10, input);
        for number in 1.. {
            let line = next_line(&mut input, number).transpose();
            let Some(line) = line else { return };
            let is_last = line.is_err();
            if lines.blocking_send(line.map(|line| (number, line))).is_err() || is_last {
                return;
            }
        }
    });
    Ok(receiver)
}

fn next_line(input: &mut impl BufRead, number: u64) -> Result<Option<Vec<u8>>, Failure> {
    let mut line = Vec::new();
    let read = input.by_ref().take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line);
    let count = read.map_err(|error| Failure::failed(format!("cannot read input: {error}")))?;
    if count == 0 {
        return Ok(None);
    }
    if count as u64 > LINE_BYTES_MAX {
        return Err(Failure::failed(format!("line {number} has more than {LINE_BYTES_MAX} bytes")));
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    }
    Ok(Some(line))
}

/// How lines become records.
pub(super) struct RecordShape<'a> {
    args: &'a ProduceArgs,
    topic: Arc<str>,
    headers: Vec<Header>,
}

impl<'a> RecordShape<'a> {
    /// As the arguments say.
    pub(super) fn new(args: &'a ProduceArgs) -> Self {
        let headers =
            args.headers.iter().map(|(name, value)| Header::new(name, value.clone())).collect();
        Self { args, topic: Arc::from(args.topic.as_str()), headers }
    }

    /// The record with this value, and what the arguments say of every record.
    pub(super) fn of_value(&self, value: Vec<u8>) -> Record {
        let mut record = Record::to(Arc::clone(&self.topic));
        record.key = self.args.key.clone().map(|key| key.into_bytes().into());
        record.value = Some(value)
            .filter(|value| !(self.args.empty_as_null && value.is_empty()))
            .map(Into::into);
        record.partition = self.args.partition.map(PartitionIndex);
        record.headers.clone_from(&self.headers);
        record
    }

    /// The record of a line.
    ///
    /// # Errors
    /// The line is not in the form asked for; its number is named.
    pub(super) fn of_line(&self, (number, line): Line) -> Result<Record, Failure> {
        let refuse = |why: String| Failure::failed(format!("line {number}: {why}"));
        match self.args.format {
            InputFormat::Json => self.of_json(&line).map_err(refuse),
            InputFormat::Lines => match &self.args.key_separator {
                None => Ok(self.of_value(line)),
                Some(separator) => {
                    let at = find(&line, separator.as_bytes())
                        .ok_or_else(|| refuse(format!("there is no separator {separator:?}")))?;
                    let mut record = self.of_value(line[at + separator.len()..].to_vec());
                    record.key = Some(line[..at].to_vec().into());
                    Ok(record)
                }
            },
        }
    }

    fn of_json(&self, line: &[u8]) -> Result<Record, String> {
        let object: Map<String, Value> =
            serde_json::from_slice(line).map_err(|error| format!("not a JSON object: {error}"))?;
        let mut record = self.of_value(Vec::new());
        record.value = None;
        for (name, value) in &object {
            let named = |why: String| format!("{name}: {why}");
            match name.as_str() {
                "value" => record.value = bytes_of_json(value).map_err(named)?.map(Into::into),
                "key" => {
                    if let Some(key) = bytes_of_json(value).map_err(named)? {
                        record.key = Some(key.into());
                    }
                }
                "headers" => record.headers.extend(headers(value).map_err(named)?),
                // A record with an offset was consumed: it says where it was, not where it goes.
                "partition" if object.contains_key("offset") => {}
                "partition" => record.partition = Some(partition(value).map_err(named)?),
                "timestamp_ms" => {
                    let ms = value.as_i64().filter(|ms| *ms >= 0);
                    let ms =
                        ms.ok_or_else(|| named("must be milliseconds since 1970".to_owned()))?;
                    record.timestamp = Some(TimestampMs(ms));
                }
                "topic" | "offset" | "schema_version" => {}
                _ => return Err(format!("unknown field {name:?}")),
            }
        }
        if let Some(partition) = self.args.partition {
            record.partition = Some(PartitionIndex(partition));
        }
        Ok(record)
    }
}

fn partition(value: &Value) -> Result<PartitionIndex, String> {
    let number = value.as_i64().and_then(|number| i32::try_from(number).ok());
    number
        .filter(|number| *number >= 0)
        .map(PartitionIndex)
        .ok_or_else(|| "must be a number".to_owned())
}

fn headers(value: &Value) -> Result<Vec<Header>, String> {
    let wrong = || "must be a list of {\"name\": ..., \"value\": ...}".to_owned();
    let header = |value: &Value| {
        let name = value.get("name").and_then(Value::as_str).ok_or_else(wrong)?;
        let bytes = bytes_of_json(value.get("value").unwrap_or(&Value::Null))?;
        Ok(Header { key: name.to_owned(), value: bytes.map(Into::into) })
    };
    value.as_array().ok_or_else(wrong)?.iter().map(header).collect()
}

fn find(line: &[u8], separator: &[u8]) -> Option<usize> {
    line.windows(separator.len()).position(|window| window == separator)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn args(options: &[&str]) -> ProduceArgs {
        let words = ["tidemill", "produce", "t"].into_iter().chain(options.iter().copied());
        let Command::Produce(args) = Cli::try_parse_from(words).unwrap().command else {
            panic!("not produce");
        };
        args
    }

    fn record(options: &[&str], line: &str) -> Result<Record, String> {
        let args = args(options);
        let made = RecordShape::new(&args).of_line((7, line.as_bytes().to_vec()));
        made.map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_line_is_a_value_or_key_and_value() {
        assert_eq!(record(&[], "a:b").unwrap(), Record::to("t").value("a:b"));
        let keyed = record(&["--key-separator", ":", "--header", "h=1"], "a:b:c").unwrap();
        assert_eq!(keyed, Record::to("t").key("a").value("b:c").header("h", "1"));
        assert_eq!(
            record(&["--key-separator", r"\t"], "a\tb").unwrap(),
            Record::to("t").key("a").value("b")
        );
        assert!(record(&["--key-separator", ":"], "ab").unwrap_err().contains("line 7"));
    }

    #[test]
    fn an_empty_value_is_a_tombstone_if_asked() {
        assert_eq!(record(&["--key", "k"], "").unwrap(), Record::to("t").key("k").value(""));
        assert_eq!(
            record(&["--key", "k", "--empty-as-null"], "").unwrap(),
            Record::to("t").key("k")
        );
    }

    #[test]
    fn json_says_everything_about_a_record() {
        let line = r#"{"topic":"x","partition":2,"timestamp_ms":9,"key":"k","value":{"base64":"/w=="},
            "headers":[{"name":"a","value":"1"},{"name":"b","value":null}]}"#;
        let made = record(&["--format", "json"], line).unwrap();
        let mut expected = Record::to("t").partition(2).timestamp(TimestampMs(9)).key("k");
        expected = expected.value(vec![0xff]).header("a", "1");
        expected.headers.push(Header { key: "b".to_owned(), value: None });
        assert_eq!(made, expected);
        assert_eq!(
            record(&["--format", "json", "--key", "d"], "{}").unwrap(),
            Record::to("t").key("d")
        );
    }

    #[test]
    fn the_partition_of_a_consumed_record_is_not_where_it_goes() {
        let consumed = r#"{"topic":"x","offset":5,"partition":2,"value":"v"}"#;
        let made = record(&["--format", "json"], consumed).unwrap();
        assert_eq!(made, Record::to("t").value("v"));
    }

    #[test]
    fn json_that_says_something_else_is_refused_by_name() {
        for (line, word) in [
            ("[]", "JSON object"),
            (r#"{"valeu":"x"}"#, "valeu"),
            (r#"{"value":5}"#, "value"),
            (r#"{"partition":-1}"#, "partition"),
            (r#"{"headers":{"a":"b"}}"#, "headers"),
            (r#"{"timestamp_ms":"now"}"#, "timestamp_ms"),
        ] {
            let refused = record(&["--format", "json"], line).unwrap_err();
            assert!(refused.contains("line 7") && refused.contains(word), "{refused}");
        }
    }

    #[test]
    fn lines_end_with_or_without_a_carriage_return() {
        let mut input = io::Cursor::new(b"a\r\n\nb".to_vec());
        let mut next = || next_line(&mut input, 1).unwrap();
        assert_eq!(next(), Some(b"a".to_vec()));
        assert_eq!(next(), Some(Vec::new()));
        assert_eq!(next(), Some(b"b".to_vec()));
        assert_eq!(next(), None);
    }
}
