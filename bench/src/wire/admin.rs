//! What is asked once, through the crate's codec and a blocking connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use tidemill_kafka::messages::api_versions::ApiVersionsRequest;
use tidemill_kafka::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use tidemill_kafka::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic, TIMESTAMP_LATEST,
};
use tidemill_kafka::{ErrorCode, KString, Request, decode_response, encode_request};

use crate::wire::{CLIENT_ID, FRAME_LENGTH_BYTES};

/// How long an answer may take: creating 10,000 partitions takes Kafka a while.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

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

    /// Creates a topic and waits until each of its partitions has a leader.
    pub fn create_topic(&mut self, name: &str, partitions: u32) -> anyhow::Result<()> {
        let topic = CreatableTopic {
            name: KString::from(name),
            num_partitions: i32::try_from(partitions)?,
            replication_factor: 1,
            ..CreatableTopic::default()
        };
        let request = CreateTopicsRequest {
            topics: vec![topic],
            timeout_ms: i32::try_from(ANSWER_TIMEOUT.as_millis())?,
            validate_only: false,
        };
        let answer = self.call(&request, 7)?;
        let created = answer.topics.first().context("CreateTopics answers no topic")?;
        ensure!(
            created.error_code == ErrorCode::NONE,
            "create topic {name}: {:?} {:?}",
            created.error_code,
            created.error_message
        );
        self.await_leaders(name, partitions)
    }

    /// Metadata may name a leader before that leader knows; a partition that answers ListOffsets does.
    fn await_leaders(&mut self, name: &str, partitions: u32) -> anyhow::Result<()> {
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
            if led.count() == partitions as usize {
                return Ok(());
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
