//! `tidemill consume`.
//!
//! A record counts as read when it has been written to standard output; a group's offsets are
//! committed up to there and no further.

use std::collections::BTreeMap;

use tidemill_client::cluster::offsets::OffsetSpec;
use tidemill_client::{
    AutoOffsetReset, Consumer, ConsumerConfig, ConsumerRecord, ErrorCode, Offset, TimestampMs,
    TopicPartition, Trouble,
};

use crate::cli::{ConsumeArgs, Encoding, OutputForm};
use crate::commands::session::{Session, no_partition};
use crate::failure::Failure;
use crate::output::{Console, ShownRecord, Template, json_record};
use crate::stop_signals::StopSignals;

/// How long one look for records waits.
const POLL_MS: u64 = 200;

/// Does what the arguments say.
pub(super) async fn carry_out(session: &mut Session, args: &ConsumeArgs) -> Result<(), Failure> {
    let template =
        Template::parse(&args.format).map_err(|why| Failure::usage(format!("--format: {why}")))?;
    let mut signals = StopSignals::listen(false)
        .map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))?;
    let mut consumer =
        session.client.consumer(consumer_config(args)).map_err(|error| session.failure(&error))?;
    let partitions = partitions(session, &consumer, args).await?;
    if let Some(offset) = args.offset {
        check_offset(session, &consumer, &partitions, Offset(offset)).await?;
    }
    let begun = begin(&mut consumer, args, partitions).await;
    let ends = begun.map_err(|error| session.failure(&error))?;
    let mut reading = Reading {
        printer: Printer { template, encoding: args.encoding, line: Vec::new() },
        ends,
        left: args.max_messages,
        commits: args.group.is_some(),
        patience_ms: args.connection.timeout_ms,
    };
    let done = tokio::select! {
        done = reading.read(&mut consumer, session) => done,
        _ = signals.first() => Ok(()),
    };
    let closed = finish(consumer, args).await;
    done.and(closed.map_err(|error| session.failure(&error)))
}

fn consumer_config(args: &ConsumeArgs) -> ConsumerConfig {
    let begins_early = args.from_beginning;
    // No more than is wanted is taken, so that what is committed is what was printed.
    let wanted = args.max_messages.map_or(500, |count| usize::try_from(count).unwrap_or(500));
    ConsumerConfig {
        group_id: args.group.clone(),
        auto_offset_reset: if begins_early {
            AutoOffsetReset::Earliest
        } else {
            AutoOffsetReset::Latest
        },
        auto_commit_interval_ms: None,
        poll_records_max: wanted.clamp(1, 500),
        fetch_wait_ms_max: POLL_MS,
        ..ConsumerConfig::default()
    }
}

/// The partitions to read. Asking for them also tells at once whether there is a cluster and a topic.
async fn partitions(
    session: &Session,
    consumer: &Consumer,
    args: &ConsumeArgs,
) -> Result<Vec<TopicPartition>, Failure> {
    let all = consumer.partitions(&args.topic).await.map_err(|error| session.failure(&error))?;
    let is_there = |index: &i32| all.iter().any(|one| one.partition.0 == *index);
    if let Some(missing) = args.partitions.iter().find(|index| !is_there(index)) {
        return Err(no_partition(&args.topic, *missing, all.len()));
    }
    let is_wanted = |index| args.partitions.is_empty() || args.partitions.contains(&index);
    Ok(all.into_iter().filter(|one| is_wanted(one.partition.0)).collect())
}

/// Refuses an offset at which nothing is and nothing will be next.
async fn check_offset(
    session: &Session,
    consumer: &Consumer,
    partitions: &[TopicPartition],
    offset: Offset,
) -> Result<(), Failure> {
    let found = async |spec| offsets_of(consumer, partitions, spec).await;
    let ends = found(OffsetSpec::Latest).await.map_err(|error| session.failure(&error))?;
    let starts = found(OffsetSpec::Earliest).await.map_err(|error| session.failure(&error))?;
    if let Some((partition, end)) = ends.iter().find(|(_, end)| offset > **end) {
        let message = format!("offset {offset} is beyond the end of {partition} ({end})");
        return Err(Failure::not_found(message));
    }
    if let Some((partition, start)) = starts.iter().find(|(_, start)| offset < **start) {
        let message = format!("offset {offset} lies before the first of {partition} ({start})");
        return Err(Failure::not_found(message));
    }
    Ok(())
}

/// Says what to read and from where; the answer is where each partition ended then, if that is where
/// to stop.
async fn begin(
    consumer: &mut Consumer,
    args: &ConsumeArgs,
    partitions: Vec<TopicPartition>,
) -> tidemill_client::Result<Option<BTreeMap<TopicPartition, Offset>>> {
    if args.group.is_some() {
        consumer.subscribe(&[args.topic.as_str()])?;
        return Ok(None);
    }
    let ends = match args.exit_at_end {
        true => Some(offsets_of(consumer, &partitions, OffsetSpec::Latest).await?),
        false => None,
    };
    let spec = match (args.from_beginning, args.from_timestamp) {
        (true, _) => OffsetSpec::Earliest,
        (false, Some(ms)) => OffsetSpec::At(TimestampMs(ms)),
        (false, None) => OffsetSpec::Latest,
    };
    consumer.assign_at(partitions.iter().cloned(), spec)?;
    if let Some(offset) = args.offset {
        for partition in &partitions {
            consumer.seek(partition, Offset(offset))?;
        }
    }
    Ok(ends)
}

async fn offsets_of(
    consumer: &Consumer,
    partitions: &[TopicPartition],
    spec: OffsetSpec,
) -> tidemill_client::Result<BTreeMap<TopicPartition, Offset>> {
    let wanted = partitions.iter().map(|one| (one.clone(), spec)).collect();
    let mut offsets = BTreeMap::new();
    for (partition, listed) in consumer.list_offsets(&wanted).await {
        offsets.insert(partition, listed?.offset.unwrap_or(Offset(0)));
    }
    Ok(offsets)
}

async fn finish(consumer: Consumer, args: &ConsumeArgs) -> tidemill_client::Result<()> {
    if args.group.is_some() { consumer.close().await } else { Ok(()) }
}

struct Reading {
    printer: Printer,
    ends: Option<BTreeMap<TopicPartition, Offset>>,
    left: Option<u64>,
    commits: bool,
    /// How long a partition whose records the server cannot read is asked for again.
    patience_ms: u64,
}

impl Reading {
    /// Reads until there is nothing more to read, or nobody reads the output.
    async fn read(
        &mut self,
        consumer: &mut Consumer,
        session: &mut Session,
    ) -> Result<(), Failure> {
        while self.left != Some(0) && !session.console.is_gone() && !self.is_at_end(consumer) {
            let polled = consumer.poll(POLL_MS).await;
            let records = polled.map_err(|error| session.failure(&error))?;
            self.check(&consumer.troubles(), session)?;
            if records.is_empty() {
                continue;
            }
            for record in &records {
                self.take(record, &mut session.console)?;
            }
            session.console.flush()?;
            if self.commits && !session.console.is_gone() {
                consumer.commit().await.map_err(|error| session.failure(&error))?;
            }
        }
        Ok(())
    }

    /// Gives up on records that the server cannot read, and, where the end is near, on a server that is
    /// not there. Who reads on for ever waits for that one.
    fn check(&self, troubles: &[Trouble], session: &Session) -> Result<(), Failure> {
        let is_hopeless = |trouble: &&Trouble| {
            let is_unreadable = trouble.error.code() == Some(ErrorCode::KAFKA_STORAGE_ERROR);
            trouble.lasts_ms >= self.patience_ms && (is_unreadable || self.ends.is_some())
        };
        match troubles.iter().find(is_hopeless) {
            Some(trouble) => Err(session.failure(&trouble.error)),
            None => Ok(()),
        }
    }

    fn take(&mut self, record: &ConsumerRecord, console: &mut Console) -> Result<(), Failure> {
        let is_beyond = self
            .ends
            .as_ref()
            .and_then(|ends| ends.get(&record.partition))
            .is_some_and(|end| record.offset >= *end);
        if is_beyond || self.left == Some(0) {
            return Ok(());
        }
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
        self.printer.print(record, console)
    }

    fn is_at_end(&self, consumer: &Consumer) -> bool {
        let Some(ends) = &self.ends else { return false };
        ends.iter().all(|(partition, end)| {
            *end == Offset(0)
                || consumer.position(partition).is_some_and(|position| position >= *end)
        })
    }
}

/// Prints records, one after the other.
struct Printer {
    template: Template,
    encoding: Encoding,
    line: Vec<u8>,
}

impl Printer {
    fn print(&mut self, record: &ConsumerRecord, console: &mut Console) -> Result<(), Failure> {
        let headers: Vec<(&str, Option<&[u8]>)> = record
            .headers
            .iter()
            .map(|header| (header.key.as_str(), header.value.as_deref()))
            .collect();
        let shown = ShownRecord {
            topic: &record.partition.topic,
            partition: record.partition.partition.0,
            offset: record.offset.0,
            timestamp_ms: record.timestamp.0,
            key: record.key.as_deref(),
            value: record.value.as_deref(),
            headers: &headers,
        };
        if console.form() == OutputForm::Json {
            return console.json(json_record(&shown, self.encoding));
        }
        self.line.clear();
        self.template.fill(&shown, self.encoding, &mut self.line);
        console.bytes(&self.line)
    }
}
