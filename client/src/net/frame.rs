//! Frames on a stream: four bytes of length, then that many bytes.
//!
//! A length is believed only as far as bytes arrive: the buffer begins small and grows with them.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use tidemill_kafka::Parts;

/// The most bytes that are reserved for a frame before they have arrived.
const RESERVED_BYTES_MAX: usize = 1024 * 1024;
/// The least bytes of a frame: a correlation id.
const FRAME_BYTES_MIN: usize = 4;

/// Reads one frame, without its length. `None` if the stream ends before a frame begins.
///
/// # Errors
/// `UnexpectedEof` in a frame, `InvalidData` if the length is not from 4 to `frame_bytes_max`.
pub(crate) async fn read_frame(
    stream: &mut (impl AsyncRead + Unpin),
    frame_bytes_max: usize,
) -> io::Result<Option<Bytes>> {
    let mut length = [0; 4];
    if stream.read(&mut length[..1]).await? == 0 {
        return Ok(None);
    }
    stream.read_exact(&mut length[1..]).await?;
    let length = i32::from_be_bytes(length);
    let length = usize::try_from(length)
        .ok()
        .filter(|length| (FRAME_BYTES_MIN..=frame_bytes_max).contains(length))
        .ok_or_else(|| {
            let message =
                format!("an answer of {length} bytes, at most {frame_bytes_max} are read");
            io::Error::new(io::ErrorKind::InvalidData, message)
        })?;
    let mut frame = BytesMut::with_capacity(length.min(RESERVED_BYTES_MAX));
    let mut rest = stream.take(length as u64);
    while frame.len() < length {
        if rest.read_buf(&mut frame).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some(frame.freeze()))
}

/// Writes one frame, which carries its length.
pub(crate) async fn write_frame(
    stream: &mut (impl AsyncWrite + Unpin),
    mut frame: Parts,
) -> io::Result<()> {
    stream.write_all_buf(&mut frame).await?;
    stream.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8], frame_bytes_max: usize) -> io::Result<Option<Bytes>> {
        let mut stream = bytes;
        read_frame(&mut stream, frame_bytes_max).await
    }

    #[tokio::test]
    async fn a_frame_is_read_without_its_length() {
        let frame = read(b"\0\0\0\x05hellorest", 100).await.unwrap();
        assert_eq!(frame, Some(Bytes::from_static(b"hello")));
    }

    #[tokio::test]
    async fn an_end_between_frames_is_no_error_and_one_inside_is() {
        assert_eq!(read(b"", 100).await.unwrap(), None);
        for cut in 1..9 {
            let error = read(&b"\0\0\0\x05hello"[..cut], 100).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[tokio::test]
    async fn lengths_out_of_bounds_are_refused_before_anything_is_read() {
        for length in [-1_i32, 0, 3, 101, i32::MAX] {
            let mut bytes = length.to_be_bytes().to_vec();
            bytes.extend_from_slice(&[0; 200]);
            let error = read(&bytes, 100).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{length}");
        }
    }
}
