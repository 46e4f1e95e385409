//! Commits a group's offsets all the time. What was acknowledged must be there after every kill.
//!
//! The words that go with each offset are long, so that the metadata log grows, rolls and is cut.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tidemill_kafka::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use tidemill_kafka::messages::offset_fetch::OffsetFetchRequest;
use tidemill_kafka::{ErrorCode, KString};

use super::ledger::Ledger;
use super::rest::Rest;
use crate::wire::Wire;

const GROUP: &str = "kill9";
const COMMIT_VERSION: i16 = 7;
const FETCH_VERSION: i16 = 5;
/// Bytes of the words with each offset: as many as a broker takes.
const WORDS_BYTES: usize = 4_000;
const PAUSE: Duration = Duration::from_millis(25);
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// The committer. It writes the same number for all partitions, one more each time.
pub(crate) struct Committer {
    pub(crate) place: u32,
    pub(crate) kafka: SocketAddr,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) rest: Arc<Rest>,
    /// The last number that was acknowledged.
    pub(crate) acked: i64,
    /// The last number that was sent.
    pub(crate) sent: i64,
}

impl Committer {
    /// Commits until the load ends.
    pub(crate) fn run(mut self) {
        while !self.rest.is_ended() {
            // A lost connection is what this is about.
            let _ = Wire::connect(self.kafka).and_then(|wire| self.serve(wire));
            thread::sleep(RETRY_PAUSE);
        }
    }

    fn serve(&mut self, mut wire: Wire) -> Result<()> {
        self.check(&mut wire)?;
        while !self.rest.is_ended() {
            if self.rest.is_wanted() {
                self.rest.rests(self.place);
                thread::sleep(Duration::from_millis(1));
                continue;
            }
            self.sent += 1;
            self.commit(&mut wire, self.sent)?;
            self.acked = self.sent;
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn commit(&self, wire: &mut Wire, number: i64) -> Result<()> {
        let words = format!("{number:0>WORDS_BYTES$}");
        let topics = self.ledger.partitions().iter().map(|partition| OffsetCommitRequestTopic {
            name: KString::from(&*partition.topic),
            partitions: vec![OffsetCommitRequestPartition {
                partition_index: partition.partition.0,
                committed_offset: number,
                committed_metadata: Some(KString::from(words.as_str())),
                ..Default::default()
            }],
        });
        let request = OffsetCommitRequest {
            group_id: KString::from(GROUP),
            topics: topics.collect(),
            ..Default::default()
        };
        let response = wire.call(&request, COMMIT_VERSION)?;
        for partition in response.topics.iter().flat_map(|topic| &topic.partitions) {
            match partition.error_code {
                ErrorCode::NONE => {}
                code if code.is_retriable() => bail!("{code}"),
                code => {
                    self.ledger.other(format_args!("the committer was told {code}"));
                    bail!("{code}");
                }
            }
        }
        Ok(())
    }

    /// Everything from what was acknowledged to what was sent may be there, nothing else.
    fn check(&self, wire: &mut Wire) -> Result<()> {
        let request = OffsetFetchRequest {
            group_id: KString::from(GROUP),
            topics: None,
            ..Default::default()
        };
        let response = wire.call(&request, FETCH_VERSION)?;
        ensure!(response.error_code.is_ok(), "{}", response.error_code);
        let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
        let found: Vec<i64> = partitions.clone().map(|one| one.committed_offset).collect();
        if self.acked > 0 && found.len() != self.ledger.partitions().len() {
            self.ledger.other(format_args!("the group has offsets of {} partitions", found.len()));
        }
        for offset in found {
            if !(self.acked..=self.sent).contains(&offset) {
                self.ledger.other(format_args!(
                    "offset {offset} is committed, acknowledged was {}, sent {}",
                    self.acked, self.sent
                ));
            }
        }
        for partition in partitions {
            let words = partition.metadata.as_ref().context("the words are gone")?;
            let is_same = words.trim_start_matches('0') == partition.committed_offset.to_string();
            ensure!(is_same, "other words than were committed");
        }
        Ok(())
    }
}

/// The number that an earlier run committed last; 0 if there is none.
pub(crate) fn committed(kafka: SocketAddr) -> Result<i64> {
    let mut wire = Wire::connect(kafka)?;
    let request =
        OffsetFetchRequest { group_id: KString::from(GROUP), topics: None, ..Default::default() };
    let response = wire.call(&request, FETCH_VERSION)?;
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    Ok(partitions.map(|one| one.committed_offset).max().unwrap_or(0))
}
