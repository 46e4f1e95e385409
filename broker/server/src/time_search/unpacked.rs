//! Searching the records of a batch: here if that is quick, else on a thread for it, as produce does.

use tidemill_kafka::ErrorCode;
use tidemill_records::{Batch, DecompressLimits, Decompressor, RecordsError};

use crate::broker::Broker;

/// What a batch may take, and what may come out of it before the search ends, on a thread that serves
/// others: about a millisecond.
const UNPACKED_HERE_BYTES_MAX: u64 = 512 << 10;

/// Searches the records of `batch`. What takes long is known only by trying, so that a batch which takes
/// long is begun twice. Others that this thread serves go on after each batch.
pub(super) async fn search_records<T: Send + 'static>(
    broker: &Broker,
    batch: Batch,
    search: impl Fn(&Batch, &mut Decompressor, &DecompressLimits) -> Result<T, RecordsError>
    + Send
    + 'static,
) -> Result<T, ErrorCode> {
    let all = DecompressLimits::default();
    if batch.bytes().len() as u64 <= UNPACKED_HERE_BYTES_MAX {
        let here = DecompressLimits { output_bytes_max: UNPACKED_HERE_BYTES_MAX, ..all };
        let found = broker.with_decompressor(|decompressor| search(&batch, decompressor, &here));
        tokio::task::yield_now().await;
        match found {
            Err(RecordsError::OutputTooLarge { .. }) => {}
            found => return found.map_err(|_| ErrorCode::CORRUPT_MESSAGE),
        }
    }
    let found = broker.record_checks.run(move |decompressor| search(&batch, decompressor, &all));
    // Without a result the search panicked, or the process is ending.
    found.await.ok_or(ErrorCode::UNKNOWN_SERVER_ERROR)?.map_err(|_| ErrorCode::CORRUPT_MESSAGE)
}
