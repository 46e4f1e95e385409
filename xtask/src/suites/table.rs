//! The suites, in the order in which they run. A new suite is a new row.
//!
//! A suite's program keeps to this: it takes no input, exits with 0 only if nothing failed, prints
//! `skip NAME: REASON` for what it could not run, ends its output with
//! `N passed, N failed, N skipped`, and keeps what it downloads in the folder `$TIDEMILL_CACHE`.
//! Tables that it prints (lines that begin with `| `) are shown, everything else is in its log.

/// One row.
#[derive(Debug)]
pub(crate) struct Suite {
    /// The name for `--only` and for the log.
    pub(crate) name: &'static str,
    /// What it is, in a few words.
    pub(crate) about: &'static str,
    /// Programs without which the whole suite is skipped aloud.
    pub(crate) needs: &'static [&'static str],
    /// Commands, run in order from the root until one fails.
    pub(crate) commands: &'static [&'static [&'static str]],
    /// How its output is counted.
    pub(crate) counts: Counts,
    /// After so many seconds it is ended and has failed.
    pub(crate) timeout_s: u64,
}

/// How the output of a suite is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    /// The sum of cargo's `test result:` lines.
    CargoTest,
    /// The last line that reads `N passed, N failed, N skipped`.
    ClosingLine,
}

/// Builds the server that suites of real processes start.
const BUILD_SERVER: &[&str] = &["cargo", "build", "--package", "tidemill"];

/// Every suite.
pub(crate) const SUITES: &[Suite] = &[
    Suite {
        name: "verify",
        about: "format, lints, layers, tidiness, docs, golden files",
        needs: &[],
        commands: &[&["cargo", "run", "--quiet", "--package", "xtask", "--", "verify"]],
        counts: Counts::ClosingLine,
        timeout_s: 2400,
    },
    Suite {
        name: "unit",
        about: "unit, property and documentation tests of every crate",
        needs: &[],
        commands: &[&["cargo", "test", "--workspace", "--no-fail-fast"]],
        counts: Counts::CargoTest,
        timeout_s: 2400,
    },
    Suite {
        name: "sim",
        about: "simulation of a node: seeds, determinism, broken twins",
        needs: &[],
        commands: &[&["cargo", "run", "--quiet", "--package", "tidemill-sim", "--", "ci"]],
        counts: Counts::ClosingLine,
        timeout_s: 1800,
    },
    Suite {
        name: "fuzz",
        about: "hostile bytes for every decoder: the corpora, then mutations",
        needs: &[],
        commands: &[&[
            "cargo",
            "run",
            "--quiet",
            "--package",
            "tidemill-tests",
            "--bin",
            "fuzz",
            "--",
            "ci",
        ]],
        counts: Counts::ClosingLine,
        timeout_s: 1200,
    },
    Suite {
        name: "kill9",
        about: "a server killed under load keeps every acknowledged record, once, in order",
        needs: &[],
        commands: &[
            BUILD_SERVER,
            &[
                "cargo",
                "run",
                "--quiet",
                "--package",
                "tidemill-tests",
                "--bin",
                "kill9",
                "--",
                "ci",
            ],
        ],
        counts: Counts::ClosingLine,
        timeout_s: 1200,
    },
    Suite {
        name: "hurt",
        about: "hostile input, crowds, stops and a full disk, while others do not notice",
        needs: &[],
        commands: &[
            BUILD_SERVER,
            &[
                "cargo",
                "run",
                "--quiet",
                "--package",
                "tidemill-tests",
                "--bin",
                "hurt",
                "--",
                "ci",
            ],
        ],
        counts: Counts::ClosingLine,
        timeout_s: 1200,
    },
    Suite {
        name: "clients",
        about: "unmodified Kafka clients of eight kinds against one node",
        needs: &["python3", "node"],
        commands: &[
            &["cargo", "build", "--package", "tidemill"],
            &[
                "python3",
                "tests/clients/run.py",
                "--server",
                "target/debug/tidemill",
                "--json",
                "target/test-logs/clients.json",
            ],
        ],
        counts: Counts::ClosingLine,
        timeout_s: 1800,
    },
];
