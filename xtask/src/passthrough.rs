//! Commands that only start another program of the workspace with the arguments as given.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace::Workspace;

/// A program of the workspace that has a short name here.
#[derive(Clone, Copy)]
pub(crate) enum Program {
    /// The simulation.
    Sim,
    /// The fuzz targets.
    Fuzz,
    /// The load driver and its peers.
    Bench,
    /// Long runs by name, in the release build.
    Soak,
}

impl Program {
    fn cargo_args(self) -> &'static [&'static str] {
        match self {
            Self::Sim => &["run", "--quiet", "--package", "tidemill-sim", "--"],
            Self::Fuzz => &["run", "--quiet", "--package", "tidemill-tests", "--bin", "fuzz", "--"],
            Self::Bench => &["run", "--quiet", "--release", "--package", "tidemill-bench", "--"],
            Self::Soak => &[
                "run",
                "--quiet",
                "--release",
                "--package",
                "tidemill-tests",
                "--bin",
                "soak",
                "--",
            ],
        }
    }
}

/// Builds and runs `program`. True if it succeeded.
pub(crate) fn run(workspace: &Workspace, program: Program, args: &[OsString]) -> Result<bool> {
    let status = Command::new("cargo")
        .args(program.cargo_args())
        .args(args)
        .current_dir(workspace.root())
        .status()
        .context("start cargo")?;
    Ok(status.success())
}
