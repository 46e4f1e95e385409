//! `tidemill produce`.
//!
//! Reading, sending and learning what became of records go on side by side, so that an error is told
//! when it happens and not at the end of the input.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};
use tidemill_client::{
    Acks, Codec, Delivery, PartitionIndex, Producer, ProducerConfig, Record, RecordMetadata,
};
use tokio::sync::mpsc;

use crate::cli::{self, ProduceArgs};
use crate::commands::input::{Line, RecordShape, read_lines};
use crate::commands::session::{Session, no_partition};
use crate::failure::Failure;

/// Records sent whose fate is not known yet.
const DELIVERIES_WAITING_MAX: usize = 20_000;

/// What became of the records of one partition.
#[derive(Clone, Copy, Default)]
struct Written {
    records: u64,
    first_offset: Option<i64>,
    last_offset: Option<i64>,
}

/// Does what the arguments say.
pub(super) async fn carry_out(session: &mut Session, args: &ProduceArgs) -> Result<(), Failure> {
    check_partition(session, args).await?;
    let producer = session.client.producer(producer_config(args, session));
    let producer = producer.map_err(|error| session.failure(&error))?;
    let shape = RecordShape::new(args);
    let mut run = Run {
        session,
        producer,
        waiting: VecDeque::new(),
        written: BTreeMap::new(),
        lines_sent: 0,
        is_input_bad: false,
    };
    let done = if args.values.is_empty() {
        run.send_lines(&shape, read_lines(args.file.as_deref())?).await
    } else {
        run.send_values(&shape, &args.values).await
    };
    let learned = run.learn_all().await;
    let done = match (done, run.is_input_bad && learned.is_ok()) {
        (Err(failure), true) => Err(failure.hint(lines_written(run.lines_sent))),
        (done, _) => done.and(learned),
    };
    let written = run.written;
    let object = as_json(&args.topic, &written);
    let shown = session.console.result(object, || as_text(&args.topic, &written));
    done.and(shown)
}

/// Refuses a partition that the topic does not have. A topic that is not there yet may be created by the
/// first record.
async fn check_partition(session: &Session, args: &ProduceArgs) -> Result<(), Failure> {
    let Some(partition) = args.partition else { return Ok(()) };
    let admin = session.client.admin().map_err(|error| session.failure(&error))?;
    let described = admin.describe_topics(&[args.topic.as_str()]).await;
    for (topic, described) in described.map_err(|error| session.failure(&error))? {
        let Ok(described) = described else { continue };
        if !described.partitions.contains_key(&PartitionIndex(partition)) {
            return Err(no_partition(&topic, partition, described.partitions.len()));
        }
    }
    Ok(())
}

/// What is said when the input cannot be read on.
fn lines_written(lines: u64) -> String {
    match lines {
        0 => "nothing was written".to_owned(),
        1 => "line 1 was written, and no more".to_owned(),
        _ => format!("lines 1 to {lines} were written, and no more"),
    }
}

fn producer_config(args: &ProduceArgs, session: &Session) -> ProducerConfig {
    let (acks, idempotent) = match args.acks {
        None | Some(cli::Acks::All) => (Acks::All, true),
        Some(cli::Acks::One) => (Acks::Leader, false),
        Some(cli::Acks::None) => (Acks::None, false),
    };
    let codec = match args.compression {
        cli::Compression::None => Codec::None,
        cli::Compression::Gzip => Codec::Gzip,
        cli::Compression::Snappy => Codec::Snappy,
        cli::Compression::Lz4 => Codec::Lz4,
        cli::Compression::Zstd => Codec::Zstd,
    };
    let timeout_ms = session.client.config().api_timeout_ms;
    ProducerConfig {
        acks,
        idempotent,
        codec,
        batch_bytes_max: 64 << 10,
        request_bytes_max: 16 << 20,
        buffer_bytes_max: 64 << 20,
        send_block_ms_max: timeout_ms,
        delivery_timeout_ms: timeout_ms.max(1_000),
        ..ProducerConfig::default()
    }
}

struct Run<'a> {
    session: &'a Session,
    producer: Producer,
    waiting: VecDeque<Delivery>,
    written: BTreeMap<i32, Written>,
    lines_sent: u64,
    /// Whether a line could not be read, or was no record.
    is_input_bad: bool,
}

impl Run<'_> {
    async fn send_values(
        &mut self,
        shape: &RecordShape<'_>,
        values: &[String],
    ) -> Result<(), Failure> {
        for value in values {
            self.send(shape.of_value(value.clone().into_bytes())).await?;
        }
        Ok(())
    }

    async fn send_lines(
        &mut self,
        shape: &RecordShape<'_>,
        mut lines: mpsc::Receiver<Result<Line, Failure>>,
    ) -> Result<(), Failure> {
        loop {
            tokio::select! {
                biased;
                outcome = first(&mut self.waiting), if !self.waiting.is_empty() => {
                    self.learn(outcome)?;
                }
                line = lines.recv(), if self.waiting.len() < DELIVERIES_WAITING_MAX => {
                    let Some(line) = line else { return Ok(()) };
                    let record = line.and_then(|line| shape.of_line(line));
                    self.is_input_bad = record.is_err();
                    self.send(record?).await?;
                    self.lines_sent += 1;
                }
            }
        }
    }

    async fn send(&mut self, record: Record) -> Result<(), Failure> {
        let delivery = self.producer.send(record).await;
        self.waiting.push_back(delivery.map_err(|error| self.session.failure(&error))?);
        Ok(())
    }

    async fn learn_all(&mut self) -> Result<(), Failure> {
        let mut first_failure = Ok(());
        while !self.waiting.is_empty() {
            let outcome = first(&mut self.waiting).await;
            first_failure = first_failure.and(self.learn(outcome));
        }
        first_failure
    }

    fn learn(&mut self, outcome: tidemill_client::Result<RecordMetadata>) -> Result<(), Failure> {
        self.waiting.pop_front();
        let record = outcome.map_err(|error| self.session.failure(&error))?;
        let written = self.written.entry(record.partition.partition.0).or_default();
        written.records += 1;
        if let Some(offset) = record.offset {
            written.first_offset.get_or_insert(offset.0);
            written.last_offset = Some(offset.0);
        }
        Ok(())
    }
}

/// What becomes of the record that was sent first. Cancel-safe: it stays the first.
async fn first(waiting: &mut VecDeque<Delivery>) -> tidemill_client::Result<RecordMetadata> {
    match waiting.front_mut() {
        Some(delivery) => delivery.await,
        None => std::future::pending().await,
    }
}

fn as_json(topic: &str, written: &BTreeMap<i32, Written>) -> Value {
    let partitions: Vec<Value> = written
        .iter()
        .map(|(partition, written)| {
            json!({
                "partition": partition,
                "records_count": written.records,
                "first_offset": written.first_offset,
                "last_offset": written.last_offset,
            })
        })
        .collect();
    let records: u64 = written.values().map(|written| written.records).sum();
    json!({ "topic": topic, "records_count": records, "partitions": partitions })
}

fn as_text(topic: &str, written: &BTreeMap<i32, Written>) -> String {
    let records: u64 = written.values().map(|written| written.records).sum();
    let mut parts = Vec::new();
    for (partition, written) in written {
        parts.push(match (written.first_offset, written.last_offset) {
            (Some(first), Some(last)) if first == last => {
                format!("partition {partition}: offset {first}")
            }
            (Some(first), Some(last)) => {
                format!("partition {partition}: offsets {first} to {last}")
            }
            _ => format!("partition {partition}"),
        });
    }
    let records = if records == 1 { "1 record".to_owned() } else { format!("{records} records") };
    match parts.is_empty() {
        true => format!("{records} written to {topic}"),
        false => format!("{records} written to {topic} ({})", parts.join("; ")),
    }
}
