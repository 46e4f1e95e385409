//! A partition of the fake cluster: batches with offsets, and producers judged as Kafka does.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use tidemill_client::{ErrorCode, LeaderEpoch, Offset};
use tidemill_records::{BATCH_HEAD_BYTES, Batch, Decompressor, Records, head16};

/// How many batches of a producer are remembered.
const REMEMBERED_MAX: usize = 5;

#[derive(Default)]
pub(crate) struct Partition {
    pub(crate) leader: i32,
    pub(crate) leader_epoch: i32,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) batches: Vec<(i64, Bytes)>,
    producers: BTreeMap<i64, Producer>,
}

#[derive(Default)]
struct Producer {
    epoch: i16,
    /// Base sequence, next sequence and base offset of the last batches.
    remembered: VecDeque<(i32, i32, i64)>,
}

impl Partition {
    /// An empty partition with this leader.
    pub(crate) fn led_by(leader: i32) -> Self {
        Self { leader, ..Self::default() }
    }

    /// Stores a batch, unless its sequence says that it is stored already or that one is missing.
    pub(crate) fn append(&mut self, bytes: Bytes) -> Result<i64, ErrorCode> {
        let batch = Batch::parse(bytes).map_err(|_| ErrorCode::CORRUPT_MESSAGE)?;
        batch.view().verify_crc().map_err(|_| ErrorCode::CORRUPT_MESSAGE)?;
        let header = *batch.header();
        if header.producer_id >= 0 {
            let producer = self.producers.entry(header.producer_id).or_default();
            if header.producer_epoch < producer.epoch {
                return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
            }
            if header.producer_epoch > producer.epoch {
                *producer = Producer { epoch: header.producer_epoch, ..Producer::default() };
            }
            let same = producer.remembered.iter().find(|known| known.0 == header.base_sequence);
            if let Some((_, _, base_offset)) = same {
                return Ok(*base_offset);
            }
            let expected = producer.remembered.back().map_or(0, |last| last.1);
            if header.base_sequence != expected {
                return Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
            }
            let next = header.base_sequence + header.record_count;
            producer.remembered.push_back((header.base_sequence, next, self.end));
            if producer.remembered.len() > REMEMBERED_MAX {
                producer.remembered.pop_front();
            }
        }
        let base_offset = self.end;
        self.end += i64::from(header.last_offset_delta) + 1;
        self.batches.push((base_offset, batch.into_bytes()));
        Ok(base_offset)
    }

    /// The bytes that a fetch from `offset` answers.
    pub(crate) fn read(&self, offset: i64, bytes_max: usize) -> Result<Bytes, ErrorCode> {
        if offset < self.start || offset > self.end {
            return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
        }
        let mut out = Vec::new();
        for (index, (base_offset, bytes)) in self.batches.iter().enumerate() {
            let next = self.batches.get(index + 1).map_or(self.end, |(next, _)| *next);
            if next <= offset || !out.is_empty() && out.len() + bytes.len() > bytes_max {
                continue;
            }
            let batch_length = Batch::parse(bytes.clone()).unwrap().header().batch_length;
            out.extend_from_slice(&head16(
                Offset(*base_offset),
                LeaderEpoch(self.leader_epoch),
                batch_length,
            ));
            out.extend_from_slice(&bytes[BATCH_HEAD_BYTES..]);
        }
        Ok(out.into())
    }

    /// The values of all records, in order.
    pub(crate) fn values(&self) -> Vec<String> {
        let mut values = Vec::new();
        for (_, bytes) in &self.batches {
            let batch = Batch::parse(bytes.clone()).unwrap();
            let decompressor = &mut Decompressor::new();
            let limits = Default::default();
            for record in &Records::open(batch.view(), decompressor, &limits).unwrap() {
                let value = record.unwrap().value.unwrap_or_default();
                values.push(String::from_utf8(value.to_vec()).unwrap());
            }
        }
        values
    }
}
