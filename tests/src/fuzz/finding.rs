//! An input that broke its target: saved, and told with the command that replays it.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::corpus::Corpus;
use super::target::Target;
use crate::workspace;

/// Bytes of an input that are shown.
const SHOWN_BYTES: usize = 64;
/// Lines of what the process said that are shown.
const SHOWN_LINES: usize = 12;

/// An input that broke its target.
#[derive(Debug)]
pub(super) struct Finding {
    target: &'static str,
    run: u64,
    input: Vec<u8>,
    path: PathBuf,
    said: String,
}

impl Finding {
    /// Saves input number `run`. `said` is how the process ended and what it said.
    pub(super) fn save(
        target: &'static Target,
        corpus: &Corpus,
        seed: u64,
        run: u64,
        said: String,
    ) -> Result<Self> {
        let mut input = Vec::new();
        corpus.input(seed, run, &mut input);
        let folder = workspace::target().join("fuzz");
        fs::create_dir_all(&folder).context("create the folder of findings")?;
        let path = folder.join(format!("{}-{seed}-{run}", target.name));
        fs::write(&path, &input).context("save the input")?;
        Ok(Self { target: target.name, run, input, path, said })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, run, input, path, said } = self;
        let shown: String =
            input.iter().take(SHOWN_BYTES).map(|byte| format!("{byte:02x}")).collect();
        let more = if input.len() > SHOWN_BYTES { "..." } else { "" };
        let path = workspace::shown(path);
        writeln!(f, "run {run} of {} bytes: {shown}{more}", input.len())?;
        for line in said.lines().take(SHOWN_LINES) {
            writeln!(f, "    {line}")?;
        }
        write!(f, "    replay: cargo xtask fuzz {target} --input {path}")
    }
}
