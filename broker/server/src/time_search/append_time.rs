//! When a stored batch was appended, for those who send it again.

use tidemill_base::{Offset, PartitionId, TimestampMs};
use tidemill_kafka::ErrorCode;
use tidemill_records::TimestampType;

use super::batches::Batches;
use super::extents;
use crate::broker::Broker;

/// The time that a broker wrote into the stored batch that begins at `base_offset`. `None` if the
/// batch is gone, has its producer's times, or cannot be read.
///
/// The state of producers holds no times, so the batch is asked: one extent is read.
pub(crate) async fn append_time(
    broker: &Broker,
    partition: PartitionId,
    base_offset: Offset,
) -> Option<TimestampMs> {
    search(broker, partition, base_offset).await.ok().flatten()
}

async fn search(
    broker: &Broker,
    partition: PartitionId,
    base_offset: Offset,
) -> Result<Option<TimestampMs>, ErrorCode> {
    let entry = {
        let projection = broker.view.projection();
        let view = projection.partition(partition).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        view.entries_from(base_offset, 1, 1).pop()
    };
    let Some(entry) = entry else { return Ok(None) };
    let extents = extents(broker, partition, &entry).await?;
    let last = extents.iter().rfind(|extent| extent.base_offset <= base_offset);
    let Some(extent) = last else { return Ok(None) };
    for batch in Batches::read(broker, extent).await? {
        let (batch, base) = batch?;
        if base == base_offset {
            let header = batch.header();
            let is_stamped = header.attributes.timestamp_type() == TimestampType::LogAppendTime;
            return Ok(is_stamped.then_some(header.max_timestamp));
        }
    }
    Ok(None)
}
