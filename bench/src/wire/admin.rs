//! What is asked once, through the crate's codec and a blocking connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use tidemill_kafka::messages::api_versions::ApiVersionsRequest;
use tidemill_kafka::messages::create_partitions::{CreatePartitionsRequest, CreatePartitionsTopic};
use tidemill_kafka::messages::create_topics::{
    CreatableTopic, CreatableTopicConfig, CreateTopicsRequest,
};
use tidemill_kafka::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic, TIMESTAMP_LATEST,
};
use tidemill_kafka::{ErrorCode, KString, Request, decode_response, encode_request};

use crate::wire::{CLIENT_ID, FRAME_LENGTH_BYTES};

/// How long an answer may take: creating 10,000 partitions takes Kafka a while.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// The same, as requests carry it.
const ANSWER_TIMEOUT_MS: i32 = 120_000;

/// Partitions created by one request. Kafka's controller refuses an operation of more than 10,000
/// metadata records (POLICY_VIOLATION), and a partition takes at least one.
const NEW_PARTITIONS_MAX: u32 = 4_000;

/// How long the partitions of a new topic may be without a leader.
const LEADERS_TIMEOUT: Duration = Duration::from_secs(60);

/// The largest answer: the offsets of a topic with 100,000 partitions.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// An administrative connection.
#[derive(Debug)]
pub struct Admin {
    stream: TcpStream,
    correlation_id: i32,
}

impl Admin {
    /// Connects.
    pub fn connect(broker: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect_timeout(&broker, Duration::from_secs(5))
            .with_context(|| format!("connect to {broker}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        Ok(Self { stream, correlation_id: 0 })
    }

    /// The connection, to be held open.
    #[must_use]
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Asks what the broker speaks, as every client's first request does.
    pub fn api_versions(&mut self) -> anyhow::Result<()> {
        let request = ApiVersionsRequest {
            client_software_name: KString::from(CLIENT_ID),
            client_software_version: KString::from(env!("CARGO_PKG_VERSION")),
        };
        let answer = self.call(&request, 3)?;
        ensure!(answer.error_code == ErrorCode::NONE, "ApiVersions: {:?}", answer.error_code);
        Ok(())
    }

    /// Creates a topic, in steps that Kafka takes, and waits until each of its partitions has a
    /// leader. Each keeps its newest `retention_bytes`, if that is said.
    pub fn create_topic(
        &mut self,
        name: &str,
        partitions: u32,
        retention_bytes: Option<u64>,
    ) -> anyhow::Result<()> {
        let config = |bytes: u64| CreatableTopicConfig {
            name: KString::from("retention.bytes"),
            value: Some(KString::from(bytes.to_string().as_str())),
        };
        let topic = CreatableTopic {
            name: KString::from(name),
            num_partitions: i32::try_from(partitions.min(NEW_PARTITIONS_MAX))?,
            replication_factor: 1,
            configs: retention_bytes.map(config).into_iter().collect(),
            ..CreatableTopic::default()
        };
        let request = CreateTopicsRequest {
            topics: vec![topic],
            timeout_ms: ANSWER_TIMEOUT_MS,
            validate_only: false,
        };
        let answer = self.call(&request, 7)?;
        let created = answer.topics.first().context("CreateTopics answers no topic")?;
        let message = created.error_message.as_ref();
        ensure_none("create topic", created.error_code, message)?;
        for count in (2 * NEW_PARTITIONS_MAX..partitions + NEW_PARTITIONS_MAX)
            .step_by(NEW_PARTITIONS_MAX as usize)
        {
            self.grow_topic(name, count.min(partitions))?;
        }
        self.end_offsets(name, partitions).map(|_| ())
    }

    fn grow_topic(&mut self, name: &str, count: u32) -> anyhow::Result<()> {
        let topic = CreatePartitionsTopic {
            name: KString::from(name),
            count: i32::try_from(count)?,
            assignments: None,
        };
        let request = CreatePartitionsRequest {
            topics: vec![topic],
            timeout_ms: ANSWER_TIMEOUT_MS,
            validate_only: false,
        };
        let answer = self.call(&request, 3)?;
        let grown = answer.results.first().context("CreatePartitions answers no topic")?;
        ensure_none("add partitions", grown.error_code, grown.error_message.as_ref())
    }

    /// The end of each partition, once all have a leader. Metadata may name a leader before that
    /// leader knows; a partition that answers ListOffsets does.
    pub fn end_offsets(&mut self, name: &str, partitions: u32) -> anyhow::Result<Vec<i64>> {
        let asked = (0..i32::try_from(partitions)?).map(|partition_index| ListOffsetsPartition {
            partition_index,
            timestamp: TIMESTAMP_LATEST,
            ..ListOffsetsPartition::default()
        });
        let topic = ListOffsetsTopic { name: KString::from(name), partitions: asked.collect() };
        let request = ListOffsetsRequest { topics: vec![topic], ..ListOffsetsRequest::default() };
        let begun = Instant::now();
        loop {
            let answer = self.call(&request, 6)?;
            let answered = answer.topics.iter().flat_map(|topic| &topic.partitions);
            let led = answered.filter(|partition| partition.error_code == ErrorCode::NONE);
            let mut ends: Vec<_> = led.map(|led| (led.partition_index, led.offset)).collect();
            if ends.len() == partitions as usize {
                ends.sort_unstable();
                return Ok(ends.into_iter().map(|(_, end)| end).collect());
            }
            if begun.elapsed() > LEADERS_TIMEOUT {
                bail!("topic {name} has partitions without a leader");
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn call<R: Request>(&mut self, request: &R, version: i16) -> anyhow::Result<R::Response> {
        self.correlation_id += 1;
        let client_id = KString::from(CLIENT_ID);
        let frame = encode_request(self.correlation_id, Some(&client_id), request, version)?;
        self.stream.write_all(&frame.to_bytes())?;
        let mut length = [0; FRAME_LENGTH_BYTES];
        self.stream.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        ensure!(length <= ANSWER_BYTES_MAX, "an answer of {length} bytes");
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        let (correlation_id, response) = decode_response(Bytes::from(answer), version)?;
        ensure!(correlation_id == self.correlation_id, "an answer to another request");
        Ok(response)
    }
}

fn ensure_none(what: &str, code: ErrorCode, message: Option<&KString>) -> anyhow::Result<()> {
    ensure!(code == ErrorCode::NONE, "{what}: {code:?} {message:?}");
    Ok(())
}
