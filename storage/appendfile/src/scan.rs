//! Reading a file's frames back, in bounded memory.
//!
//! A scan holds one window of the file: [`WINDOW_BYTES`], or one frame if that is longer. It ends at
//! the first thing that is not a frame and says what that was.
//!
//! Not here: what to do about a torn tail. The owner cuts it ([`Disk::truncate`](crate::Disk)) or
//! goes on in a new file, and says so in its log.

use bytes::{Bytes, BytesMut};

use crate::disk::{DiskError, ReadFile};
use crate::frame::{FRAME_HEAD_BYTES, FileHeader, FrameSeal, HEADER_BYTES, HeaderError, Step};
pub use crate::frame::{TailVerdict, TornReason};

/// How much of a file a scan reads at once.
pub const WINDOW_BYTES: usize = 256 * 1024;

/// How much of a frame is read first when frames are only skimmed.
const SKIM_BYTES: usize = 4 * 1024;

/// A frame that a scan found whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScannedFrame {
    /// Where the frame's head begins.
    pub position: u64,
    /// What it holds.
    pub payload: Bytes,
}

impl ScannedFrame {
    /// Where the payload begins.
    #[must_use]
    pub fn payload_position(&self) -> u64 {
        self.position + FRAME_HEAD_BYTES as u64
    }
}

/// Where a file's frames end, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScanEnd {
    /// The first byte after the last whole frame.
    pub position: u64,
    /// What stands there.
    pub verdict: TailVerdict,
}

/// A file's header as found, or why there is none.
pub type HeaderFound = Result<FileHeader, HeaderError>;

/// A scan through the frames of one file.
pub struct FrameScan<'a> {
    file: &'a dyn ReadFile,
    seal: FrameSeal,
    payload_bytes_max: u32,
    position: u64,
    window: Bytes,
    window_position: u64,
    at_end: bool,
    end: Option<ScanEnd>,
}

/// Reads the header of `file`. The inner error says that the file has no good one: a file whose
/// header is cut or blank was never synced, so nothing in it was acknowledged.
pub async fn read_header(file: &dyn ReadFile) -> Result<HeaderFound, DiskError> {
    Ok(FileHeader::decode(&read_fully(file, 0, HEADER_BYTES).await?))
}

impl<'a> FrameScan<'a> {
    /// A scan of `file`, which begins with `header`, from its first frame on. A frame with more than
    /// `payload_bytes_max` bytes counts as torn.
    #[must_use]
    pub fn new(file: &'a dyn ReadFile, header: &FileHeader, payload_bytes_max: u32) -> Self {
        Self {
            file,
            seal: FrameSeal::of(header),
            payload_bytes_max,
            position: HEADER_BYTES as u64,
            window: Bytes::new(),
            window_position: HEADER_BYTES as u64,
            at_end: false,
            end: None,
        }
    }

    /// The same scan, beginning at `position`: the start of a frame found by an earlier one.
    #[must_use]
    pub fn starting_at(self, position: u64) -> Self {
        Self { position, window_position: position, ..self }
    }

    /// The next frame, or `None` at the end; then [`end`](Self::end) tells where and how.
    pub async fn next(&mut self) -> Result<Option<ScannedFrame>, DiskError> {
        if self.end.is_some() {
            return Ok(None);
        }
        loop {
            let start = (self.position - self.window_position) as usize;
            let rest = &self.window[start.min(self.window.len())..];
            match self.seal.step(self.position, rest, self.at_end, self.payload_bytes_max) {
                Step::Frame { payload_bytes } => {
                    let payload_start = start + FRAME_HEAD_BYTES;
                    let payload = self.window.slice(payload_start..payload_start + payload_bytes);
                    let frame = ScannedFrame { position: self.position, payload };
                    self.position += (FRAME_HEAD_BYTES + payload_bytes) as u64;
                    return Ok(Some(frame));
                }
                Step::Need { bytes } => self.fill(bytes).await?,
                Step::End(verdict) => {
                    self.end = Some(ScanEnd { position: self.position, verdict });
                    return Ok(None);
                }
            }
        }
    }

    /// Where and how the frames end, once [`next`](Self::next) returned `None`.
    #[must_use]
    pub fn end(&self) -> Option<ScanEnd> {
        self.end
    }

    async fn fill(&mut self, bytes: usize) -> Result<(), DiskError> {
        let asked = bytes.max(WINDOW_BYTES);
        self.window = read_fully(self.file, self.position, asked).await?;
        self.at_end = self.window.len() < asked;
        self.window_position = self.position;
        Ok(())
    }
}

/// Reads until `length` bytes are there or a read returns none: a tail is judged, and cut, by where
/// the file ends, so one short read must not look like the end.
pub async fn read_fully(
    file: &dyn ReadFile,
    position: u64,
    length: usize,
) -> Result<Bytes, DiskError> {
    let first = file.read(position, length).await?;
    if first.len() == length || first.is_empty() {
        return Ok(first);
    }
    let mut read = BytesMut::from(first);
    while read.len() < length {
        let more = file.read(position + read.len() as u64, length - read.len()).await?;
        if more.is_empty() {
            break;
        }
        read.extend_from_slice(&more);
    }
    Ok(read.freeze())
}

/// Finds where the frames of a file end, reading of each only its head and what its checksum covers.
/// For files whose payloads carry checksums of their own.
pub async fn skim_to_end(
    file: &dyn ReadFile,
    header: &FileHeader,
    payload_bytes_max: u32,
) -> Result<ScanEnd, DiskError> {
    let seal = FrameSeal::of(header);
    let length = file.length().await?;
    let mut position = HEADER_BYTES as u64;
    let mut window_bytes = SKIM_BYTES;
    loop {
        let window = read_fully(file, position, window_bytes).await?;
        let is_cut = window.len() < window_bytes;
        window_bytes = SKIM_BYTES;
        let left = length.saturating_sub(position);
        match seal.skim_step(position, &window, left, payload_bytes_max) {
            Step::Frame { payload_bytes } => position += (FRAME_HEAD_BYTES + payload_bytes) as u64,
            Step::Need { bytes } if !is_cut => window_bytes = bytes,
            Step::Need { .. } => {
                let verdict = TailVerdict::Torn(TornReason::PayloadCut);
                return Ok(ScanEnd { position, verdict });
            }
            Step::End(verdict) => return Ok(ScanEnd { position, verdict }),
        }
    }
}

/// Reads all frames of a file, for small files and tests.
pub async fn scan_all(
    file: &dyn ReadFile,
    header: &FileHeader,
    payload_bytes_max: u32,
) -> Result<(Vec<ScannedFrame>, ScanEnd), DiskError> {
    let mut scan = FrameScan::new(file, header, payload_bytes_max);
    let mut frames = Vec::new();
    while let Some(frame) = scan.next().await? {
        frames.push(frame);
    }
    let verdict = TailVerdict::Clean;
    let end = scan.end().unwrap_or(ScanEnd { position: scan.position, verdict });
    Ok((frames, end))
}

#[cfg(test)]
mod scan_test;
