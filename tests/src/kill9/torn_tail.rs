//! Tearing the tails of files, as a power cut in the middle of a write does: noise where the next frame
//! would begin. Nothing that was acknowledged stands there.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tidemill_appendfile::frame::Step;
use tidemill_appendfile::{FileHeader, FrameSeal, HEADER_BYTES};

use crate::chance::Chance;

const NOISE_BYTES_MAX: u64 = 300;

/// Puts noise behind the last whole frame of the last file in `folder` whose name ends with `suffix`.
/// Returns the file's name; none if the file was only just begun and has no header yet.
pub(crate) fn tear(folder: &Path, suffix: &str, chance: &mut Chance) -> Result<Option<String>> {
    let path = last_file(folder, suffix)?;
    let file = fs::read(&path).context("read the file to tear")?;
    let ends = ends_of_frames(&file)?;
    let Some(end) = ends.and_then(|ends| ends.last().copied()) else { return Ok(None) };
    let mut noise = vec![0; chance.between(1, NOISE_BYTES_MAX) as usize];
    chance.fill(&mut noise);
    noise[0] |= 1;
    let file = fs::OpenOptions::new().write(true).open(&path).context("open the file to tear")?;
    file.write_all_at(&noise, end as u64).context("tear the file")?;
    Ok(Some(path.file_name().unwrap_or_default().to_string_lossy().into_owned()))
}

fn last_file(folder: &Path, suffix: &str) -> Result<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).context("list the files to tear")? {
        let path = entry.context("list the files to tear")?.path();
        if path.to_string_lossy().ends_with(suffix) {
            let changed = fs::metadata(&path).and_then(|facts| facts.modified());
            files.push((changed.context("look at the file to tear")?, path));
        }
    }
    Ok(files.into_iter().max().context("there is no file to tear")?.1)
}

/// Takes the last `count` frames of the last file away, as a disk does that lied about a sync.
pub(crate) fn forget(folder: &Path, suffix: &str, count: usize) -> Result<()> {
    let path = last_file(folder, suffix)?;
    let bytes = fs::read(&path).context("read the file")?;
    let ends = ends_of_frames(&bytes)?.context("the file has no header")?;
    // The first frame says what the file is.
    let from = ends[ends.len().saturating_sub(count + 1).max(1).min(ends.len() - 1)];
    let to = ends[ends.len() - 1];
    let file = fs::OpenOptions::new().write(true).open(&path).context("open the file")?;
    file.write_all_at(&vec![0; to - from], from as u64).context("take frames away")
}

/// Where the header and each whole frame end; none if the header is not there.
fn ends_of_frames(file: &[u8]) -> Result<Option<Vec<usize>>> {
    let Ok(header) = FileHeader::decode(file) else { return Ok(None) };
    let seal = FrameSeal::of(&header);
    let mut at = HEADER_BYTES;
    let mut ends = vec![at];
    loop {
        match seal.step(at as u64, &file[at..], true, u32::MAX) {
            Step::Frame { payload_bytes } => {
                at += tidemill_appendfile::FRAME_HEAD_BYTES + payload_bytes;
                ensure!(at <= file.len(), "a frame beyond the end of its file");
                ends.push(at);
            }
            Step::Need { .. } | Step::End(_) => return Ok(Some(ends)),
        }
    }
}
