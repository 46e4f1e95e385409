//! A Kafka client: batching producer, manual and group consumer, admin.
//!
//! Each part is a pair. What *decides* is pure: the metadata cache, the partitioner, the engine that
//! batches and orders, the positions and buffers of a consumer, the membership of a group and its
//! assignors. They take time as milliseconds and chance as a seed, and answer with things to do.
//! What *does* is thin: connections, [`Producer`], [`Consumer`], [`Admin`].
//!
//! Everything real (clock, tasks, sockets, the seed) comes from an [`Environment`], so that a
//! simulation can own it.
//!
//! Read in this order: [`client`], [`environment`], [`error`], [`net`], [`cluster`], [`produce`],
//! [`consume`], [`group`], [`admin`].

pub mod admin;
mod backoff;
pub mod client;
pub mod cluster;
pub mod config;
pub mod consume;
pub mod environment;
pub mod error;
pub mod group;
pub mod header;
pub mod net;
mod prng;
pub mod produce;
pub mod topic_partition;

pub use admin::Admin;
pub use client::Client;
pub use cluster::metadata::{BrokerNode, PartitionMetadata, TopicMetadata};
pub use cluster::offsets::{ListedOffset, ListedOffsets, OffsetSpec};
pub use config::ClientConfig;
pub use consume::{
    AutoOffsetReset, Consumer, ConsumerConfig, ConsumerRecord, IsolationLevel, Trouble,
};
pub use environment::Environment;
pub use error::{Error, Result};
pub use group::{Assignor, CommittedOffset, Offsets, RebalanceListener};
pub use header::Header;
pub use produce::{Acks, Delivery, Producer, ProducerConfig, Record, RecordMetadata};
pub use tidemill_base::{
    BrokerId, ErrorKind, LeaderEpoch, Offset, PartitionIndex, TimestampMs, TopicId,
};
pub use tidemill_kafka::ErrorCode;
pub use tidemill_records::Codec;
pub use topic_partition::TopicPartition;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
