//! What the crate's codec lays out is read here, in pieces of any size; what is not as a run's
//! answers must be is refused.

use bytes::Bytes;
use tidemill_kafka::messages::fetch::{
    AbortedTransaction, FetchResponse, FetchableTopicResponse, PartitionData,
};
use tidemill_kafka::{ErrorCode, KString, RecordParts, encode_response};

use super::*;
use crate::batch::Batch;

fn stored(batch: &Batch, base_offset: i64) -> Bytes {
    let mut bytes = batch.bytes.clone();
    bytes[..8].copy_from_slice(&base_offset.to_be_bytes());
    Bytes::from(bytes)
}

fn full(partition: i32, records: &[Bytes]) -> PartitionData {
    let mut parts = RecordParts::new();
    for part in records {
        parts.push(part.clone());
    }
    PartitionData {
        partition_index: partition,
        high_watermark: 64,
        aborted_transactions: Some(vec![AbortedTransaction { producer_id: 1, first_offset: 2 }]),
        records: Some(parts),
        ..PartitionData::default()
    }
}

fn frame(partitions: Vec<PartitionData>) -> Bytes {
    let topic = FetchableTopicResponse {
        topic: KString::from("bench"),
        partitions,
        ..FetchableTopicResponse::default()
    };
    let answer =
        FetchResponse { session_id: 31, responses: vec![topic], ..FetchResponse::default() };
    encode_response(8, &answer, 12).expect("encodes").to_bytes()
}

fn batch() -> Batch {
    Batch::build(16 * 1024, 1_700_000_000_000).expect("builds")
}

/// Three batches and a piece, a refused partition, a single batch, a piece alone, nothing.
fn mixed() -> Bytes {
    let batch = batch();
    let refused = PartitionData {
        partition_index: 21,
        error_code: ErrorCode(3),
        records: None,
        ..PartitionData::default()
    };
    let piece = stored(&batch, 80).slice(..5_000);
    let three = [stored(&batch, 32), stored(&batch, 48), stored(&batch, 64), piece.clone()];
    let tiny = piece.slice(..20);
    frame(vec![
        full(5, &three),
        refused,
        full(6, &[stored(&batch, 0)]),
        full(7, &[piece]),
        full(8, &[tiny]),
        full(9, &[]),
    ])
}

/// Gives a reader what it wants, at most `piece_bytes` at a time.
fn read(
    reader: &mut AnswerReader,
    mut frame: &[u8],
    piece_bytes: usize,
) -> Result<(FetchAnswer, Vec<FetchedPartition>, usize), WireError> {
    let mut looked_at = 0;
    loop {
        match reader.wanted()? {
            Next::Read(wanted) | Next::Skip(wanted) if frame.is_empty() => {
                assert!(wanted > 0, "nothing is wanted");
                return Err(WireError::Short);
            }
            Next::Read(wanted) => {
                let (piece, rest) = frame.split_at(wanted.min(piece_bytes).min(frame.len()));
                looked_at += piece.len();
                reader.take(piece);
                frame = rest;
            }
            Next::Skip(wanted) => {
                let (piece, rest) = frame.split_at(wanted.min(piece_bytes).min(frame.len()));
                reader.skipped(piece.len());
                frame = rest;
            }
            Next::Whole(answer) => return Ok((answer, reader.finish(), looked_at)),
        }
    }
}

#[test]
fn an_answer_is_read_by_its_heads_in_pieces_of_any_size() {
    let (frame, bytes) = (mixed(), batch().bytes.len());
    let batches = |count, base_offset| Batches { count, base_offset, records: 16, bytes };
    let expected = [
        (5, 0, batches(3, 32)),
        (21, 3, Batches::default()),
        (6, 0, batches(1, 0)),
        (7, 0, batches(0, 80)),
        (8, 0, Batches::default()),
        (9, 0, Batches::default()),
    ]
    .map(|(partition, error_code, batches)| FetchedPartition {
        partition,
        error_code,
        batches,
    });
    let mut reader = AnswerReader::default();
    for piece_bytes in [1, 2, 7, 61, 128, 1_000, 16_384, 1 << 20] {
        let (answer, parts, looked_at) =
            read(&mut reader, &frame, piece_bytes).expect("is an answer");
        let head = FetchAnswer { correlation_id: 8, error_code: 0, session_id: 31 };
        assert_eq!((answer, &parts[..]), (head, &expected[..]), "pieces of {piece_bytes}");
        assert!(looked_at < 2_000, "{looked_at} bytes were looked at of {}", frame.len());
        reader.recycle(parts);
    }
}

#[test]
fn an_answer_that_is_cut_anywhere_is_not_whole() {
    let frame = mixed();
    for cut in (0..frame.len()).step_by(97).chain(frame.len() - 80..frame.len()) {
        let read = read(&mut AnswerReader::default(), &frame[..cut], 1 << 20);
        assert_eq!(read, Err(WireError::Short), "cut at {cut}");
    }
}

#[test]
fn a_frame_shorter_or_longer_than_its_fields_is_refused() {
    let frame = mixed();
    for by in [-40i32, -1, 1, 40] {
        let mut lying = frame.to_vec();
        let length = i32::try_from(frame.len() - 4).expect("fits") + by;
        lying[..4].copy_from_slice(&length.to_be_bytes());
        lying.extend_from_slice(&[0; 40]);
        assert!(read(&mut AnswerReader::default(), &lying, 1 << 20).is_err(), "by {by}");
    }
}

#[test]
fn a_batch_skipped_repeated_or_of_another_size_is_refused() {
    let batch = batch();
    let (first, gap, again) = (stored(&batch, 0), stored(&batch, 32), stored(&batch, 0));
    let large = Batch::build(32 * 1024, 0).expect("builds");
    for (what, second) in [("a gap", gap), ("a repeat", again), ("larger", stored(&large, 16))] {
        let frame = frame(vec![full(0, &[first.clone(), second])]);
        let read = read(&mut AnswerReader::default(), &frame, 1 << 20);
        assert!(matches!(read, Err(WireError::Unexpected(_))), "{what}: {read:?}");
    }
}
