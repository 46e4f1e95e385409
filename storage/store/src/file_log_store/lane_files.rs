//! The task of a lane: writes what waits, syncs once, answers, rolls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use tidemill_appendfile::{AppendFile, Covered, DiskError, FileHeader, FrameParts, FramePlace};
use tidemill_base::twins::{self, Twin};
use tidemill_base::{ErrorKind, FileId, Incarnation, LaneKey, Location, ObjectId};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::{FileLogConfig, Shared};
use crate::file_name::{append_file_identity, append_file_path};
use crate::log_store::StoreError;

/// The kind of an append file that holds log objects. Never renumber.
pub(crate) const LOG_FILE_KIND: u8 = 1;

/// An object to be written, and where the answer goes.
pub(super) struct Put {
    pub(super) object: ObjectId,
    pub(super) parts: Vec<Bytes>,
    pub(super) done: oneshot::Sender<Result<Location, StoreError>>,
}

/// The files of a lane, one of them being written.
pub(super) struct LaneFiles {
    shared: Arc<Shared>,
    lane: LaneKey,
    waiting: mpsc::Receiver<Put>,
    abandoned: Arc<AtomicBool>,
    current: Option<Current>,
}

struct Current {
    id: FileId,
    file: AppendFile,
    /// Up to here space was asked for, whether the disk had it or not.
    reserved_up_to: u64,
}

impl Current {
    /// Asks for the next stretch of space when the reserved one is used up. Writing into reserved
    /// space costs the kernel less; without it the write itself finds out whether there is room.
    async fn reserve_for(&mut self, bytes: u64, config: &FileLogConfig) {
        let end = self.file.position() + bytes;
        if end > self.reserved_up_to && config.reserve_bytes > 0 {
            self.reserved_up_to = (end + config.reserve_bytes).min(config.file_bytes_max).max(end);
            let _ = self.file.reserve(self.reserved_up_to).await;
        }
    }
}

impl Put {
    fn bytes(&self) -> u64 {
        self.parts.iter().map(Bytes::len).sum::<usize>() as u64
    }

    fn answer(self, result: Result<Location, StoreError>) {
        // A caller that has gone away needs no answer; the object is then garbage.
        let _ = self.done.send(result);
    }

    fn fail(self, kind: ErrorKind, reason: &str) {
        let error = StoreError::new("put", self.object.to_string(), kind, reason);
        self.answer(Err(error));
    }
}

impl LaneFiles {
    pub(super) fn new(
        shared: Arc<Shared>,
        lane: LaneKey,
        waiting: mpsc::Receiver<Put>,
        abandoned: Arc<AtomicBool>,
    ) -> Self {
        Self { shared, lane, waiting, abandoned, current: None }
    }

    /// Runs until the store lets go of the lane or its file is abandoned.
    pub(super) async fn run(mut self) {
        let mut held_back = None;
        loop {
            let first = match held_back.take() {
                Some(put) => put,
                None => match self.waiting.recv().await {
                    Some(put) => put,
                    None => break,
                },
            };
            let mut puts = vec![first];
            held_back = self.take_more(&mut puts);
            self.write_and_answer(puts).await;
            if self.abandoned.load(Ordering::Acquire) {
                break;
            }
        }
        self.waiting.close();
        while let Some(put) = held_back.take().or_else(|| self.waiting.try_recv().ok()) {
            put.fail(ErrorKind::Retry, "its file was abandoned before it was written");
        }
        self.seal_current();
        self.shared.tasks_count.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes the puts that share one sync with the first. Returns one that must wait for the next,
    /// because it is too much or lies in another life of the cluster.
    fn take_more(&mut self, puts: &mut Vec<Put>) -> Option<Put> {
        let incarnation = puts.first()?.object.incarnation;
        let mut bytes = puts.first()?.bytes();
        while let Ok(put) = self.waiting.try_recv() {
            bytes += put.bytes();
            if bytes > self.shared.config.sync_bytes_max || put.object.incarnation != incarnation {
                return Some(put);
            }
            puts.push(put);
        }
        None
    }

    async fn write_and_answer(&mut self, puts: Vec<Put>) {
        let (puts, unfit): (Vec<Put>, Vec<Put>) =
            puts.into_iter().partition(|put| (1..=u64::from(u32::MAX)).contains(&put.bytes()));
        for put in unfit {
            put.fail(ErrorKind::Invalid, "an object is empty or longer than 4 GiB");
        }
        let Some(incarnation) = puts.first().map(|put| put.object.incarnation) else { return };
        if self.abandoned.load(Ordering::Acquire) {
            for put in puts {
                put.fail(ErrorKind::Retry, "its file was abandoned before it was written");
            }
            return;
        }
        let (file, places) = match self.write(incarnation, &puts).await {
            Ok(written) => written,
            Err(error) => return self.give_up_file(puts, &error),
        };
        if twins::is_on(Twin::AckBeforeSync) {
            answer_all(puts, file, &places);
            let _ = self.sync().await;
            return;
        }
        match self.sync().await {
            Ok(()) => answer_all(puts, file, &places),
            Err(error) => self.give_up_file(puts, &error),
        }
    }

    /// Fails the puts of a file that is not trusted again: the next put starts a new one.
    fn give_up_file(&mut self, puts: Vec<Put>, error: &DiskError) {
        self.current = None;
        for put in puts {
            let what = put.object.to_string();
            put.answer(Err(StoreError::from_disk("put", what, error.clone())));
        }
    }

    async fn write(
        &mut self,
        incarnation: Incarnation,
        puts: &[Put],
    ) -> Result<(FileId, Vec<FramePlace>), DiskError> {
        let bytes = puts.iter().map(Put::bytes).sum();
        let shared = Arc::clone(&self.shared);
        let current = self.file_for(incarnation, bytes).await?;
        current.reserve_for(bytes, &shared.config).await;
        let frames: Vec<FrameParts<'_>> = puts
            .iter()
            .map(|put| {
                let header_bytes = put.parts.first().map_or(0, Bytes::len) as u32;
                FrameParts { payload: &put.parts, covered: Covered::Prefix(header_bytes) }
            })
            .collect();
        Ok((current.id, current.file.append_all(&frames).await?))
    }

    async fn sync(&mut self) -> Result<(), DiskError> {
        let Some(current) = &mut self.current else { return Err(no_current_file()) };
        let since = Instant::now();
        let synced = current.file.sync().await;
        self.shared.syncs.observe(since.elapsed());
        if synced.is_err() && twins::is_on(Twin::RetrySameFileAfterFailedSync) {
            return current.file.sync().await;
        }
        synced
    }

    /// The file that takes the next `bytes`: the current one while it has room, else a new one.
    async fn file_for(
        &mut self,
        incarnation: Incarnation,
        bytes: u64,
    ) -> Result<&mut Current, DiskError> {
        let fits = self.current.as_ref().is_some_and(|current| {
            let room = self.shared.config.file_bytes_max.saturating_sub(current.file.position());
            current.id.incarnation == incarnation && bytes <= room
        });
        if !fits {
            self.seal_current();
            let opened = self.create(incarnation).await?;
            self.current = Some(opened);
        }
        self.current.as_mut().ok_or_else(no_current_file)
    }

    async fn create(&mut self, incarnation: Incarnation) -> Result<Current, DiskError> {
        let number = self.shared.next_number(self.lane);
        let id = FileId { incarnation, lane: self.lane, number, sequence: 0 };
        let path = append_file_path(&id);
        let header = FileHeader::new(LOG_FILE_KIND, &append_file_identity(&id))
            .ok_or_else(|| DiskError::new("create", &path, ErrorKind::Bug, "identity too long"))?;
        let disk = self.shared.disk.as_ref();
        let mut reserve_bytes = self.shared.config.reserve_bytes;
        loop {
            let error = match AppendFile::create(disk, &path, &header, reserve_bytes).await {
                Ok(file) => return Ok(Current { id, file, reserved_up_to: reserve_bytes }),
                Err(error) => error,
            };
            // Nothing refers to the file: what may lie there is not even a whole header.
            let _ = disk.remove(&path).await;
            if !error.full || reserve_bytes == 0 {
                return Err(error);
            }
            // Little room is better than none: what is acknowledged is synced either way.
            reserve_bytes /= 16;
        }
    }

    /// Gives back the reserved space behind the last object of the current file. A file that failed
    /// or was abandoned is left as it is.
    fn seal_current(&mut self) {
        let Some(current) = self.current.take() else { return };
        let end = current.file.position();
        if self.abandoned.load(Ordering::Acquire) || current.file.is_failed() {
            return;
        }
        let (shared, path) = (Arc::clone(&self.shared), current.file.path().to_owned());
        let trim = async move {
            match shared.disk.truncate(&path, end).await {
                Ok(()) => {}
                // It was deleted meanwhile.
                Err(error) if error.kind == ErrorKind::NotFound => {}
                Err(error) => tracing::warn!(%error, "reserved space of a sealed file is kept"),
            }
        };
        self.shared.spawn.task("log-trim", Box::pin(trim));
    }
}

fn answer_all(puts: Vec<Put>, file: FileId, places: &[FramePlace]) {
    for (put, place) in puts.into_iter().zip(places) {
        let position = place.payload_position();
        put.answer(Ok(Location { file, position, length: place.payload_bytes }));
    }
}

fn no_current_file() -> DiskError {
    DiskError::new("write", "", ErrorKind::Bug, "there is no current file")
}
