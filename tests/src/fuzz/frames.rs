//! The corpus of request frames, for those who send them to a server.

use anyhow::{Context, Result};

use super::corpus::Corpus;
use super::target::{TARGETS, Target};
use crate::workspace;

fn target() -> Result<&'static Target> {
    TARGETS.iter().find(|target| target.name == "frame").context("there is no target frame")
}

/// Every request of the corpus, without its length.
pub(crate) fn request_frames() -> Result<Vec<Vec<u8>>> {
    let corpus = Corpus::load(target()?)?;
    Ok(corpus.named(|name| name.contains("Request")).map(<[u8]>::to_vec).collect())
}

/// The frame that makes a codec which trusts counts abort.
pub(crate) fn fifteen_bytes() -> Result<Vec<u8>> {
    let path = workspace::root().join(target()?.corpus).join("fifteen_bytes");
    std::fs::read(path).context("read the frame of fifteen bytes")
}

/// A mutation of one of the requests.
pub(crate) fn mutated_frame(seed: u64, run: u64) -> Result<Vec<u8>> {
    use std::sync::OnceLock;
    static REQUESTS: OnceLock<Corpus> = OnceLock::new();
    let requests = match REQUESTS.get() {
        Some(requests) => requests,
        None => {
            let loaded = Corpus::of(request_frames()?);
            REQUESTS.get_or_init(|| loaded)
        }
    };
    let mut frame = Vec::new();
    requests.input(seed, run + requests.len(), &mut frame);
    Ok(frame)
}
