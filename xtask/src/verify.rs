//! The one check that never writes (`verify`), and the one command that does (`fix`).

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::suites::Tally;
use crate::workspace::Workspace;
use crate::{deps, tidy};

/// The test that compares names of commands, fields, config keys and metrics with their golden files.
const GOLDEN_TEST: &str = "ops/tidemill/tests/golden.rs";

/// A part of `verify`.
struct Step {
    name: &'static str,
    kind: Kind,
}

enum Kind {
    /// A check of this program.
    Check(fn(&Workspace) -> Result<bool>),
    /// Cargo with these arguments.
    Cargo(&'static [&'static str]),
}

const STEPS: &[Step] = &[
    Step { name: "format", kind: Kind::Cargo(&["fmt", "--all", "--check"]) },
    Step { name: "deps", kind: Kind::Check(deps::run) },
    Step { name: "tidy", kind: Kind::Check(tidy::run) },
    Step {
        name: "clippy",
        kind: Kind::Cargo(&[
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--",
            "--deny=warnings",
        ]),
    },
    Step { name: "docs", kind: Kind::Cargo(&["doc", "--quiet", "--no-deps", "--workspace"]) },
    Step {
        name: "golden",
        kind: Kind::Cargo(&["test", "--quiet", "--package", "tidemill", "--test", "golden"]),
    },
];

/// Runs every step, also after one failed. True if all passed.
pub(crate) fn verify(workspace: &Workspace) -> Result<bool> {
    let mut tally = Tally::default();
    for step in STEPS {
        if step.name == "golden" && !workspace.root().join(GOLDEN_TEST).exists() {
            println!("skip golden: {GOLDEN_TEST} does not exist");
            tally.skipped += 1;
            continue;
        }
        println!("== {}", step.name);
        let start = Instant::now();
        let passed = step.run(workspace)?;
        let word = if passed { "ok" } else { "FAILED" };
        println!("== {} {word} ({:.1} s)", step.name, start.elapsed().as_secs_f64());
        if passed {
            tally.passed += 1;
        } else {
            tally.failed += 1;
        }
    }
    println!("{tally}");
    Ok(tally.failed == 0)
}

/// Formats the code.
pub(crate) fn fix(workspace: &Workspace) -> Result<bool> {
    cargo(workspace, &["fmt", "--all"])
}

impl Step {
    fn run(&self, workspace: &Workspace) -> Result<bool> {
        match self.kind {
            Kind::Check(check) => check(workspace),
            Kind::Cargo(args) => cargo(workspace, args),
        }
    }
}

fn cargo(workspace: &Workspace, args: &[&str]) -> Result<bool> {
    let status = Command::new("cargo")
        .args(args)
        .env("RUSTDOCFLAGS", "--deny=warnings")
        .current_dir(workspace.root())
        .status()
        .context("start cargo")?;
    Ok(status.success())
}
