//! Reading a whole partition, from offset 0 to its high watermark, by the protocol alone.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tidemill_client::TopicPartition;
use tidemill_kafka::messages::fetch::PartitionData;
use tidemill_records::{DecompressLimits, Decompressor, Records, batches};

use super::stamp::Stamp;
use crate::calls;
use crate::wire::Wire;

const FETCH_BYTES_MAX: i32 = 4 << 20;
/// Errors that pass are waited out for so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Reads a partition.
///
/// # Errors
/// The broker answers an error that does not pass, or what it answers is not whole.
pub(crate) fn read(kafka: SocketAddr, partition: &TopicPartition) -> Result<Vec<Stamp>> {
    let mut wire = Wire::connect(kafka)?;
    let mut decompressor = Decompressor::new();
    let mut log = Vec::new();
    let begun = Instant::now();
    loop {
        let (topic, index) = (&*partition.topic, partition.partition.0);
        let request = calls::fetch_request(topic, index, log.len() as i64, FETCH_BYTES_MAX);
        let data = calls::fetch(&mut wire, &request)?;
        if data.error_code.is_error() {
            let passes = data.error_code.is_retriable() && begun.elapsed() < PATIENCE;
            ensure!(passes, "fetch {partition} at {}: {}", log.len(), data.error_code);
            thread::sleep(Duration::from_millis(20));
            continue;
        }
        ensure!(data.log_start_offset == 0, "the log begins at {}", data.log_start_offset);
        let before = log.len();
        take(&data, &mut decompressor, &mut log)
            .with_context(|| format!("read {partition} at {before}"))?;
        if log.len() as i64 >= data.high_watermark {
            ensure!(log.len() as i64 == data.high_watermark, "records beyond the high watermark");
            return Ok(log);
        }
        ensure!(log.len() > before, "{partition}: nothing at {before}, below the high watermark");
    }
}

fn take(data: &PartitionData, decompressor: &mut Decompressor, log: &mut Vec<Stamp>) -> Result<()> {
    let Some(records) = &data.records else { return Ok(()) };
    for batch in batches(&records.to_bytes()) {
        let batch = batch?;
        batch.view().verify_crc()?;
        for record in &Records::open(batch.view(), decompressor, &DecompressLimits::default())? {
            let record = record?;
            let offset = u64::try_from(record.offset.0).context("a negative offset")?;
            // A batch is answered whole, though it may begin before the offset asked for.
            if offset < log.len() as u64 {
                continue;
            }
            ensure!(offset == log.len() as u64, "offset {offset} after {} records", log.len());
            let stamp = record.value.and_then(Stamp::read);
            log.push(stamp.with_context(|| format!("the record at {offset} is damaged"))?);
        }
    }
    Ok(())
}
