//! Writing frames to one file, which is never trusted again after an error.
//!
//! Invariants:
//! - After a write or sync failed, or was abandoned half way (its future dropped), every later call
//!   fails with `Closed`. In particular the file is never synced again: the kernel may have dropped
//!   the dirty pages, and the next sync would succeed without them.
//! - Frames are durable when a `sync` that began after them returned `Ok`.
//!
//! Not here: rolling to a new file, which is the owner's.

use bytes::{BufMut, Bytes, BytesMut};
use tidemill_base::ErrorKind;
use tidemill_base::twins::{self, Twin};

use crate::disk::{Disk, DiskError, WriteFile};
use crate::frame::{Covered, FRAME_HEAD_BYTES, FileHeader, FrameSeal};

/// A frame to be appended.
#[derive(Clone, Copy, Debug)]
pub struct FrameParts<'a> {
    /// The payload, in order; together at least one byte and at most `u32::MAX`.
    pub payload: &'a [Bytes],
    /// How much of it the frame's checksum covers.
    pub covered: Covered,
}

/// Where a frame was appended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FramePlace {
    /// The first byte of the frame's head.
    pub position: u64,
    /// The payload's length.
    pub payload_bytes: u32,
}

impl FramePlace {
    /// The first byte of the payload.
    #[must_use]
    pub fn payload_position(&self) -> u64 {
        self.position + FRAME_HEAD_BYTES as u64
    }
}

/// An append file being written.
pub struct AppendFile {
    file: Box<dyn WriteFile>,
    path: String,
    seal: FrameSeal,
    state: State,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum State {
    Good,
    /// A call is under way, or its future was dropped.
    Busy,
    Failed(String),
}

impl AppendFile {
    /// Creates the file and writes its header, which becomes durable with the first sync.
    /// `allocate_bytes` are reserved on the disk.
    pub async fn create(
        disk: &dyn Disk,
        path: &str,
        header: &FileHeader,
        allocate_bytes: u64,
    ) -> Result<Self, DiskError> {
        let mut file = disk.create(path, allocate_bytes).await?;
        file.write(&[Bytes::copy_from_slice(&header.encode())]).await?;
        let seal = FrameSeal::of(header);
        Ok(Self { file, path: path.to_owned(), seal, state: State::Good })
    }

    /// Appends one frame whose checksum covers all of it.
    pub async fn append(&mut self, payload: &[Bytes]) -> Result<FramePlace, DiskError> {
        let places = self.append_all(&[FrameParts { payload, covered: Covered::All }]).await?;
        places.first().copied().ok_or_else(|| self.error("write", ErrorKind::Bug, "no frame"))
    }

    /// Appends frames one after another in one write. Fails with `Invalid`, and without harm to the
    /// file, if a payload is empty or too long.
    pub async fn append_all(
        &mut self,
        frames: &[FrameParts<'_>],
    ) -> Result<Vec<FramePlace>, DiskError> {
        self.check("write")?;
        let (places, parts) = self.lay_out(frames)?;
        self.state = State::Busy;
        let result = self.file.write(&parts).await;
        self.settle(&result, true);
        result.map(|()| places)
    }

    /// Makes every frame appended so far durable.
    pub async fn sync(&mut self) -> Result<(), DiskError> {
        self.check("sync")?;
        self.state = State::Busy;
        let result = self.file.sync().await;
        self.settle(&result, !twins::is_on(Twin::RetrySameFileAfterFailedSync));
        result
    }

    /// Reserves space up to `length` bytes of the file. The file is as good as before if this fails.
    pub async fn reserve(&mut self, length: u64) -> Result<(), DiskError> {
        self.check("reserve")?;
        self.file.reserve(length).await
    }

    /// The position at which the next frame will begin.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.file.position()
    }

    /// The file's path, relative to the data directory.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether a write or sync failed or was abandoned, so that every later call fails.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.state != State::Good
    }

    fn lay_out(
        &self,
        frames: &[FrameParts<'_>],
    ) -> Result<(Vec<FramePlace>, Vec<Bytes>), DiskError> {
        let mut heads = BytesMut::with_capacity(frames.len() * FRAME_HEAD_BYTES);
        let mut places = Vec::with_capacity(frames.len());
        let mut parts = Vec::with_capacity(
            frames.len() + frames.iter().map(|frame| frame.payload.len()).sum::<usize>(),
        );
        let mut position = self.file.position();
        for frame in frames {
            let head = self.seal.head(position, frame.payload, frame.covered).ok_or_else(|| {
                self.error("write", ErrorKind::Invalid, "a frame is empty or too long")
            })?;
            heads.put_slice(&head);
            let payload_bytes = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
            places.push(FramePlace { position, payload_bytes });
            position += FRAME_HEAD_BYTES as u64 + u64::from(payload_bytes);
            parts.push(heads.split().freeze());
            parts.extend_from_slice(frame.payload);
        }
        Ok((places, parts))
    }

    fn check(&self, operation: &'static str) -> Result<(), DiskError> {
        match &self.state {
            State::Good => Ok(()),
            State::Busy => Err(self.error(operation, ErrorKind::Closed, "abandoned half way")),
            State::Failed(reason) => {
                Err(self.error(operation, ErrorKind::Closed, &format!("failed before: {reason}")))
            }
        }
    }

    fn settle(&mut self, result: &Result<(), DiskError>, lasting: bool) {
        self.state = match result {
            Err(error) if lasting => State::Failed(error.reason.clone()),
            _ => State::Good,
        };
    }

    fn error(&self, operation: &'static str, kind: ErrorKind, reason: &str) -> DiskError {
        DiskError::new(operation, &self.path, kind, reason)
    }
}

#[cfg(test)]
mod append_file_test;
